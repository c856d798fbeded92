package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/accuracy"
	"github.com/mlperf-go/mlperf-go/compliance"
	"github.com/mlperf-go/mlperf-go/internal/config"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/rounds"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/submission/campaign"
	description "github.com/mlperf-go/mlperf-go/submission/describe"
	"github.com/mlperf-go/mlperf-go/submission/layout"
)

// theCampaign is a campaign with what its steps are set to.
type theCampaign struct {
	campaign.Campaign
	p      *program
	row    *models.Row
	base   *config.Effective // what every step has
	sets   []override
	size   size
	script bool                 // the steps are printed, not run
	hash   map[string]string    // of synthetic data sets, by their rows
	read   map[string]*run.Plan // that has read a data set, by the file

	words     *description.Description // of the system; empty where there is no file
	tokenizer []string                 // flags that name it, for the scores
}

// override is a --set.
type override struct {
	where, name, text string
}

// newCampaign reads flags and the system's description, and plans the steps. It starts and writes nothing.
func (p *program) newCampaign(c *cli.Context, e *config.Effective) (*theCampaign, error) {
	k := &theCampaign{p: p, base: e, hash: map[string]string{}, read: map[string]*run.Plan{}}
	if e.String("mode") != string(models.Performance) { // the steps say theirs
		if err := e.Set("mode", string(models.Performance), forced); err != nil {
			return nil, err
		}
	}
	plan, err := run.NewPlan(e.Clone())
	if err != nil {
		return nil, err
	}
	if k.row = plan.Row; k.row.Name == models.Generic {
		return nil, run.UsageError("model", "Use `mlperf-go run --model generic`",
			"generic is no benchmark, so there is nothing to submit")
	}
	p.notice(plan.Notices()...)
	for _, step := range []func(*cli.Context, *run.Plan) error{k.describe, k.readSets, k.findSize, k.findSteps} {
		if err := step(c, plan); err != nil {
			return nil, err
		}
	}
	k.Folder = e.String("output-dir")
	if k.Folder == "" {
		k.Folder = filepath.Join("results", k.row.Name)
	}
	k.Real = isReal(plan)
	// the scores' steps are told, too
	if o := plan.Config.Origin("run-code"); !k.Real && !e.IsSet("run-code") && plan.Config.Bool("run-code") {
		if err := e.Set("run-code", "true", o); err != nil {
			return nil, err
		}
	}
	names := slices.Clone(judgeFlags)
	for _, f := range tokenizerNames() {
		names = append(names, f.Names()[0])
	}
	for _, name := range names {
		if e.IsSet(name) {
			k.tokenizer = append(k.tokenizer, "--"+name+"="+e.Text(name))
		}
	}
	k.Resume, k.Force = e.Bool("resume"), e.Bool("force")
	k.AnyScore = strings.EqualFold(k.Division, layout.Open)
	if k.Division == layout.Network {
		if err := e.Set("network-sut", "true", config.Origin{Layer: config.FromProgram,
			Where: "the network division"}); err != nil {
			return nil, err
		}
	}
	if k.Attempts = max(1, k.size.attempts); c.IsSet("attempts") {
		k.Attempts = max(1, c.Int("attempts"))
	}
	k.Wait = c.Duration("wait-endpoint")
	k.Command = k.command
	k.Tell = func(text string) { p.notice(text) }
	return k, nil
}

// describe says whose campaign it is: by flags, else by the system's description.
func (k *theCampaign) describe(c *cli.Context, plan *run.Plan) error {
	d := description.New()
	defer func() { k.words = d }()
	k.System = "simulated"
	if plan.HasEndpoint() {
		k.System = "system"
	}
	if path := c.String("system"); path != "" {
		var err error
		if d, err = description.Read(path); err != nil {
			return run.UsageError("system", "", "%w", err)
		}
		// as init names the file
		if k.System = strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)); k.System == layout.TreeName {
			k.System = "system"
		}
	}
	if name := c.String("system-name"); name != "" {
		k.System = name
	}
	if slices.Contains([]string{layout.OriginalsName, campaign.AsideName, ".", ".."}, k.System) ||
		strings.ContainsAny(k.System, "/\\ ") {
		return run.UsageError("system", "Name it with --system-name",
			"the system can not be called %q: its folder would have that name", k.System)
	}
	k.Model = k.row.Name
	k.Submitter = orElse(c.String("submitter"), d.Submitter)
	k.Division = strings.ToLower(orElse(orElse(c.String("division"), d.Division), layout.Closed))
	systemType, _ := d.System["system_type"].(string)
	k.SystemType = orElse(c.String("system-type"), systemType)
	if !slices.Contains(layout.Divisions(), k.Division) {
		return run.UsageError("division", "Use "+strings.Join(layout.Divisions(), ", "), "the division %q is unknown",
			k.Division)
	}
	k.Round = plan.Round.Name
	return nil
}

