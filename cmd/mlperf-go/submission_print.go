package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf-go/accuracy"
	"github.com/mlperf-go/mlperf-go/internal/plural"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/needs"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/submission"
	"github.com/mlperf-go/mlperf-go/submission/campaign"
	"github.com/mlperf-go/mlperf-go/submission/check"
	"github.com/mlperf-go/mlperf-go/submission/tree"
)

// printOutcomes prints the table of the steps, at the end and for status.
func (cmd submissionCommand) printOutcomes(of *campaign.State, outcomes []campaign.Outcome) {
	if cmd.json {
		cmd.writeJSON(outcomesJSON(of, outcomes))
		return
	}
	if cmd.quiet {
		printCampaignVerdict(cmd.out, of, outcomes)
		return
	}
	printCampaign(cmd.out, outcomes)
}

// printCampaignVerdict prints the result of a campaign in one line.
func printCampaignVerdict(p page, of *campaign.State, outcomes []campaign.Outcome) {
	kind, c := "", red
	if len(rehearsalReasons(outcomes)) > 0 {
		kind = " (rehearsal)"
	}
	if campaign.ExitCode(outcomes) == run.ExitValid {
		c = green
	}
	p.labelled(c, fmt.Sprintf("%s%s:", of.Of, kind), stepsDone(outcomes))
}

// stepsDone returns how many steps of a campaign are done.
func stepsDone(outcomes []campaign.Outcome) string {
	done := 0
	for _, o := range outcomes {
		if o.Entry.Status == campaign.Done {
			done++
		}
	}
	return fmt.Sprintf("%d of %s done", done, plural.Count(len(outcomes), "step is", "steps are"))
}

// printCampaign prints why steps are not done, then the table of the steps, then notes.
func printCampaign(p page, outcomes []campaign.Outcome) {
	if printCauses(p, outcomes, false) {
		p.line("")
	}
	t := p.table(2, 3)
	t.row("scenario", "test", "state", "verdict", "failed", "took", "result")
	runs := false
	for _, o := range outcomes {
		verdict, result, failed := "-", "-", "-"
		if r := o.Record; r != nil {
			verdict, result, failed = string(r.Verdict), resultWord(r), fmt.Sprint(r.Samples.Failed-r.Cancelled())
			runs = true
		}
		if o.Score != nil {
			result = scoreLine(o.Score) + unjudged(&o)
		}
		t.row(o.Step.Scenario, o.Step.Test, stateWord(o), verdict, failed, tookWord(o), result)
	}
	t.Flush()
	if runs {
		p.line("")
		p.line("folders     %s", filepath.Join(campaignRoot(outcomes), "SCENARIO", "TEST"))
	}
	for _, o := range outcomes {
		if o.Record != nil && o.Record.Overruled() != "" {
			p.line("%s: %s", o.Step.ID(), o.Record.Overruled())
		}
	}
	printCauses(p, outcomes, true)
	if reasons := rehearsalReasons(outcomes); len(reasons) > 0 {
		p.labelled(yellow, "rehearsal:", "cannot be submitted:\n"+itemised(reasons))
	}
	if breaches := breachesOf(outcomes); len(breaches) > 0 {
		p.labelled(yellow, "breach:", strings.Join(breaches, "; "))
	}
	if campaign.ExitCode(outcomes) == run.ExitValid {
		p.line("")
		p.line("Every step is done.")
	}
}

// printCauses prints why steps are not done, and notes on steps that are done or wait for another. It reports whether
// it printed anything.
func printCauses(p page, outcomes []campaign.Outcome, follows bool) (printed bool) {
	for _, o := range outcomes {
		e := &o.Entry
		if e.Why == "" || follows != (e.Status == campaign.Done || e.Code == campaign.CodeBlocked) {
			continue
		}
		c := red
		if follows || e.Status == campaign.Pending {
			c = plain
		}
		p.labelled(c, o.Step.ID()+":", fmt.Sprintf("%s: %s", e.Code, strings.TrimPrefix(e.Why, string(e.Code)+": ")))
		printed = true
	}
	return printed
}

// campaignRoot returns the folder of the scenarios' folders.
func campaignRoot(outcomes []campaign.Outcome) string {
	return filepath.Dir(filepath.Dir(outcomes[0].Folder))
}

