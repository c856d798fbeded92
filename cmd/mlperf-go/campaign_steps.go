package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/backends/reach"
	"github.com/mlperf-go/mlperf-go/internal/config"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/submission/campaign"
	"github.com/mlperf-go/mlperf-go/submission/layout"
)

// size is how long a rehearsal's tests are.
type size struct {
	name     string
	queries  int // of an audit, at most; 0: as many as the audit asks for
	attempts int
	table    map[models.Scenario][][2]string // defaults by LoadGen's scenario
}

// sizes: a tiny rehearsal has as many queries as LoadGen's early stopping wants for its percentiles
// (docs/reference/loadgen.md#early-stopping), and as few rows as a score can be made of.
var sizes = []size{
	{name: "normal", queries: 512, attempts: 2},
	{name: "tiny", queries: 64, attempts: 3, table: map[models.Scenario][][2]string{
		models.Offline:      {{"samples", "64"}, {"min-queries", "128"}},
		models.Server:       {{"samples", "64"}, {"min-queries", "512"}, {"min-duration", "0"}, {"target-qps", "150"}},
		models.SingleStream: {{"samples", "64"}, {"min-queries", "70"}},
	}},
}

// findSize reads --rehearsal-size. What is no rehearsal has no size, and its audits are whole.
func (k *theCampaign) findSize(c *cli.Context, plan *run.Plan) error {
	name := c.String("rehearsal-size")
	if isReal(plan) {
		if name != "" {
			return run.UsageError("rehearsal", "Leave it out, or leave --endpoint or --dataset out for a rehearsal",
				"--rehearsal-size %s: a campaign with a server and a data set is no rehearsal", name)
		}
		return nil
	}
	i := slices.IndexFunc(sizes, func(s size) bool { return s.name == orElse(name, sizes[0].name) })
	if i < 0 {
		return run.UsageError("rehearsal", "Use tiny or normal", "--rehearsal-size %q is unknown", name)
	}
	k.size = sizes[i]
	// Audits are scaled to the rows that there are; a whole data set has the rows for whole audits.
	rows := k.row.DatasetSamples
	if n := plan.Config.Int("samples"); n > 0 {
		rows = n
	} else if !plan.HasDataset() {
		rows = k.size.rows()
	}
	k.size.queries = min(k.size.queries, rows)
	if rows >= k.row.DatasetSamples {
		k.size.queries = 0
	}
	return nil
}

func (s size) rows() int {
	for _, d := range s.table[models.Offline] {
		if n, err := strconv.Atoi(d[1]); d[0] == "samples" && err == nil {
			return n
		}
	}
	return run.RehearsalSamples
}

// defaults are what the size says about a scenario and nobody else does. With a data set of the user's the rows are all
// of its rows.
func (s size) defaults(row *models.ScenarioRow, e *config.Effective) [][2]string {
	return slices.DeleteFunc(slices.Clone(s.table[row.LoadGen]), func(d [2]string) bool {
		return e.IsSet(d[0])
	})
}

// perStep are the settings that the campaign says itself, and those of servers that run by the time of a step.
var perStep = map[string]bool{
	"model": true, "model-category": true, "scenario": true, "mode": true, "output-dir": true, "resume": true,
	"force": true, "audit-config": true,
	"server-config": true, "model-path": true, "replicas": true, "gpus-per-replica": true, "python": true,
}

