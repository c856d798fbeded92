package campaign

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/mlperf-go/mlperf-go/internal/config"
	"github.com/mlperf-go/mlperf-go/internal/results"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/needs"
	"github.com/mlperf-go/mlperf-go/run/plan"
	"github.com/mlperf-go/mlperf-go/servers"
	"github.com/mlperf-go/mlperf-go/submission/describe"
	"github.com/mlperf-go/mlperf-go/submission/layout"
)

// Options are what a campaign is asked for, beside the settings of its tests. Empty fields take their defaults from
// the system's description, the benchmark or the kind of campaign.
type Options struct {
	Settings *config.Effective // what every test is set to; New changes it

	SystemFile    string // description of the system
	SystemName    string
	SystemType    string
	Submitter     string
	Division      string
	Only          []string // scenarios, tests, or Scenario/test
	Set           []string // WHERE.SETTING=VALUE: a setting of one scenario or test
	RehearsalSize string
	Attempts      int           // how often a test that ends INVALID is tried; 0: the default
	Tune          bool          // find the target QPS of each scenario that has none
	Wait          time.Duration // for endpoints that disappear
	WaitFirst     bool          // wait as well for endpoints that do not answer when the campaign starts

	Servers      *servers.Plan // servers to start for the whole campaign; nil: none
	ServerOrigin config.Origin // of the settings that the servers' file made

	Environ []string  // of the steps' processes
	Global  []string  // arguments of the steps' processes before their command
	Stderr  io.Writer // of the steps' processes
	// Needs receives what the campaign needs, before its first test; it may be nil
	Needs func(needs.Table)
	Log   *zap.Logger
	Live  string // address of the page of each test; "": they have none

	pair bool // of performance and accuracy in one scenario
}

// home returns the name of the folder of such campaigns.
func (o *Options) home(test *plan.Plan) string {
	if o.pair {
		return fmt.Sprintf("%s-%s-%s", test.Row.Name, test.Scenario.Scenario, "submission")
	}
	return test.Row.Name
}

// Plan is a campaign with the settings of each of its steps.
type Plan struct {
	Campaign
	Description *describe.Description // of the system; empty without a file

	resolver
	options    Options
	foreign    bool         // whether the endpoints are the user's and not simulators
	scoreFlags []string     // of the score steps
	forScript  bool         // whether the steps' commands are printed and not run
	plans      []*plan.Plan // of the tests that run, as Bind has made them
}

// programOrigin is the origin of settings that the campaign makes for its steps' commands.
var programOrigin = config.Origin{Layer: config.FromFlag, Where: "--resume"}

// New plans the steps of a campaign. It starts and writes nothing. Errors are *run.Error.
func New(o Options) (*Plan, error) {
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	e := o.Settings
	p := &Plan{options: o, resolver: newResolver(e, nil)}
	p.tune, p.servers = o.Tune, o.Servers
	if e.String("mode") != string(models.Performance) { // each step sets its own
		if err := e.Set("mode", string(models.Performance), programOrigin); err != nil {
			return nil, err
		}
	}
	test, err := plan.Resolve(e.Clone())
	if err != nil {
		return nil, err
	}
	if p.row = test.Row; p.row.Name == models.Generic {
		return nil, exit.Usage(exit.CodeModel, "Use `mlperf-go run --model generic`",
			"generic is not a benchmark and cannot be submitted")
	}
	for _, name := range ofOneTest {
		if e.IsSet(name) {
			return nil, exit.Usage(exit.CodeSetting, "Use it with `mlperf-go run`", "--%s is for one test, and this is a "+
				"series of tests", name)
		}
	}
	for _, text := range test.Notices() {
		o.Log.Info(text)
	}
	decide := planner{p, test}
	if err := decide.all(); err != nil {
		return nil, err
	}
	p.Folder = results.Choose(e.String("output-dir"), o.home(test), e.Bool("resume"), time.Now())
	p.noteUnfinished()
	p.fresh, p.named = untouched(p.Folder), e.Has("output-dir")
	p.Resume, p.Force = e.Bool("resume"), e.Bool("force")
	p.AnyScore = strings.EqualFold(p.Division, layout.Open)
	p.Attempts = max(1, cmp.Or(o.Attempts, p.size.attempts))
	p.Wait, p.Command, p.Log = o.Wait, p.command, o.Log
	return p, decide.completeSettings()
}

// noteUnfinished reports that the campaign before this one has work left.
func (p *Plan) noteUnfinished() {
	before := results.Latest(filepath.Dir(p.Folder))
	if before == "" || before == p.Folder || p.settings.Has("output-dir") {
		return
	}
	s, err := ReadState(before)
	if err == nil && slices.ContainsFunc(s.Steps, func(e *Entry) bool { return e.Status != Done }) {
		p.options.Log.Info("the campaign in " + before + " is not complete; --resume continues it instead of starting " +
			"a new one")
	}
}

// NewPair plans performance and accuracy of one scenario alone, in the folders <scenario>/<test>.
func NewPair(o Options) (*Plan, error) {
	o.pair = true
	p, err := New(o)
	if err != nil {
		return nil, err
	}
	other := func(s Step) bool { return s.Test != layout.Performance && s.Test != layout.Accuracy }
	p.All = slices.DeleteFunc(p.All, other)
	p.Tasks = slices.DeleteFunc(p.Tasks, func(t Task) bool { return other(t.Step) })
	p.Place = func(s Step) string { return filepath.Join(p.Folder, string(s.Scenario), s.Test) }
	return p, nil
}