// resultWord returns the result of a test. If LoadGen sends at a rate, the requested load limits the result, so that
// scenarios with the same load have the same result.
func resultWord(r *record.Record) string {
	target, achieved, ok := r.Rate()
	if !ok || r.Mode != string(models.Performance) || r.Cancelled() > 0 {
		return r.Headline()
	}
	return fmt.Sprintf("%s at %.4g of %.4g queries/s asked", r.Headline(), achieved, target)
}

// itemised returns texts as the lines of a list.
func itemised(texts []string) string { return "  " + item + strings.Join(texts, "\n  "+item) }

// rehearsalReasons returns why the tests cannot be submitted, each reason once.
func rehearsalReasons(outcomes []campaign.Outcome) []string {
	var all []record.ScenarioReasons
	for _, o := range outcomes {
		if o.Record != nil {
			all = append(all, record.ScenarioReasons{Scenario: string(o.Step.Scenario), Reasons: o.Record.RehearsalReasons})
		}
	}
	return record.JoinReasons(all)
}

// breachesOf returns the fields that the tests send although the closed division does not allow them, each breach once.
func breachesOf(outcomes []campaign.Outcome) (texts []string) {
	for _, o := range outcomes {
		if o.Record == nil {
			continue
		}
		for _, b := range o.Record.Breaches {
			if text := b.Text(); !slices.Contains(texts, text) {
				texts = append(texts, text)
			}
		}
	}
	return texts
}

// printResume explains how to complete the campaign after err; nil if every step had its turn.
func (cmd submissionCommand) printResume(folder string, outcomes []campaign.Outcome, err error) {
	if i := (run.Interrupt{}); errors.As(err, &i) && !cmd.json && !cmd.quiet {
		cmd.out.line("\nInterrupted: %s.", stepsDone(outcomes))
		cmd.toContinue(folder)
		return
	}
	if cmd.exit == run.ExitValid || cmd.json || cmd.quiet {
		return
	}
	cmd.out.line("")
	if campaign.OnlyLowScores(outcomes) {
		cmd.out.line("The same answers get the same score, so --resume alone cannot help. Correct the server's answers " +
			"(a simulator needs --dataset), repeat the accuracy tests with `mlperf-go submission run ... --force --only " +
			"accuracy,score`, then run the same command with --resume.")
		rehearsal := ""
		if len(rehearsalReasons(outcomes)) > 0 {
			rehearsal = " --rehearsal"
		}
		cmd.out.line("Or submit to the open division, which accepts any score: `mlperf-go submission build %s "+
			"--division open%s` builds the tree from these runs.", folder, rehearsal)
		return
	}
	if slow := overLimits(outcomes); len(slow) > 0 {
		cmd.out.line("%s exceeded a latency limit, and may again at the same load. Lower the load with --set "+
			"%s.target-qps=N, or leave the scenario out with --only if the round does not require it "+
			"(docs/how-to/campaigns.md#required-and-optional-scenarios).", strings.Join(slow, " and "), slow[len(slow)-1])
	}
	cmd.out.line("Run the same command with --resume to complete the campaign (with make: ARGS=--resume). " +
		"Finished steps are kept.")
}

// overLimits returns the scenarios with a test that is not done and exceeded a latency limit.
func overLimits(outcomes []campaign.Outcome) (scenarios []string) {
	for _, o := range outcomes {
		isOver := func(l record.LimitState) bool { return l.Measured && !l.Met }
		if name := string(o.Step.Scenario); o.Record != nil && o.Entry.Status != campaign.Done &&
			slices.ContainsFunc(o.Record.Limits(), isOver) && !slices.Contains(scenarios, name) {
			scenarios = append(scenarios, name)
		}
	}
	return scenarios
}

// unjudged is the end of a score's line if the score is compared with no target.
func unjudged(o *campaign.Outcome) string {
	if o.Score.NotJudged == "" || o.Entry.Status != campaign.Done {
		return ""
	}
	return " (not judged)"
}

// scoreLine returns the metrics that have a target, as accuracy.txt prints them.
func scoreLine(s *accuracy.Result) string {
	var words []string
	for _, m := range s.Metrics {
		if m.Min != 0 || m.Max != 0 {
			words = append(words, m.Name+" "+strings.Trim(m.Text, "'"))
		}
	}
	return strings.Join(words, ", ")
}