// arguments are a step's command line without the program's name.
func (k *theCampaign) arguments(t campaign.Task) ([]string, error) {
	folder := k.Path(t.Step)
	logs := func(test string) string {
		return filepath.Join(k.Path(campaign.Step{Scenario: t.Scenario, Test: test}), run.LogFolder)
	}
	if t.Test == campaign.Score {
		return k.scoreArguments(t, folder), nil
	}
	e, err := k.config(t.Step)
	if err != nil {
		return nil, err
	}
	args := append([]string{"--model", k.row.Name, "--scenario", string(t.Scenario)}, flagsOf(e)...)
	if found := t.Settings[campaign.KeyExpectedLatency]; found != "" && !e.IsSet(campaign.KeyExpectedLatency) {
		args = append(args, "--"+campaign.KeyExpectedLatency+"="+found)
	}
	if k.script && t.Scenario == models.SingleStream && t.IsRun() && t.Test != layout.Performance &&
		!e.IsSet(campaign.KeyExpectedLatency) {
		args = append(args, "--"+campaign.KeyExpectedLatency+"="+scriptLatency)
	}
	switch {
	case t.Test == campaign.Preflight:
		return append([]string{"preflight"}, args...), nil
	case t.Audit():
		args = append([]string{"compliance", "run", "--test", t.Test}, args...)
		args = append(args, "--reference-performance", logs(layout.Performance), "--reference-accuracy",
			logs(layout.Accuracy))
		if n := k.size.queries; n > 0 {
			args = append(args, "--rehearsal-queries", strconv.Itoa(n))
		}
	case t.Mode() == models.Accuracy: // scoring is a step of its own
		args = append(append([]string{"run"}, args...), "--mode", string(models.Accuracy), "--no-score")
	default:
		args = append([]string{"run"}, append(args, "--mode", string(t.Mode()))...)
	}
	return append(args, "--output-dir", folder), nil
}

func (k *theCampaign) scoreArguments(t campaign.Task, folder string) []string {
	args := append([]string{"accuracy", "--log", folder}, k.tokenizer...)
	for _, o := range k.sets {
		if o.names(campaign.Step{Scenario: t.Scenario, Test: layout.Accuracy}) && o.name == "dataset" {
			args = append(args, "--dataset", o.text)
		}
	}
	return args
}

// flagsOf are the settings that somebody has set, as flags; secrets go another way.
func flagsOf(e *config.Effective) []string {
	var args []string
	for _, s := range e.Table() {
		if perStep[s.Name] || s.Secret || s.Ignored || !e.IsSet(s.Name) {
			continue
		}
		args = append(args, "--"+s.Name+"="+e.Text(s.Name))
	}
	return args
}

// command makes a step's process. It writes its result, or its error, as JSON to standard output, where the campaign
// reads it.
func (k *theCampaign) command(t campaign.Task) *exec.Cmd {
	args, err := k.arguments(t)
	self, selfErr := os.Executable()
	if err != nil || selfErr != nil { // bind has planned every step already
		return exec.Command("")
	}
	global := []string{"--json", "--log-format", k.p.logFormat, "--log-level", k.p.logLevel}
	if k.p.quiet {
		global = append(global, "--quiet")
	}
	if k.p.noProgress {
		global = append(global, "--no-progress")
	}
	cmd := exec.Command(self, append(global, args...)...)
	cmd.Stderr, cmd.Env = k.p.stderr, k.environ()
	return cmd
}

// environ hands on what must not stand in a list of processes.
func (k *theCampaign) environ() []string {
	env := slices.DeleteFunc(slices.Clone(k.p.environ), func(pair string) bool { // the flags say it all
		name, _, _ := strings.Cut(pair, "=")
		return slices.ContainsFunc(k.base.Table(), func(s config.Setting) bool { return s.EnvName() == name })
	})
	for _, s := range k.base.Table() {
		if s.Secret && k.base.IsSet(s.Name) {
			env = append(env, s.EnvName()+"="+k.base.String(s.Name))
		}
	}
	return env
}

// answers asks every endpoint whether it is there at all, on the way that a run takes; what it is, its own preflight
// tells.
func answers(ctx context.Context, e *config.Effective) error {
	for _, url := range e.Strings("endpoint") {
		if err := reach.Try(ctx, url, e.String("proxy"), askFor); err != nil {
			return fmt.Errorf("an endpoint does not answer: %w", err)
		}
	}
	return nil
}
