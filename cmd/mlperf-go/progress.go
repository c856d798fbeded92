package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/mlperf-go/mlperf-go/internal/foreign"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/plan"
	"github.com/mlperf-go/mlperf-go/run/record"
)

// progress shows a running test on stderr: a bar on a terminal, a line every few seconds elsewhere.
type progress struct {
	console *console
	plan    *plan.Plan
	log     *zap.Logger // with the test's scenario
	title   string
	lastOut time.Time
	// preflighted is called once the servers have been probed; nil: nothing is
	preflighted func(*run.Preflight)
}

const lineEvery = 5 * time.Second

func (c *console) newProgress(p *plan.Plan) *progress {
	return &progress{console: c, plan: p, log: c.log.With(zap.String("scenario", string(p.Scenario.Scenario))),
		title: fmt.Sprintf("%s %s %s", p.Row.Name, p.Scenario.Scenario, p.Mode)}
}

// Waiting reports why the test does not start yet.
func (g *progress) Waiting(text string) { g.log.Info(text) }

// Preflighted reports what will be tested.
func (g *progress) Preflighted(pre *run.Preflight, notes []string) {
	for _, n := range g.plan.Adjusted { // before the table, whose figures depend on it
		g.log.Warn(n)
	}
	if g.preflighted != nil {
		g.preflighted(pre)
	}
	if b := pre.Backend; b.Auto && len(b.Servers) > 0 {
		g.log.Info(fmt.Sprintf("backend %s, chosen automatically: %s", b.Backend, b.Why))
	}
	for _, e := range pre.Endpoints {
		g.log.Info(fmt.Sprintf("endpoint %s: %s, serves %s", e.URL, strings.TrimSpace(orUnknown(e.Server)+" "+e.Version),
			foreign.Line(strings.Join(e.Models, ", "), 400)), zap.String("endpoint", e.URL))
	}
	for _, n := range notes {
		if !slices.Contains(g.plan.Adjusted, n) {
			g.log.Warn(n)
		}
	}
	if g.console.json { // the record has the breaches, and a campaign its table
		return
	}
	breaches := g.plan.Breaches()
	for i, text := range record.BreachTexts(breaches) {
		g.log.Warn(text, zap.String("code", breaches[i].Code))
	}
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown server"
	}
	return s
}

// Progress shows the current state.
func (g *progress) Progress(now run.Progress) {
	g.console.count(now)
	if g.console.quiet || g.console.noProgress || g.console.stopped.Load() {
		return
	}
	if isTerminal(g.console.stderr) && !g.console.logsJSON() {
		g.draw(now)
		return
	}
	if time.Since(g.lastOut) < lineEvery {
		return
	}
	g.lastOut = time.Now()
	text := fmt.Sprintf("%s %d/%d %s", g.title, now.Done, now.Total, describe(now))
	if g.console.logsJSON() {
		g.log.Info(text, zap.Int64("done", now.Done), zap.Int64("total", now.Total), zap.Int64("failed", now.Failed),
			zap.Int64("in_flight", now.InFlight), zap.Float64("rate_per_s", now.RatePerS))
		return
	}
	g.console.err.line("%s", text)
}

// describe returns the state in one line. A limit that can no longer be met comes first, because it decides the
// verdict.
func describe(now run.Progress) string {
	lost, late := []string{}, ""
	for _, tail := range now.Tails {
		if tail.Lost() {
			lost = append(lost, tail.What+": "+tail.Count())
		} else if tail.Over > 0 {
			late += ", " + tail.What + ": " + tail.String()
		}
	}
	text := counts(now)
	if len(lost) > 0 {
		text = "already INVALID (" + strings.Join(lost, "; ") + "), " + text
	}
	for _, t := range tails(now) {
		text += ", " + t
	}
	if now.Left > 0 {
		text += fmt.Sprintf(", %v left", now.Left.Round(time.Second))
	}
	return text + late
}

func counts(now run.Progress) string {
	return fmt.Sprintf("%.1f/s, %d in flight, %d failed", now.RatePerS, now.InFlight, now.Failed)
}