func stateWord(o campaign.Outcome) string {
	if o.Kept {
		return string(o.Entry.Status) + " before"
	}
	return string(o.Entry.Status)
}

func tookWord(o campaign.Outcome) string {
	if o.Entry.TookS == 0 || o.Entry.Status == campaign.Pending {
		return "-"
	}
	return time.Duration(o.Entry.TookS * float64(time.Second)).Round(100 * time.Millisecond).String()
}

func outcomesJSON(of *campaign.State, outcomes []campaign.Outcome) map[string]any {
	type row struct {
		ID       string          `json:"id"`
		Scenario models.Scenario `json:"scenario"`
		Test     string          `json:"test"`
		State    campaign.Status `json:"state"`
		Kept     bool            `json:"kept"` // done by an earlier campaign
		Code     campaign.Code   `json:"code"`
		Why      string          `json:"why"`
		Verdict  string          `json:"verdict"`
		Reasons  []record.Cause  `json:"reasons"`
		LoadGen  string          `json:"loadgen,omitempty"` // why LoadGen's own INVALID does not count
		Exit     int             `json:"exit"`
		Attempts int             `json:"attempts"`
		TookS    float64         `json:"took_s"`
		Hash     string          `json:"settings_hash"`
		Folder   string          `json:"folder"`
	}
	rows := []row{}
	for _, o := range outcomes {
		r := row{o.Step.ID(), o.Step.Scenario, o.Step.Test, o.Entry.Status, o.Kept, o.Entry.Code, o.Entry.Why, "",
			[]record.Cause{}, "", o.Entry.Exit, o.Entry.Attempts, o.Entry.TookS, o.Entry.Hash, o.Folder}
		if o.Record != nil {
			r.Verdict, r.Reasons, r.LoadGen = string(o.Record.Verdict), o.Record.Reasons, o.Record.Overruled()
		}
		rows = append(rows, r)
	}
	return map[string]any{"model": of.Model, "system": of.System, "round": of.Round, "division": of.Division,
		"steps": rows}
}

// printStatus prints the steps and the expected duration of those that are not done.
func (cmd submissionCommand) printStatus(folder string, state *campaign.State, outcomes []campaign.Outcome,
	now time.Time) error {
	left, sure := campaign.Remaining(outcomes, now)
	running := campaign.Running(folder)
	if cmd.json {
		o := outcomesJSON(state, outcomes)
		o["seconds_left"], o["at_least"], o["running"] = left.Seconds(), !sure, running
		cmd.writeJSON(o)
		return nil
	}
	cmd.printOutcomes(state, outcomes)
	switch {
	case cmd.exit == run.ExitValid || cmd.quiet:
	case running:
		cmd.out.line("\n%s left", needs.About(left, sure))
	case campaign.OnlyLowScores(outcomes):
		cmd.printResume(folder, outcomes, nil)
	default:
		cmd.out.line("\nThe campaign is not running. The steps that are not done take %s; the same command with --resume "+
			"runs them.", needs.About(left, sure))
	}
	return nil
}

// dryRun prints the steps of a run.
func (cmd submissionCommand) dryRun(ctx context.Context, k *campaign.Plan) error {
	if err := k.Identify(ctx); err != nil {
		return err
	}
	table, err := k.Needs(ctx, k.Probes())
	steps := k.Preview() // the probe has measured the servers
	left, sure := k.Estimate(0)
	if err != nil || cmd.json && table.Err() != nil { // with --json the error is the one object on stdout
		return cmp.Or(err, table.Err())
	}
	if cmd.json {
		cmd.writeJSON(map[string]any{"model": k.Model, "system": k.System, "round": k.Round, "division": k.Division,
			"folder": k.Folder, "steps": steps, "seconds_left": left.Seconds(), "at_least": !sure, "needs": table})
		return nil
	}
	t := cmd.out.table(1)
	fmt.Fprintf(t, "step\tstate\ttakes\twhy\n")
	for _, s := range steps {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", s.ID, s.Action, s.Takes, s.Why)
	}
	t.Flush()
	cmd.out.line("\n%s, in %s: %s\n", k.Of, k.Folder, needs.About(left, sure))
	writeNeeds(cmd.out, table, table.Err())
	return table.Err()
}

