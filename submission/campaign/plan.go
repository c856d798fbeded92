package campaign

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/mlperf-go/mlperf-go/compliance"
	"github.com/mlperf-go/mlperf-go/internal/config"
	"github.com/mlperf-go/mlperf-go/internal/results"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/rounds"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/needs"
	"github.com/mlperf-go/mlperf-go/run/plan"
	"github.com/mlperf-go/mlperf-go/run/score"
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

	options    Options
	settings   *config.Effective // of every step
	row        *models.Row
	overrides  []override
	tuned      map[models.Scenario]bool // whose target QPS is found by a tune
	foreign    bool                     // the endpoints are the user's, and not simulators
	size       rehearsalSize
	scoreFlags []string     // of the score steps
	forScript  bool         // the steps' commands are printed, not run
	plans      []*plan.Plan // of the tests that run, as Bind has made them
	simulated  bool         // an endpoint of the user's is the simulator
	references string       // SHA-256 of the data set whose answers all of them return; empty: of no data set

	syntheticSums map[int]string        // SHA-256 of synthetic data sets, by their rows
	readers       map[string]*plan.Plan // a plan that has read a data set, by the file
	fileRows      map[string]int        // rows that were read, by the file
}

// override is a setting of one scenario or test.
type override struct {
	where, name, text string
}

// programOrigin is the origin of settings that the campaign itself makes for its steps' commands.
var programOrigin = config.Origin{Layer: config.FromFlag, Where: "--resume"}

