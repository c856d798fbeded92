package campaign

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/mlperf-go/mlperf-go/internal/config"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run/child"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/submission/layout"
)

// stepSettings are the settings that the campaign makes for each step, and settings of servers that already run during
// the steps.
var stepSettings = map[string]bool{
	"model": true, "model-category": true, "scenario": true, "mode": true, "output-dir": true, "resume": true,
	"force": true, "audit-config": true,
	"server-config": true, "model-path": true, "replicas": true, "gpus-per-replica": true, "python": true,
	"live": true, "live-control": true, // the campaign's own page shows its tests
}

// ofOneTest are the settings that several tests would use for the same file or at the same server.
var ofOneTest = []string{"trace-spans", "profile-window"}

// arguments returns a step's command line without the program's name.
func (p *Plan) arguments(t Task) ([]string, error) {
	folder := p.Path(t.Step)
	logs := func(test string) string {
		return filepath.Join(p.Path(Step{Scenario: t.Scenario, Test: test}), record.LogFolder)
	}
	if t.Test == Score {
		return p.scoreArguments(t, folder), nil
	}
	e, err := p.stepConfig(t.Step)
	if err != nil {
		return nil, err
	}
	for name := range measured {
		if found := t.Settings[name]; found != "" && (name != keyTargetQPS || t.MostPerS > 0 || t.Tuned) {
			if err := e.Set(name, found, measuredOrigin); err != nil {
				return nil, err
			}
		}
	}
	args := append([]string{"--model", p.row.Name, "--scenario", string(t.Scenario)}, child.Flags(e, stepSettings)...)
	if p.forScript && t.Scenario == models.SingleStream && t.IsRun() && t.Test != layout.Performance &&
		!e.IsSet(KeyExpectedLatency) {
		args = append(args, "--"+KeyExpectedLatency+"="+scriptLatency)
	}
	switch {
	case t.Test == Preflight:
		return append([]string{"preflight"}, args...), nil
	case t.Test == Tune: // moveAside keeps a folder only if its tune continues
		args = append([]string{"tune"}, append(args, "--resume")...)
	case t.Audit():
		args = append([]string{"compliance", "run", "--test", t.Test}, args...)
		args = append(args, "--reference-performance", logs(layout.Performance), "--reference-accuracy",
			logs(layout.Accuracy))
		if n := p.size.auditQueries; n > 0 {
			args = append(args, "--rehearsal-queries", strconv.Itoa(n))
		}
	case t.Mode() == models.Accuracy: // scoring is a step of its own
		args = append(append([]string{"run"}, args...), "--mode", string(models.Accuracy), "--no-score")
	default:
		args = append([]string{"run"}, append(args, "--mode", string(t.Mode()))...)
	}
	return append(args, "--output-dir", folder), nil
}

func (p *Plan) scoreArguments(t Task, folder string) []string {
	args := append([]string{"accuracy", "--log", folder}, p.scoreFlags...)
	if urls := p.settings.Strings("endpoint"); len(urls) > 0 { // their /tokenize counts tokens if no file is found
		args = append(args, "--endpoint", urls[0])
		for _, name := range []string{"served-model", "proxy", "ca-file", "client-cert", "client-key"} {
			if text := p.settings.String(name); text != "" {
				args = append(args, "--"+name, text)
			}
		}
	}
	for _, o := range p.overrides {
		if o.covers(Step{Scenario: t.Scenario, Test: layout.Accuracy}) && o.name == "dataset" {
			args = append(args, "--dataset", o.text)
		}
	}
	return args
}

// command makes a step's process. It writes its result, or its error, as JSON to standard output, where the campaign
// reads it.
func (p *Plan) command(t Task) *exec.Cmd {
	args, err := p.arguments(t)
	self, selfErr := os.Executable()
	if err != nil || selfErr != nil { // Bind has already planned every step
		return exec.Command("")
	}
	if p.options.Live != "" && t.IsRun() {
		args = append(args, "--live="+p.options.Live)
	}
	cmd := exec.Command(self, append(append([]string{"--json"}, p.options.Global...), args...)...)
	cmd.Stderr, cmd.Env = p.options.Stderr, p.environ()
	return cmd
}

// Settings returns what every test is set to.
func (p *Plan) Settings() *config.Effective { return p.settings }

// ServeTests makes each test serve a page of its own at an address of --live.
func (p *Plan) ServeTests(address string) { p.options.Live = address }

// environ returns the environment of a step's process.
func (p *Plan) environ() []string { return child.Environ(p.settings, p.options.Environ) }
