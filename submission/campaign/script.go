package campaign

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/run/rehearse"
	"github.com/mlperf-go/mlperf-go/servers"
	"github.com/mlperf-go/mlperf-go/submission/layout"
)

// Script writes the campaign as a bash script: the same commands in the same order. Like the campaign, it goes on after
// a step that is not valid and does not repeat a step that is done. engineArgs are arguments of the engine of servers
// that the campaign would start. The plan cannot be run afterwards.
func (p *Plan) Script(engineArgs []string) (string, error) {
	p.forScript = true
	if slices.ContainsFunc(p.Tasks, func(t Task) bool { return t.Tuned }) {
		return "", exit.Usage(exit.CodeTune, "Run `mlperf-go tune` first, and pass its --target-qps",
			"a script cannot contain a tune: the commands after it depend on what it finds")
	}
	if err := p.Bind(); err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(scriptHead)
	fmt.Fprintf(&b, "out=%s\nmkdir -p \"$out\"\n", servers.Quote(p.Folder))
	if err := p.scriptStart(&b, engineArgs); err != nil {
		return "", err
	}
	for _, t := range p.Tasks {
		args, err := p.arguments(t)
		if err != nil {
			return "", err
		}
		userConf := filepath.Join(p.Path(Step{Scenario: t.Scenario, Test: layout.Performance}), record.UserConfName)
		placeholders := strings.NewReplacer(scriptEndpoint, `"$endpoint"`,
			scriptLatency, fmt.Sprintf(scriptFound, servers.Quote(userConf)))
		for i, a := range args {
			args[i] = placeholders.Replace(servers.Quote(a))
		}
		folder := ""
		if t.IsRun() {
			folder = p.Path(t.Step)
		}
		fmt.Fprintf(&b, "\nstep %s %s mlperf-go %s\n", t.ID(), servers.Quote(folder), strings.Join(args, " "))
	}
	b.WriteString("\nexit $failed\n")
	return b.String(), nil
}

// scriptStart writes the commands that make what the user left out, and sets it for every step.
func (p *Plan) scriptStart(b *strings.Builder, engineArgs []string) error {
	plan, _, err := p.resolve(p.All[0])
	if err != nil {
		return err
	}
	if !p.settings.Has("dataset") {
		path, set := filepath.Join(p.Folder, record.DatasetName), rehearse.Dataset(plan)
		fmt.Fprintf(b, "\n# The synthetic data set.\n"+
			"mlperf-go dataset synth --model %s --samples %d --seed %d --output %s\n",
			p.row.Name, set.Samples, set.Seed, servers.Quote(path))
		if err := p.settings.Set("dataset", path, programOrigin); err != nil {
			return err
		}
	}
	if s := p.options.Servers; s != nil {
		up := servers.Arguments(p.settings, p.options.ServerOrigin, engineArgs)
		fmt.Fprintf(b, scriptServers, servers.Quote(up...), servers.Quote(s.Dir))
	}
	if p.settings.Has("endpoint") {
		return nil
	}
	served := plan.Config.String("served-model")
	fmt.Fprintf(b, scriptSimulator, servers.Quote(p.settings.String("dataset")), p.row.Name, servers.Quote(served))
	return errors.Join(p.settings.Set("endpoint", scriptEndpoint, programOrigin),
		p.settings.Set("backend", "sim", programOrigin), p.settings.Set("served-model", served, programOrigin))
}

// Placeholders for values that exist only while a script runs: the simulator's address, and the expected latency that
// SingleStream's performance run found and all tests of the scenario share. scriptFound reads the latter.
const (
	scriptEndpoint = "http://ENDPOINT:1"
	scriptLatency  = "EXPECTED-LATENCY"
	scriptFound    = `"$(sed -n 's/.*[.]target_latency = \(.*\)/\1ms/p' %s)"`
)

const scriptHead = `#!/usr/bin/env bash
# A campaign of mlperf-go as single commands. It needs mlperf-go in PATH. It contains no secrets: set
# MLPERF_GO_API_KEY if the server asks for a key.
set -uo pipefail
failed=0

# step NAME FOLDER COMMAND...: runs a command unless its folder holds a valid run; goes on after one that is not valid.
step() {
  local name=$1 folder=$2 code=0
  shift 2
  if [ -n "$folder" ] && grep -qs '^  "verdict": "VALID"' "$folder/run.json"; then
    echo "$name is done already" >&2
    return
  fi
  if [ -n "$folder" ] && [ -e "$folder" ]; then
    mv "$folder" "$folder.$(date +%s%N)" || exit 3
  fi
  "$@" || code=$?
  [ "$code" = 0 ] || echo "$name ended with exit code $code" >&2
  [ "$failed" != 0 ] || failed=$code
  case $code in 2 | 3) exit "$code" ;; esac
}

`

const scriptSimulator = `
# The simulator, which ends with the script.
ready=$(mktemp)
rm "$ready"
mlperf-go sim --listen 127.0.0.1:0 --ready-file "$ready" --dataset %s --benchmark %s --model %s &
simulator=$!
trap 'kill "$simulator" 2>/dev/null' EXIT
for _ in $(seq 600); do [ -s "$ready" ] && break; sleep 0.1; done
endpoint=$(cat "$ready") || exit 3
rm -f "$ready"
`

const scriptServers = `
# The servers, which end with the script.
mlperf-go server up %s &
servers=$!
trap 'kill "$servers" 2>/dev/null; wait "$servers"' EXIT
while kill -0 "$servers" 2>/dev/null && ! mlperf-go server status --server-dir %s >/dev/null 2>&1; do sleep 0.2; done
kill -0 "$servers" 2>/dev/null || exit 3
`
