package campaign

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf-go/compliance"
	"github.com/mlperf-go/mlperf-go/internal/config"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/rounds"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/plan"
	"github.com/mlperf-go/mlperf-go/run/score"
	"github.com/mlperf-go/mlperf-go/submission/describe"
	"github.com/mlperf-go/mlperf-go/submission/layout"
)

// planner decides what a campaign consists of, from what it was asked for.
type planner struct {
	*Plan
	test *plan.Plan // test of the settings, without those of a step
}

// all makes the decisions. Each one may need those before it.
func (p planner) all() error {
	for _, decide := range []func() error{p.findKind, p.describe, p.readOverrides, p.findSize, p.findSteps} {
		if err := decide(); err != nil {
			return err
		}
	}
	return nil
}

// findKind finds out whether the campaign is a submission or a rehearsal. With a server and a data set of the user's it
// is a rehearsal only if one was asked for.
func (p planner) findKind() error {
	given := func(name string) bool {
		return p.test.Config.IsSet(name) && p.test.Config.Origin(name).Layer > config.FromRegistry
	}
	own := p.test.Config.String("backend") != "sim"
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
func (p planner) describe() error {
	o := p.options
	p.Description = describe.New()
	p.System = "simulated"
	if p.test.HasEndpoint() {
		p.System = "system"
	}
	if o.SystemFile != "" {
		d, err := describe.Read(o.SystemFile)
		if err != nil {
			return exit.Usage(exit.CodeSystem, "", "%w", err)
		}
		p.Description = d
		name := strings.TrimSuffix(filepath.Base(o.SystemFile), filepath.Ext(o.SystemFile))
		if p.System = name; name == layout.TreeName { // the name of the file from `submission init`
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
	p.Model, p.Round = p.row.Name, p.test.Round.Name
	p.Submitter, p.SystemType = cmp.Or(o.Submitter, d.Submitter), cmp.Or(o.SystemType, systemType)
	p.Division = strings.ToLower(cmp.Or(o.Division, d.Division, layout.Closed))
	if !slices.Contains(layout.Divisions(), p.Division) {
		return exit.Usage(exit.CodeDivision, "", "--division %q %s", p.Division,
			config.NotOneOf(p.Division, layout.Divisions()))
	}
	return nil
}

// readOverrides parses the options WHERE.SETTING=VALUE.
func (p planner) readOverrides() error {
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

func (p planner) isScenario(name string) bool {
	_, err := p.row.Scenario(name)
	return err == nil
}

// findSteps plans the scenarios of the round and the audits that it requires.
func (p planner) findSteps() error {
	scenarios := []models.Scenario{p.test.Scenario.Scenario}
	// A scenario is named by the flag or by a model's name such as llama3.1-8b-interactive.
	if !p.settings.IsSet("scenario") && !p.test.Config.IsSet("scenario") {
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

// audits are the tests that the round requires. A benchmark from a model file is in no round and has none.
func (p planner) audits() ([]string, error) {
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
func (p planner) completeSettings() error {
	e := p.settings
	if !p.Real && !e.IsSet("run-code") && p.test.Config.Bool("run-code") {
		if err := e.Set("run-code", "true", p.test.Config.Origin("run-code")); err != nil {
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

// findSize looks up the size of a rehearsal. A real campaign has no size, and its audits are whole.
func (p planner) findSize() error {
	name := p.options.RehearsalSize
	if p.Real {
		return nil
	}
	i := slices.IndexFunc(rehearsalSizes, func(s rehearsalSize) bool {
		return s.name == cmp.Or(name, rehearsalSizes[0].name)
	})
	if i < 0 {
		var names []string
		for _, s := range rehearsalSizes {
			names = append(names, s.name)
		}
		return exit.Usage(exit.CodeRehearsal, "", "--rehearsal-size %q %s", name, config.NotOneOf(name, names))
	}
	p.size = rehearsalSizes[i]
	// Audits are scaled to the rows of the data set; a whole data set has enough rows for whole audits.
	rows := p.row.DatasetSamples
	if p.settings.IsSet("samples") {
		rows = p.settings.Int("samples")
	} else if !p.test.HasDataset() || p.settings.Bool("rehearsal") || p.size.table != nil {
		rows = p.size.rows()
	}
	p.size.auditQueries = min(p.size.auditQueries, rows)
	if rows >= p.row.DatasetSamples {
		p.size.auditQueries = 0
	}
	return nil
}

// findTuned finds the scenarios whose target QPS a tune finds: those with a target, if the user named none.
func (p planner) findTuned(scenarios []models.Scenario) error {
	p.tuned, p.tunedQueries = map[models.Scenario]bool{}, map[models.Scenario]int{}
	for _, s := range scenarios {
		row, err := p.row.Scenario(string(s))
		if err != nil {
			return err
		}
		if !p.options.Tune || row.LoadGen != models.Server {
			continue
		}
		e, err := p.stepConfig(Step{s, layout.Performance})
		if err != nil {
			return err
		}
		test, err := plan.Resolve(e)
		if err != nil {
			return err
		}
		// A rehearsal's default is not a target of the user's.
		if !test.Config.IsSet(keyTargetQPS) || test.Config.Origin(keyTargetQPS).Layer <= config.FromProgram {
			p.tuned[s] = true
			if n, raised := test.TunedQueries(); raised {
				p.tunedQueries[s] = n
			}
		}
	}
	return nil
}