// New plans the steps of a campaign. It starts and writes nothing. Errors are *run.Error.
func New(o Options) (*Plan, error) {
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	e := o.Settings
	p := &Plan{options: o, settings: e, syntheticSums: map[int]string{}, readers: map[string]*plan.Plan{},
		fileRows: map[string]int{}}
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
	for _, step := range []func(*plan.Plan) error{p.findKind, p.describe, p.readOverrides, p.findSize, p.findSteps} {
		if err := step(test); err != nil {
			return nil, err
		}
	}
	p.Folder = results.Choose(e.String("output-dir"), o.home(test), e.Bool("resume"), time.Now())
	p.noteUnfinished()
	p.fresh, p.named = untouched(p.Folder), e.Has("output-dir")
	p.Resume, p.Force = e.Bool("resume"), e.Bool("force")
	p.AnyScore = strings.EqualFold(p.Division, layout.Open)
	p.Attempts = max(1, cmp.Or(o.Attempts, p.size.attempts))
	p.Wait, p.Command, p.Log = o.Wait, p.command, o.Log
	return p, p.completeSettings(test)
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

// findKind finds out whether the campaign is a submission or a rehearsal. With a server and a data set of the user's it
// is a rehearsal only if one was asked for.
func (p *Plan) findKind(test *plan.Plan) error {
	given := func(name string) bool {
		return test.Config.IsSet(name) && test.Config.Origin(name).Layer > config.FromRegistry
	}
	own := test.Config.String("backend") != "sim"
	p.foreign = own && given("endpoint")
	p.Real = own && given("endpoint") && given("dataset")
	if p.Real && p.options.RehearsalSize != "" && !p.settings.Bool("rehearsal") {
		from := config.Origin{Layer: config.FromFlag, Where: "--rehearsal-size " + p.options.RehearsalSize}
		if err := p.settings.Set("rehearsal", "true", from); err != nil {
			return err
		}
	}
	p.Real = p.Real && !p.settings.Bool("rehearsal")
	return nil
}

// describe finds out whose campaign it is: the options come before the system's description.
func (p *Plan) describe(plan *plan.Plan) error {
	o := p.options
	p.Description = describe.New()
	p.System = "simulated"
	if plan.HasEndpoint() {
		p.System = "system"
	}
	if o.SystemFile != "" {
		d, err := describe.Read(o.SystemFile)
		if err != nil {
			return exit.Usage(exit.CodeSystem, "", "%w", err)
		}
		p.Description = d
		name := strings.TrimSuffix(filepath.Base(o.SystemFile), filepath.Ext(o.SystemFile))
		if p.System = name; name == layout.TreeName { // the name of the file that `submission init` writes
			p.System = "system"
		}
	}
	p.System = cmp.Or(o.SystemName, p.System)
	if slices.Contains([]string{layout.OriginalsName, AsideName, ".", ".."}, p.System) ||
		strings.ContainsAny(p.System, "/\\ ") {
		return exit.Usage(exit.CodeSystem, "Name it with --system-name",
			"the system cannot be called %q: its folder would have that name", p.System)
	}
	d := p.Description
	systemType, _ := d.System["system_type"].(string)
	p.Model, p.Round = p.row.Name, plan.Round.Name
	p.Submitter, p.SystemType = cmp.Or(o.Submitter, d.Submitter), cmp.Or(o.SystemType, systemType)
	p.Division = strings.ToLower(cmp.Or(o.Division, d.Division, layout.Closed))
	if !slices.Contains(layout.Divisions(), p.Division) {
		return exit.Usage(exit.CodeDivision, "Use "+strings.Join(layout.Divisions(), ", "),
			"the division %q is unknown", p.Division)
	}
	return nil
}

// readOverrides parses the options WHERE.SETTING=VALUE.
func (p *Plan) readOverrides(*plan.Plan) error {
	for _, text := range p.options.Set {
		name, value, ok := strings.Cut(text, "=")
		where, name, dotted := strings.Cut(name, ".")
		s, _, err := p.settings.Table().Find(name)
		switch {
		case !ok || !dotted:
			err = fmt.Errorf("--set %s is not of the form WHERE.SETTING=VALUE", text)
		case err == nil && stepSettings[s.Name]:
			err = fmt.Errorf("--set %s: every step has its own %s", text, s.Name)
		case err == nil && !p.isScenario(where) && strings.HasPrefix(s.Group, "Load"):
			err = fmt.Errorf("--set %s: all tests of a scenario share one user.conf, so %s can be set for a scenario and not "+
				"for %s alone", text, s.Name, where)
		}
		if err != nil {
			return exit.Usage(exit.CodeSet, "Write --set Server.target-qps=80, or --set accuracy.dataset=FILE", "%w", err)
		}
		p.overrides = append(p.overrides, override{where, name, value})
	}
	return nil
}

func (p *Plan) isScenario(name string) bool {
	_, err := p.row.Scenario(name)
	return err == nil
}

// findSteps plans the scenarios of the round and the audits that it requires.
func (p *Plan) findSteps(plan *plan.Plan) error {
	scenarios := []models.Scenario{plan.Scenario.Scenario}
	// A scenario is named by the flag or by a model's name such as llama3.1-8b-interactive.
	if !p.settings.IsSet("scenario") && !plan.Config.IsSet("scenario") {
		all, systemType, err := Scenarios(p.row, p.Round, p.SystemType)
		if err != nil {
			return exit.Usage(exit.CodeScenario, "Choose another --round or --system-type, or a --scenario", "%w", err)
		}
		scenarios, p.SystemType = all, systemType
	}
	audits, err := p.audits()
	if err != nil {
		return err
	}
	if err := p.findTuned(scenarios); err != nil {
		return err
	}
	if p.All = Steps(scenarios, audits, p.tuned); p.options.Tune && len(p.tuned) == 0 {
		p.options.Log.Info("nothing is tuned: each scenario has a target QPS, or needs none")
	}
	chosen, err := Only(p.All, p.options.Only)
	if err != nil {
		return exit.Usage(exit.CodeOnly, "", "%w", err)
	}
	for _, s := range chosen {
		p.Tasks = append(p.Tasks, Task{Step: s, Tuned: p.tuned[s.Scenario]})
	}
	for _, o := range p.overrides {
		if !slices.ContainsFunc(p.All, o.covers) {
			return exit.Usage(exit.CodeSet, "Its first step is "+p.All[0].ID(),
				"--set %s.%s: the campaign has no scenario and no test of that name", o.where, o.name)
		}
	}
	return nil
}

// covers reports whether an override applies to a step.
func (o override) covers(s Step) bool {
	return strings.EqualFold(o.where, string(s.Scenario)) || strings.EqualFold(o.where, s.Test) ||
		strings.EqualFold(o.where, s.ID())
}

// audits are the tests that the round requires. A benchmark from a model file is in no round and has none.
func (p *Plan) audits() ([]string, error) {
	if len(rounds.Of(p.row)) == 0 && !p.row.Retired {
		return nil, nil
	}
	needs, err := compliance.Needs(p.row.Name, p.Round, p.Division)
	if err != nil {
		return nil, exit.Usage(exit.CodeAudit, "", "%w", err)
	}
	var audits []string
	for _, n := range needs {
		if n.Needed {
			audits = append(audits, n.Test)
		}
	}
	return audits, nil
}

// completeSettings sets what follows from the kind of campaign, and collects the settings of the scores.
func (p *Plan) completeSettings(plan *plan.Plan) error {
	e := p.settings
	if !p.Real && !e.IsSet("run-code") && plan.Config.Bool("run-code") {
		if err := e.Set("run-code", "true", plan.Config.Origin("run-code")); err != nil {
			return err
		}
	}
	for _, name := range append(slices.Clone(score.JudgeSettings), "tokenizer", "tokenizer-revision", "fetch-tokenizer") {
		if e.IsSet(name) {
			p.scoreFlags = append(p.scoreFlags, "--"+name+"="+e.Text(name))
		}
	}
	if p.Division == layout.Network {
		return e.Set("network-sut", "true", config.Origin{Layer: config.FromProgram, Where: "the network division"})
	}
	return nil
}

// stepConfig returns what a step is set to, before its plan adds the defaults.
func (p *Plan) stepConfig(s Step) (*config.Effective, error) {
	e := p.settings.Clone()
	flag := func(name, text, where string) error {
		return e.Set(name, text, config.Origin{Layer: config.FromFlag, Where: where})
	}
	if err := errors.Join(flag("scenario", string(s.Scenario), s.ID()),
		flag("mode", string(s.Mode()), s.ID())); err != nil {
		return nil, err
	}
	for _, o := range p.overrides {
		if !o.covers(s) {
			continue
		}
		if err := flag(o.name, o.text, "--set "+o.where); err != nil {
			return nil, exit.Usage(exit.CodeSet, "", "%w", err)
		}
	}
	row, err := p.row.Scenario(string(s.Scenario))
	if err != nil {
		return nil, err
	}
	for _, d := range p.size.defaults(row, e) {
		if d.name == keyTargetQPS && p.options.Tune {
			continue
		}
		if rows, read := p.fileRows[e.String("dataset")]; read && d.name == "samples" {
			d.text = strconv.Itoa(min(rows, p.size.rows()))
		}
		if err := e.Set(d.name, d.text, plan.SizeOrigin(p.size.name)); err != nil {
			return nil, err
		}
	}
	return e, nil
}