// printHandedIn prints the result of a whole submission: the steps, the tree and its check.
func (cmd submissionCommand) printHandedIn(state *campaign.State, outcomes []campaign.Outcome,
	h *submission.HandedIn) error {
	if cmd.json {
		cmd.writeJSON(map[string]any{"campaign": outcomesJSON(state, outcomes), "tree": h.Tree, "truncated": h.Truncated,
			"check": h.Check})
		return nil
	}
	cmd.printOutcomes(state, outcomes)
	if cmd.quiet {
		return printVerdict(cmd.out, h.Check)
	}
	cmd.out.line("")
	t := cmd.out.table()
	writeTree(t, h.Tree)
	t.row("log", fmt.Sprintf("%s: the whole accuracy logs; the tree has %s", h.Originals,
		plural.Count(len(h.Truncated), "truncated one", "truncated ones")))
	t.Flush()
	cmd.out.line("")
	err := printVerdict(cmd.out, h.Check)
	cmd.out.line("")
	cmd.out.labelled(plain, "next:", nextOf(h))
	return err
}

// nextOf returns the next action for a tree that was built and checked.
func nextOf(h *submission.HandedIn) string {
	switch {
	case h.Check.Valid:
		return fmt.Sprintf("`mlperf-go submission pack %s` makes the file to upload.", h.Tree.Root)
	case h.Check.OnlyRehearsal():
		return "For a submission repeat the command with a server and a data set of your own (--endpoint, --dataset), the " +
			"description of your system (--system), and without --rehearsal and --rehearsal-size. " +
			"docs/tutorial/first-submission.md shows each step."
	}
	return "Correct the errors, then repeat the command with --resume: finished steps are kept, and the tree is built " +
		"again."
}

// printVerdict prints the findings about a tree. If the tree is a rehearsal, errors that a full run would not have take
// one line per rule.
func printVerdict(w page, r *check.Report) error {
	if r.Valid {
		w.labelled(green, "The tree is valid:", fmt.Sprintf("%s, %s.",
			plural.Count(r.Counts.Valid, "result", "results"), plural.Count(r.Counts.Warnings, "warning", "warnings")))
		return nil
	}
	if r.Rehearsal {
		w.labelled(yellow, "The tree is a rehearsal", "and has no other errors. What makes it one:")
		printShortfalls(w, r)
		return nil
	}
	others := *r
	others.Findings = slices.DeleteFunc(slices.Clone(r.Findings), check.Finding.OfRehearsal)
	if len(others.Findings) < len(r.Findings) {
		w.line("The tree is a rehearsal, and has other errors too:")
		printShortfalls(w, r)
		w.line("")
	}
	return printReport(w, &others)
}

// printShortfalls prints the errors that a full run would not have, each rule once.
func printShortfalls(w page, r *check.Report) {
	t := w.table()
	r.Shortfalls(t)
	t.Flush()
}

// printTree prints a tree that was built.
func (c *console) printTree(r *tree.Result) {
	if c.quiet {
		return
	}
	t := c.out.table()
	writeTree(t, r)
	t.Flush()
	c.out.line("")
	c.out.labelled(plain, "next:", fmt.Sprintf("`mlperf-go submission truncate %[1]s --submitter %[2]s --backup DIR` "+
		"truncates the accuracy logs, and `mlperf-go submission check %[1]s` checks the tree.", r.Root, r.Submitter))
}

// writeTree adds the lines that describe a tree.
func writeTree(t *table, r *tree.Result) {
	t.row("tree", fmt.Sprintf("%s: %s, %.1f MB (round %s, %s)", r.Root, plural.Count(r.Files, "file", "files"),
		float64(r.Bytes)/1e6, r.Round, r.Submitter))
	for i, s := range r.Scenarios {
		t.row([]string{"results", ""}[min(i, 1)], s)
	}
	t.row("division", r.Division+", from "+r.From)
	if r.Reused > 0 {
		t.row("reused", plural.Count(r.Reused, "file", "files")+" of an interrupted build")
	}
	var found []string
	for field, from := range r.Filled {
		if strings.HasPrefix(from, "the ") {
			found = append(found, field)
		}
	}
	if slices.Sort(found); len(found) > 0 {
		t.row("systems", "detected automatically, please check in systems/: "+strings.Join(found, ", "))
	}
	for _, n := range r.Notes {
		t.row("note", n)
	}
	if r.Rehearsal {
		t.row("rehearsal", "the tree is marked as a rehearsal and cannot be submitted")
	}
}
