package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/internal/config"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/submission"
)

func (p *program) submissionCommand() *cli.Command {
	return &cli.Command{
		Name: "submission", Usage: "every test of a benchmark, one after the other",
		Subcommands: []*cli.Command{{
			Name: "run", Usage: "performance, then accuracy, of every scenario", HideHelpCommand: true,
			Description: "Runs each test in a process of its own, into OUTPUT-DIR/<scenario>/<mode>. --resume skips what is done and valid.",
			Flags: append(append(settingFlags(), serverFlags(serverGroup)...),
				&cli.StringFlag{Name: "system", Usage: "system description file, kept for the package"},
				&cli.StringFlag{Name: "submitter", Usage: "name of the submitter, kept for the package"}),
			Action: func(c *cli.Context) error {
				if err := engineArguments(c); err != nil {
					return err
				}
				e, err := p.effective(c)
				if err != nil {
					return err
				}
				scenarios, err := scenariosOf(e)
				if err != nil {
					return err
				}
				return p.campaign(c, e, scenarios)
			},
			OnUsageError: usageError,
		}, p.initCommand(), p.buildCommand(), p.truncateCommand(), p.checkCommand()},
	}
}

// scenariosOf gives the scenario that was asked for, or all of the benchmark.
func scenariosOf(e *config.Effective) ([]models.Scenario, error) {
	plan, err := planFor(e, "")
	if err != nil {
		return nil, err
	}
	if plan.Row.Name == models.Generic {
		return nil, &run.Error{Exit: run.ExitUsage, Code: "model", Err: errors.New("generic is no benchmark, so there is nothing to submit"), Hint: "Use `mlperf-go run --model generic`"}
	}
	if plan.Config.Origin("scenario").Layer > config.FromRegistry && plan.Config.IsSet("scenario") { // by flag, or by a name such as llama3.1-8b-interactive
		return []models.Scenario{plan.Scenario.Scenario}, nil
	}
	var all []models.Scenario
	for _, s := range plan.Row.Scenarios {
		all = append(all, s.Scenario)
	}
	return all, nil
}

// planFor plans with a scenario of the row where the user named none.
func planFor(e *config.Effective, scenario models.Scenario) (*run.Plan, error) {
	copied := e.Clone()
	if copied.String("mode") == "submission" {
		if err := copied.Set("mode", string(models.Performance), forced); err != nil {
			return nil, err
		}
	}
	if scenario != "" {
		if err := copied.Set("scenario", string(scenario), forced); err != nil {
			return nil, err
		}
	}
	return run.NewPlan(copied)
}

// runBoth is `run --mode submission`: performance and accuracy of one scenario.
func (p *program) runBoth(c *cli.Context) error {
	e, err := p.effective(c)
	if err != nil {
		return err
	}
	plan, err := planFor(e, "")
	if err != nil {
		return err
	}
	return p.campaign(c, e, []models.Scenario{plan.Scenario.Scenario})
}

// campaign checks what all steps share, starts what the user left out once for all of them, and runs them.
func (p *program) campaign(c *cli.Context, e *config.Effective, scenarios []models.Scenario) error {
	plan, err := planFor(e, scenarios[0])
	if err != nil {
		return err
	}
	p.notice(plan.Notices()...)
	if err := refuseRehearsal(plan); err != nil {
		return err
	}
	if err := checkDataset(plan); err != nil {
		return err
	}
	folder := e.String("output-dir")
	if folder == "" {
		folder = filepath.Join("results", plan.Row.Name)
	}
	steps := submission.Steps(scenarios, folder)
	for _, s := range steps {
		if err := run.CheckFolder(s.Folder, e.Bool("force") || e.Bool("resume")); err != nil {
			return err
		}
	}
	down, err := p.startServers(c.Context)
	if err != nil {
		return err
	}
	defer down()
	stop, err := p.rehearse(c.Context, plan, folder)
	if err != nil {
		return err
	}
	defer stop()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	campaign := submission.Campaign{
		Wanted: wanted(plan), Steps: steps, Resume: e.Bool("resume"), Force: e.Bool("force"),
		Command: func(s submission.Step, force bool) *exec.Cmd {
			cmd := exec.Command(self, p.stepArgs(c, plan, s, force)...)
			cmd.Stdout, cmd.Stderr, cmd.Env = nil, p.stderr, p.stepEnviron(c, plan)
			return cmd
		},
		Before: func(i int, s submission.Step) {
			p.notice(fmt.Sprintf("[%d/%d] %s %s -> %s", i+1, len(steps), s.Scenario, s.Mode, s.Folder))
		},
	}
	outcomes, err := campaign.Run(c.Context)
	p.exit = submission.ExitCode(outcomes)
	if err != nil && p.json { // one object: the error. What was done before stands in its folders.
		return err
	}
	p.printCampaign(plan, outcomes)
	return err
}

// wanted are the records that a resumed plan may count as done. A server and a data set of the user's mean a real test, unless the plan says
// otherwise by its size; a simulator's record is none of a server's.
func wanted(plan *run.Plan) submission.Wanted {
	c := plan.Config
	given := func(name string) bool { return c.IsSet(name) && c.Origin(name).Layer > config.FromRegistry }
	w := submission.Wanted{Model: plan.Row.Name, Backend: c.String("backend")}
	switch {
	case !given("endpoint"):
		w.Backend = "sim"
	case w.Backend == "":
		w.Backend = "vllm"
	}
	w.Real = given("endpoint") && given("dataset") && w.Backend != "sim" && !c.IsSet("samples")
	return w
}