// tails returns the measured 99th percentiles so far, of the metrics that the test has.
func tails(now run.Progress) []string {
	var list []string
	for _, t := range []struct {
		name string
		p99  time.Duration
	}{{"TTFT", now.TTFTp99}, {"TPOT", now.TPOTp99}} {
		if t.p99 > 0 {
			list = append(list, fmt.Sprintf("%s p99 %v", t.name, t.p99.Round(100*time.Microsecond)))
		}
	}
	return list
}

// view is the display on a terminal: a line with the bar, and below it one for each limit of the test.
type view struct {
	line   string
	failed string // failed samples, after line
	left   string // remaining time, after failed
	limits []string
}

func newView(now run.Progress) *view {
	v := &view{line: fmt.Sprintf("%.1f/s, %d in flight, ", now.RatePerS, now.InFlight), failed: "0 failed"}
	if now.Failed > 0 {
		v.failed = fmt.Sprintf("%d FAILED", now.Failed)
	}
	if now.Left > 0 {
		v.left = fmt.Sprintf(", %v left", now.Left.Round(time.Second))
	}
	measured := tails(now)
	for i, tail := range now.Tails {
		text := tail.What
		if len(measured) == len(now.Tails) { // both have the order of the metrics
			text = measured[i]
		}
		v.limits = append(v.limits, text+": "+tail.String())
	}
	if len(now.Tails) == 0 && len(measured) > 0 {
		v.limits = []string{strings.Join(measured, ", ")}
	}
	return v
}

// draw shows the state on a terminal, in lines of at most its width.
func (g *progress) draw(now run.Progress) {
	width, _ := terminalWidth(g.console.stderr)
	v := newView(now)
	lines := []string{g.barLine(v, now, width)}
	for _, limit := range v.limits {
		lines = append(lines, cut("  "+limit, width))
	}
	_ = g.console.drawing.draw(lines...) // a broken stderr cannot be reported anywhere
}

// longestBar is the number of columns of a bar on a wide terminal.
const longestBar = 40

// barLine returns the first line of the view. A bar fills the columns that its texts leave.
func (g *progress) barLine(v *view, now run.Progress, width int) string {
	total := max(now.Total, now.Done) // the total is an estimate
	start, end := fmt.Sprintf("%s %d/%d ", g.short(), now.Done, total), v.line+v.failed+v.left
	middle := bar(float64(now.Done)/float64(max(total, 1)), min(width-len(start)-len(end)-1, longestBar))
	if middle != "" {
		middle += " "
	}
	return strings.Replace(cut(start+middle+end, width), v.failed, g.inkFailed(v.failed), 1)
}

// inkFailed returns the count of failures in the colour of failures, unless it is 0 or the terminal has no colours.
// Capitals emphasize it without colour.
func (g *progress) inkFailed(text string) string {
	if g.console.err.ink == nil || !strings.HasSuffix(text, " FAILED") {
		return text
	}
	return string(red) + text + reset
}

// short is the title on a terminal. It omits the model, which was named before, because the line has little room.
func (g *progress) short() string {
	if g.plan.Mode == models.Performance {
		return string(g.plan.Scenario.Scenario)
	}
	return fmt.Sprintf("%s %s", g.plan.Scenario.Scenario, g.plan.Mode)
}

// end erases the view.
func (g *progress) end() { _ = g.console.drawing.draw() }

var _ run.Observer = (*progress)(nil)

// scored returns a function that shows the progress of a scoring that takes long.
func (c *console) scored() func(done, total int) {
	last := time.Now()
	return func(done, total int) {
		if time.Since(last) >= lineEvery && !c.quiet && !c.noProgress {
			last = time.Now()
			text := fmt.Sprintf("scored %d of %d answers", done, total)
			if c.logsJSON() {
				c.log.Info(text, zap.Int("done", done), zap.Int("total", total))
				return
			}
			c.err.line("%s", text)
		}
	}
}
