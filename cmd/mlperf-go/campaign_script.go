package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/mlperf-go/mlperf-go/internal/config"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/submission/campaign"
	"github.com/mlperf-go/mlperf-go/submission/layout"
)

// printScript writes the campaign as a bash script: the same commands in the same order. It stops at nothing that the
// campaign would go on after, and does not repeat what is done. engine are the arguments of servers that the campaign
// would start.
func (p *program) printScript(k *theCampaign, engine []string) error {
	if err := k.bind(); err != nil {
		return err
	}
	k.script = true
	var b strings.Builder
	b.WriteString(scriptHead)
	fmt.Fprintf(&b, "out=%s\nmkdir -p \"$out\"\n", shellWord(k.Folder))
	plan, _, err := k.plan(k.All[0])
	if err != nil {
		return err
	}
	if !k.base.Has("dataset") {
		path := filepath.Join(k.Folder, run.DatasetName)
		fmt.Fprintf(&b, "\n# The synthetic data set.\nmlperf-go dataset synth --model %s --samples %d --seed %d --output "+
			"%s\n", k.row.Name, plan.Samples(), synthSeed, shellWord(path))
		if err := k.base.Set("dataset", path, forced); err != nil {
			return err
		}
	}
	if p.servers != nil {
		fmt.Fprintf(&b, scriptServers, quoted(p.serverWords(k.base, engine)), shellWord(p.servers.Dir))
	}
	if !k.base.Has("endpoint") {
		served := plan.Config.String("served-model")
		fmt.Fprintf(&b, scriptSimulator, shellWord(k.base.String("dataset")), k.row.Name, shellWord(served))
		if err := errors.Join(k.base.Set("endpoint", scriptEndpoint, forced), k.base.Set("backend", "sim", forced),
			k.base.Set("served-model", served, forced)); err != nil {
			return err
		}
	}
	for _, t := range k.Tasks {
		args, err := k.arguments(t)
		if err != nil {
			return err
		}
		words := make([]string, len(args))
		for i, a := range args {
			words[i] = strings.NewReplacer(scriptEndpoint, `"$endpoint"`, scriptLatency,
				fmt.Sprintf(scriptFound, shellWord(userConf(k, t)))).Replace(shellWord(a))
		}
		folder := ""
		if t.IsRun() {
			folder = k.Path(t.Step)
		}
		fmt.Fprintf(&b, "\nstep %s %s mlperf-go %s\n", t.ID(), shellWord(folder), strings.Join(words, " "))
	}
	b.WriteString("\nexit $failed\n")
	_, err = fmt.Fprint(p.stdout, b.String())
	return err
}

// serverWords are the arguments by which `server up` starts the same servers.
func (p *program) serverWords(e *config.Effective, engine []string) []string {
	var words []string
	for _, f := range serverFlags() {
		name := f.Names()[0]
		if o := e.Origin(name); name == "server-dir" || e.IsSet(name) && o.Layer > config.FromRegistry &&
			o != p.serverOrigin {
			words = append(words, "--"+name, e.Text(name))
		}
	}
	if len(engine) > 0 {
		words = append(append(words, "--"), engine...)
	}
	return words
}

// userConf is that of a scenario's performance run.
func userConf(k *theCampaign, t campaign.Task) string {
	return filepath.Join(k.Path(campaign.Step{Scenario: t.Scenario, Test: layout.Performance}), run.UserConfName)
}

// What only a running script knows stands in commands under these words; the second is what SingleStream's performance
// run has found, which all tests of the scenario share.
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

// shellWord is one word for a shell.
func shellWord(s string) string { return quoted([]string{s}) }
