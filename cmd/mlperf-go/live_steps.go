package main

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/plural"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/report/live"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/plan"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/submission/campaign"
	"github.com/mlperf-go/mlperf-go/sweep"
	"github.com/mlperf-go/mlperf-go/tune"
)

// pageLimits returns the limits in the charts of a tune or a sweep: those of its settings, or the benchmark's.
func pageLimits(p *plan.Plan) (list []record.Tail) {
	terms, row := p.Terms(), p.Scenario
	for _, l := range []record.Tail{{What: "time to first token", Limit: cmp.Or(terms.TTFTLimit, row.TTFTLimit)},
		{What: "time per output token", Limit: cmp.Or(terms.TPOTLimit, row.TPOTLimit)},
		{What: "latency", Limit: cmp.Or(terms.AnswerLimit, row.TargetLatency)}} {
		if l.Limit > 0 && l.Limit < plan.NoLimit && p.Scenario.Scenario != models.Offline {
			list = append(list, l)
		}
	}
	return list
}

// liveTune shows a tune on its page, and passes it to its own observer.
type liveTune struct {
	*tuneProgress
	page *livePage
	rows [][]string
}

func newLiveTune(g *tuneProgress, page *livePage, folder string, resume bool) *liveTune {
	l := &liveTune{tuneProgress: g, page: page}
	if before, err := tune.ReadState(folder); resume && err == nil {
		for i := range before.Probes {
			l.add(&before.Probes[i])
		}
	}
	return l
}

// Progress goes to the pages alone: on stderr a tune has a line per step.
func (l *liveTune) Progress(p run.Progress) {
	l.console.count(p)
	l.page.progress(p)
}

// Begins reports the next step.
func (l *liveTune) Begins(s tune.Step, about time.Duration) {
	l.tuneProgress.Begins(s, about)
	l.page.state(s.String(), about)
	l.page.begin()
}

// Measured reports what a step has shown.
func (l *liveTune) Measured(p *tune.Probe, left time.Duration) {
	l.tuneProgress.Measured(p, left)
	l.add(p)
	l.page.state("between two steps", left)
}

func (l *liveTune) add(p *tune.Probe) {
	l.rows = append(l.rows, []string{string(p.Kind), probeLoad(p), probeDecision(p), probeLate(p),
		highestText(p), p.Took.Round(100 * time.Millisecond).String()})
	l.page.steps("Probes", []string{"step", "rate", "decision", "late", "highest valid rate", "took"}, l.rows)
}

func highestText(p *tune.Probe) string {
	if p.High <= 0 {
		return "-"
	}
	return fmt.Sprintf("%.4g to %.4g", p.Low, p.High)
}

// liveSweep shows a sweep on its page, and passes it to its own observer.
type liveSweep struct {
	*sweepProgress
	page *livePage
	rows [][]string
}

func newLiveSweep(g *sweepProgress, page *livePage, folder string, resume bool) *liveSweep {
	l := &liveSweep{sweepProgress: g, page: page}
	if before, err := sweep.ReadState(folder); resume && err == nil {
		for i := range before.Points {
			l.add(&before.Points[i])
		}
	}
	return l
}

// Progress shows the point in progress.
func (l *liveSweep) Progress(p run.Progress) {
	l.sweepProgress.Progress(p)
	l.page.progress(p)
}

// Begins reports the next point.
func (l *liveSweep) Begins(load float64, number, of int, about time.Duration) {
	l.sweepProgress.Begins(load, number, of, about)
	l.page.state(l.title+": "+l.kind.Text(load), about)
	l.page.begin()
}

// Measured reports what a point has shown.
func (l *liveSweep) Measured(p *sweep.Point, left time.Duration) {
	l.sweepProgress.Measured(p, left)
	l.add(p)
	l.page.state("between two points", left)
}

func (l *liveSweep) add(p *sweep.Point) {
	row := []string{l.kind.Text(p.Load), plural.Figure(p.RequestsPerS), plural.Figure(p.OutputTokensPerS),
		"-", "-", "counts"}
	if p.TTFT != nil {
		row[3] = seconds(p.TTFT.P99).String()
	}
	if p.TPOT != nil {
		row[4] = seconds(p.TPOT.P99).String()
	}
	if len(p.Spoiled) > 0 {
		row[5] = "spoiled: " + p.Spoiled[0].Text
	}
	l.rows = append(l.rows, row)
	l.page.steps("Points", []string{"load", "answers/s", "tokens/s", "TTFT p99", "TPOT p99", "state"}, l.rows)
}

// showCampaign shows the steps of a campaign on its page whenever one changes, and returns a function that ends the
// page.
func (cmd submissionCommand) showCampaign(ctx context.Context, k *campaign.Plan) (context.Context, *livePage, error) {
	ctx, page, err := cmd.openPage(ctx, k.Settings(), live.Options{Title: k.Of.String(), What: "campaign",
		Next: "mlperf-go submission status " + k.Folder + " shows its steps.", Folder: k.Folder})
	if err != nil || page == nil {
		return ctx, nil, err
	}
	children, err := page.followChildren(ctx)
	if err != nil {
		return nil, nil, err
	}
	k.ServeTests(children)
	k.Changed = func() {
		outcomes := k.Outcomes()
		var rows [][]string
		now := "between two steps"
		for i, o := range outcomes {
			verdict, result := "-", "-"
			if r := o.Record; r != nil {
				verdict, result = string(r.Verdict), resultWord(r)
			}
			if o.Score != nil {
				result = scoreLine(o.Score)
			}
			if o.Entry.Status == campaign.Active {
				now = fmt.Sprintf("%s, %d of %d", o.Step.ID(), i+1, len(outcomes))
			}
			rows = append(rows, []string{string(o.Step.Scenario), o.Step.Test, stateWord(o), verdict, tookWord(o), result,
				o.Entry.Why})
		}
		page.steps("Steps", []string{"scenario", "test", "state", "verdict", "took", "result", "reason"}, rows)
		left, _ := campaign.Remaining(outcomes, time.Now())
		page.state(now, left)
	}
	return ctx, page, nil
}

// endCampaign shows the end of a campaign on its page.
func endCampaign(page *livePage, outcomes []campaign.Outcome, err error) {
	verdict := "INVALID"
	if campaign.ExitCode(outcomes) == run.ExitValid {
		verdict = "VALID"
	}
	page.end(verdict, stepsDone(outcomes), err)
}