// readSets reads --set WHERE.NAME=VALUE.
func (k *theCampaign) readSets(c *cli.Context, _ *run.Plan) error {
	for _, text := range c.StringSlice("set") {
		name, value, ok := strings.Cut(text, "=")
		where, name, dotted := strings.Cut(name, ".")
		s, _, err := k.base.Table().Find(name)
		switch {
		case !ok || !dotted:
			err = fmt.Errorf("--set %s is not of the form WHERE.SETTING=VALUE", text)
		case err == nil && perStep[s.Name]:
			err = fmt.Errorf("--set %s: every step has its own %s", text, s.Name)
		case err == nil && !k.isScenario(where) && strings.HasPrefix(s.Group, "Load"):
			err = fmt.Errorf("--set %s: all tests of a scenario have one user.conf, so %s belongs to a scenario and not to %s "+
				"alone", text, s.Name, where)
		}
		if err != nil {
			return run.UsageError("set", "Write --set Server.target-qps=80, or --set accuracy.dataset=FILE", "%w", err)
		}
		k.sets = append(k.sets, override{where, name, value})
	}
	return nil
}

func (k *theCampaign) isScenario(word string) bool {
	_, err := k.row.Scenario(word)
	return err == nil
}

// findSteps plans the scenarios of the round and the audits that it names.
func (k *theCampaign) findSteps(c *cli.Context, plan *run.Plan) error {
	scenarios := []models.Scenario{plan.Scenario.Scenario}
	// not by a flag, nor by a name such as llama3.1-8b-interactive
	if !k.base.IsSet("scenario") && !plan.Config.IsSet("scenario") {
		all, systemType, err := campaign.Scenarios(k.row, k.Round, k.SystemType)
		if err != nil {
			return run.UsageError("scenario", "Choose another --round or --system-type, or a --scenario", "%w", err)
		}
		scenarios, k.SystemType = all, systemType
	}
	audits, err := k.audits()
	if err != nil {
		return err
	}
	k.All = campaign.Steps(scenarios, audits)
	chosen, err := campaign.Only(k.All, c.StringSlice("only"))
	if err != nil {
		return run.UsageError("only", "", "%w", err)
	}
	for _, s := range chosen {
		k.Tasks = append(k.Tasks, campaign.Task{Step: s})
	}
	for _, o := range k.sets {
		if !slices.ContainsFunc(k.All, func(s campaign.Step) bool { return o.names(s) }) {
			return run.UsageError("set", "Its first step is "+k.All[0].ID(),
				"--set %s.%s: the campaign has no scenario and no test of that name", o.where, o.name)
		}
	}
	return nil
}

// names says whether an override is for a step; a score is of the accuracy run.
func (o override) names(s campaign.Step) bool {
	return strings.EqualFold(o.where, string(s.Scenario)) || strings.EqualFold(o.where, s.Test) ||
		strings.EqualFold(o.where, s.ID())
}

func (k *theCampaign) keepTests(tests ...string) {
	without := func(s campaign.Step) bool { return !slices.Contains(tests, s.Test) }
	k.All = slices.DeleteFunc(k.All, without)
	k.Tasks = slices.DeleteFunc(k.Tasks, func(t campaign.Task) bool { return without(t.Step) })
}

func (k *theCampaign) shortPlace(s campaign.Step) string {
	return filepath.Join(k.Folder, string(s.Scenario), s.Test)
}