// refuseRehearsal: a submission with a real server and a real data set must not be short by a flag (cli.md).
func refuseRehearsal(plan *run.Plan) error {
	if !plan.HasEndpoint() || !plan.HasDataset() || plan.Config.String("backend") == "sim" {
		return nil
	}
	ds, err := plan.ReadDataset()
	if err != nil {
		return err
	}
	if err := plan.Bind(len(ds.Samples)); err != nil {
		return err
	}
	if len(plan.Rehearsal) == 0 {
		return nil
	}
	return &run.Error{Exit: run.ExitUsage, Code: "rehearsal", Err: errors.New("this would be a rehearsal, not a submission: " + strings.Join(plan.Rehearsal, "; ")),
		Hint: "Leave the setting out, or leave --endpoint or --dataset out for a rehearsal"}
}

// stepArgs are the flags of a step's process: what the user typed, then what differs from step to step.
func (p *program) stepArgs(c *cli.Context, plan *run.Plan, s submission.Step, force bool) []string {
	args := []string{"--log-format", p.logFormat, "--log-level", p.logLevel}
	if p.quiet {
		args = append(args, "--quiet")
	}
	if p.noProgress {
		args = append(args, "--no-progress")
	}
	args = append(args, "run")
	for _, s := range plan.Config.Table() {
		if perStep[s.Name] || s.Secret {
			continue
		}
		for _, name := range s.Names() {
			args = appendFlag(args, c, s, name)
		}
		if p.fromServers(plan, s.Name) {
			args = append(args, "--"+s.Name, plan.Config.Text(s.Name))
		}
	}
	if path := c.String("config"); path != "" {
		args = append(args, "--config", path)
	}
	for _, name := range []string{"dataset", "endpoint", "backend", "served-model"} {
		if plan.Config.Origin(name).Layer == config.FromRegistry && plan.Config.Text(name) != "" {
			args = append(args, "--"+name, plan.Config.Text(name))
		}
	}
	if force {
		args = append(args, "--force")
	}
	return append(args, "--model", plan.Row.Name, "--scenario", string(s.Scenario), "--mode", string(s.Mode), "--output-dir", s.Folder)
}

// stepEnviron hands on what must not stand in a list of processes.
func (p *program) stepEnviron(c *cli.Context, plan *run.Plan) []string {
	env := slices.Clone(p.environ)
	for _, s := range plan.Config.Table() {
		if s.Secret && (c.IsSet(s.Name) || p.fromServers(plan, s.Name)) {
			env = append(env, s.EnvName()+"="+plan.Config.String(s.Name))
		}
	}
	return env
}

// perStep are the settings that the campaign says itself.
var perStep = map[string]bool{"model": true, "model-category": true, "scenario": true, "mode": true, "output-dir": true, "resume": true, "force": true}

func appendFlag(args []string, c *cli.Context, s config.Setting, name string) []string {
	switch {
	case !c.IsSet(name):
		return args
	case isSwitch(s, name), s.Kind == config.Bool && !s.NeedsValue:
		return append(args, fmt.Sprintf("--%s=%t", name, c.Bool(name)))
	case s.Kind == config.Strings:
		return append(args, "--"+name, strings.Join(c.StringSlice(name), ","))
	default:
		return append(args, "--"+name, c.String(name))
	}
}

// printCampaign is the table at the end.
func (p *program) printCampaign(plan *run.Plan, outcomes []submission.Outcome) {
	if p.json {
		p.writeJSON(campaignJSON(plan, outcomes))
		return
	}
	if p.quiet {
		return
	}
	t := tabwriter.NewWriter(p.stdout, 0, 8, 2, ' ', 0)
	fmt.Fprintf(t, "scenario\tmode\tstate\tverdict\tresult\tfailed\ttook\tfolder\n")
	for _, o := range outcomes {
		verdict, result, failed := "-", "-", "-"
		if r := o.Record; r != nil {
			verdict, result, failed = string(r.Verdict), headline(r), fmt.Sprint(r.Samples.Failed)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", o.Step.Scenario, o.Step.Mode, o.State, verdict, result, failed, o.Took.Round(100*time.Millisecond), o.Step.Folder)
	}
	_ = t.Flush() // to stdout: where that is gone nobody reads the table
	for _, o := range outcomes {
		if o.Record == nil || o.Record.Verdict == run.Valid {
			continue
		}
		for _, cause := range o.Record.Reasons {
			fmt.Fprintf(p.stdout, "%s %s: %s: %s\n", o.Step.Scenario, o.Step.Mode, cause.Code, cause.Text)
		}
	}
	if submission.ExitCode(outcomes) == run.ExitValid {
		fmt.Fprintln(p.stdout, "\nEvery test is valid. Packaging into a submission tree follows in a later version; the folders above hold the official logs.")
	}
}

func campaignJSON(plan *run.Plan, outcomes []submission.Outcome) any {
	type row struct {
		Scenario models.Scenario  `json:"scenario"`
		Mode     models.Mode      `json:"mode"`
		State    submission.State `json:"state"`
		Verdict  string           `json:"verdict"`
		Reasons  []run.Cause      `json:"reasons"`
		Exit     int              `json:"exit"`
		Folder   string           `json:"folder"`
	}
	var rows []row
	for _, o := range outcomes {
		r := row{o.Step.Scenario, o.Step.Mode, o.State, "", []run.Cause{}, o.Exit, o.Step.Folder}
		if o.Record != nil {
			r.Verdict, r.Reasons = string(o.Record.Verdict), o.Record.Reasons
		}
		rows = append(rows, r)
	}
	return map[string]any{"model": plan.Row.Name, "steps": rows}
}