// config is what a step is set to before its plan adds the defaults.
func (k *theCampaign) config(s campaign.Step) (*config.Effective, error) {
	e := k.base.Clone()
	flag := func(name, text, where string) error {
		return e.Set(name, text, config.Origin{Layer: config.FromFlag, Where: where})
	}
	if err := errors.Join(flag("scenario", string(s.Scenario), s.ID()),
		flag("mode", string(s.Mode()), s.ID())); err != nil {
		return nil, err
	}
	for _, o := range k.sets {
		if !o.names(s) {
			continue
		}
		if err := flag(o.name, o.text, "--set "+o.where); err != nil {
			return nil, run.UsageError("set", "", "%w", err)
		}
	}
	row, err := k.row.Scenario(string(s.Scenario))
	if err != nil {
		return nil, err
	}
	for _, d := range k.size.defaults(row, e) {
		if err := e.Set(d[0], d[1], config.Origin{Layer: config.FromProgram,
			Where: "default of a rehearsal of --rehearsal-size " + k.size.name}); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// runCampaign does the steps and shows what became of them.
func (p *program) runCampaign(ctx context.Context, k *theCampaign) error {
	outcomes, err := p.measure(ctx, k)
	// nothing was begun; or one object: the error. What was done before stands in its folders.
	if len(outcomes) == 0 || err != nil && p.json {
		return err
	}
	p.printOutcomes(k.State(), outcomes)
	p.printWayOn()
	return err
}

// measure does the steps, with what the user left out started once for all of them, and sets the exit code.
func (p *program) measure(ctx context.Context, k *theCampaign) ([]campaign.Outcome, error) {
	if err := k.bind(); err != nil {
		return nil, err
	}
	if err := k.tryJudges(ctx); err != nil {
		return nil, err
	}
	if err := k.Open(ctx); err != nil {
		return nil, err
	}
	defer k.Close()
	down, err := p.startServers(ctx)
	if err != nil {
		return nil, err
	}
	defer down()
	stop, err := k.rehearse(ctx)
	if err != nil {
		return nil, err
	}
	defer stop()
	d, sure := k.Estimate(0)
	p.notice(fmt.Sprintf("%s: %d steps, %s", k.Of, len(k.Tasks), campaign.About(d, sure)))
	err = k.Run(ctx)
	outcomes := k.Outcomes()
	p.exit = campaign.ExitCode(outcomes)
	return outcomes, err
}

// tryJudges makes what the scores will need, so that what is missing is told before hours of tests and not after them.
func (k *theCampaign) tryJudges(ctx context.Context) error {
	if !slices.ContainsFunc(k.Tasks, func(t campaign.Task) bool { return t.Test == campaign.Score }) {
		return nil
	}
	js, err := k.p.judges(ctx, k.base.Text, &accuracy.Input{Benchmark: k.row.Name})
	if err != nil {
		return err
	}
	return js.close()
}

// rehearse starts the simulator and makes the data set where the user has none; every step then has them.
func (k *theCampaign) rehearse(ctx context.Context) (func(), error) {
	e, err := k.config(k.All[0])
	if err != nil {
		return nil, err
	}
	plan, err := run.NewPlan(e)
	if err != nil {
		return nil, err
	}
	stop, gone, err := k.p.rehearse(ctx, plan, k.Folder)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"dataset", "endpoint", "backend", "served-model"} {
		if text := plan.Config.Text(name); text != "" && plan.Config.Origin(name).Layer <= config.FromRegistry {
			err = errors.Join(err, k.base.Set(name, text, plan.Config.Origin(name)))
		}
	}
	if gone != nil { // it is ours: what has ended will not come back
		k.Wait = 0
	}
	k.Ready = func(ctx context.Context) error {
		if k.p.fleet != nil {
			if err := k.p.fleet.Ended(); err != nil {
				return fmt.Errorf("%w: %w", campaign.ErrEnded, err)
			}
		}
		select {
		case <-gone:
			return errors.New("the simulator has ended")
		default:
			return answers(ctx, plan.Config)
		}
	}
	return stop, err
}

// askFor is how long an endpoint has to answer that it is there.
const askFor = 5 * time.Second

// audits are the tests that the round asks for. A row of a model file is in no round, and has none.
func (k *theCampaign) audits() ([]string, error) {
	if len(rounds.Of(k.row)) == 0 && !k.row.Retired {
		return nil, nil
	}
	needs, err := compliance.Needs(k.row.Name, k.Round, k.Division)
	if err != nil {
		return nil, run.UsageError("audit", "", "%w", err)
	}
	var audits []string
	for _, n := range needs {
		if n.Needed {
			audits = append(audits, n.Test)
		}
	}
	return audits, nil
}
