package live

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/foreign"
	"github.com/mlperf-go/mlperf-go/report"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/record"
)

const (
	maxTicks    = 3600 // the last hour
	maxFailures = 100  // rows of a page
	mostSteps   = 200
	maxText     = 300 // bytes of a text of a server
)

// event is a tick with its text for viewers.
type event struct {
	tick
	text []byte
}

// feed collects the events and state that viewers receive. It is an Observer of tests.
type feed struct {
	mu      sync.Mutex
	run     string // identifies the charts; other charts need another page
	page    report.Live
	charts  report.LiveCharts
	seconds seconds
	ticks   []event     // the latest
	first   int         // number of ticks[0]; the first is 1
	outer   [][2]string // rows of the state before those of the test
	now     []byte
	nows    int // number of changes of now
	steps   []byte
	changes int // number of changes of steps
	end     []byte
	changed chan struct{} // closed at the next change
}

func newFeed(o *Options) *feed {
	f := &feed{first: 1, changed: make(chan struct{})}
	f.page = report.Live{Title: o.Title, What: cmp.Or(o.What, "test"), Next: o.Next, Folder: o.Folder, Verdict: "RUNNING"}
	f.choose(report.LiveCharts{Client: !o.NoClient, Tails: o.Limits})
	f.setNow([][2]string{{"state", "preparing"}})
	return f
}

// choose selects the charts. Pages of viewers with other charts load again.
func (f *feed) choose(c report.LiveCharts) {
	f.charts = c
	if figures := c.Figures(); f.run == "" || !reflect.DeepEqual(figures, f.page.Figures) {
		f.run, f.page.Figures = rand.Text(), figures
	}
}

// extend adds charts when limits or signals of the servers become known.
func (f *feed) extend(tails []record.Tail) {
	c := f.charts
	if len(c.Tails) == 0 {
		c.Tails = tails
	}
	if names := f.seconds.servers.names(); len(names) > 0 {
		c.Pages, c.Signals = names, f.seconds.servers.signals
	}
	if len(c.Tails) != len(f.charts.Tails) || len(c.Pages) != len(f.charts.Pages) ||
		len(c.Signals) != len(f.charts.Signals) {
		c.Signals = slices.Clone(c.Signals)
		f.choose(c)
	}
}

// change runs a change, and wakes the viewers.
func (f *feed) change(by func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	by()
	close(f.changed)
	f.changed = make(chan struct{})
}

func (f *feed) setNow(rows [][2]string) {
	f.page.Now, f.now = rows, message("now", "", rows)
	f.nows++
}

// message is an event of the stream.
func message(name, id string, data any) []byte {
	text, err := json.Marshal(data) // one line
	if err != nil {
		text = []byte("null")
	}
	if id != "" {
		id = "id: " + id + "\n"
	}
	return fmt.Appendf(nil, "event: %s\n%sdata: %s\n\n", name, id, text)
}

// Waiting shows why the test does not start yet.
func (f *feed) Waiting(text string) {
	f.change(func() { f.setNow([][2]string{{"state", foreign.Line(text, maxText)}}) })
}

// Preflighted shows that the test is about to start.
func (f *feed) Preflighted(*run.Preflight, []string) {
	f.change(func() { f.setNow([][2]string{{"state", "the endpoints answered; the test starts"}}) })
}

// Progress adds what happened since the last call.
func (f *feed) Progress(p run.Progress) {
	f.change(func() {
		finished := f.seconds.add(&p)
		f.extend(p.Tails)
		for _, t := range finished {
			f.append(t)
		}
		if f.charts.Client {
			f.setNow(append(slices.Clone(f.outer), rows(&p)...))
		}
	})
}

// append adds a tick.
func (f *feed) append(t tick) {
	n := f.first + len(f.ticks)
	f.ticks = append(f.ticks, event{t, message("tick", f.run+":"+strconv.Itoa(n), &t)})
	if len(f.ticks) > maxTicks {
		f.ticks, f.first = f.ticks[1:], f.first+1
	}
}

// Begin places the charts of the next test or probe after those of the previous one.
func (f *feed) Begin() {
	f.change(func() { f.seconds.next = true })
}

// State shows the state of the whole command: rows of name and value, before those of the current test.
func (f *feed) State(rows ...[2]string) {
	for i := range rows {
		rows[i][1] = foreign.Line(rows[i][1], maxText)
	}
	f.change(func() {
		f.outer = rows
		f.setNow(rows)
	})
}

// Steps shows the steps so far, of which the last mostSteps are kept.
func (f *feed) Steps(s report.LiveSteps) {
	s.Rows = s.Rows[max(len(s.Rows)-mostSteps, 0):]
	for i, row := range s.Rows {
		s.Rows[i] = slices.Clone(row)
		for k := range row {
			s.Rows[i][k] = foreign.Line(row[k], maxText)
		}
	}
	f.change(func() {
		f.page.Steps, f.steps = s, message("steps", "", s)
		f.changes++
	})
}

// Finish shows the verdict, or the reason for a missing one, and ends the server once its viewers have received it.
func (s *Server) Finish(r *record.Record, err error) {
	if err != nil {
		s.End(NoVerdict, err.Error(), nil)
		return
	}
	s.End(string(r.Verdict), r.Headline(), r.Reasons)
}

// NoVerdict is the verdict of a test that ended early.
const NoVerdict = "NO VERDICT"

// End shows a result, and ends the server once its viewers have received it.
func (s *Server) End(verdict, headline string, reasons []record.Cause) {
	s.change(func() { s.finish(verdict, headline, reasons) })
	s.close()
}

func (f *feed) finish(verdict, headline string, reasons []record.Cause) {
	p := &f.page
	p.Verdict, p.Headline, p.Reasons = verdict, foreign.Line(headline, maxText), reasons
	type cause struct {
		Code string `json:"code"`
		Text string `json:"text"`
	}
	list := []cause{}
	for _, c := range p.Reasons {
		list = append(list, cause{string(c.Code), c.Text})
	}
	f.end = message("end", "", map[string]any{"verdict": p.Verdict, "headline": p.Headline, "reasons": list})
}

// rows describe a moment of the test.
func rows(p *run.Progress) [][2]string {
	done := strconv.FormatInt(p.Done, 10)
	if p.Total > 0 {
		done = fmt.Sprintf("%d of %d", p.Done, max(p.Total, p.Done))
	}
	list := [][2]string{
		{"answered", done}, {"rate", fmt.Sprintf("%.1f requests/s", p.RatePerS)},
		{"in flight", strconv.FormatInt(p.InFlight, 10)}, {"failed", alarmed(p.Failed > 0, strconv.FormatInt(p.Failed, 10))},
		{"TTFT p99", durationText(p.TTFTp99)}, {"TPOT p99", durationText(p.TPOTp99)},
	}
	for _, t := range p.Tails {
		list = append(list, [2]string{t.What, alarmed(t.Lost(), t.String())})
	}
	if p.Cancelled > 0 {
		list = append(list, [2]string{"cancelled", strconv.FormatInt(p.Cancelled, 10)})
	}
	left := "unknown"
	if p.Left > 0 {
		left = p.Left.Round(time.Second).String()
	}
	return append(list, [2]string{"running for", p.Elapsed.Round(time.Second).String()}, [2]string{"time left", left})
}

func durationText(d time.Duration) string {
	if d == 0 {
		return "-"
	}
	return d.Round(10 * time.Microsecond).String()
}

// failureRow is a row of report.Live.
func failureRow(f run.Failure, started time.Time) [4]string {
	reason := string(f.Reason)
	if f.Retried {
		reason += " (repeated)"
	}
	return [4]string{secondsText(f.At.Sub(started).Seconds()), reason, f.Endpoint, foreign.Line(f.Detail, maxText)}
}

// alarmed marks a state's value as one that needs attention.
func alarmed(on bool, value string) string {
	if on {
		return report.LiveAlarm + value
	}
	return value
}

func secondsText(s float64) string { return fmt.Sprintf("%.1f s", s) }

// snapshot returns the page with the charts and failures so far.
func (f *feed) snapshot() *report.Live {
	f.mu.Lock()
	defer f.mu.Unlock()
	page := f.page
	page.Run, page.After = f.run, f.first+len(f.ticks)-1
	page.Figures = nil
	for _, figure := range f.page.Figures {
		curves := make([]report.Curve, len(figure.Curves))
		for i, c := range figure.Curves {
			c.X, c.Y = make([]float64, len(f.ticks)), make([]float64, len(f.ticks))
			for k := range f.ticks {
				c.X[k], c.Y[k] = f.ticks[k].AtS, math.NaN()
				if values := f.ticks[k].Values[figure.ID]; i < len(values) { // of other charts it has none
					c.Y[k] = float64(values[i])
				}
			}
			curves[i] = c
		}
		figure.Curves = curves
		page.Figures = append(page.Figures, figure)
	}
	for k := range f.ticks {
		page.Failures = append(page.Failures, f.ticks[k].Failures...)
	}
	page.Failures = page.Failures[max(len(page.Failures)-maxFailures, 0):]
	return &page
}

// cursor is the position of a viewer in the events.
type cursor struct {
	run  string // the test that the viewer sees
	tick int    // number of the last tick that it has
	now  int
	step int
}

// cursor returns the position of a viewer that has the events of a test up to a number.
func (f *feed) cursor(test, after string) cursor {
	n, err := strconv.Atoi(after)
	if err != nil || n < 0 {
		n = 0
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return cursor{run: cmp.Or(test, f.run), tick: n}
}

// since returns the events behind a cursor, which it moves, and a channel that is closed at the next change. After the
// last event ended is true.
func (f *feed) since(at *cursor) (events []byte, changed <-chan struct{}, ended bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if at.run != f.run {
		return message("other", "", true), f.changed, true
	}
	var b bytes.Buffer
	if at.now == 0 {
		b.WriteString("retry: 2000\n\n")
		b.Write(message("charts", "", &f.charts))
	}
	for i := max(at.tick+1-f.first, 0); i < len(f.ticks); i++ {
		b.Write(f.ticks[i].text)
	}
	at.tick = f.first + len(f.ticks) - 1
	if at.now != f.nows {
		b.Write(f.now)
		at.now = f.nows
	}
	if at.step != f.changes {
		b.Write(f.steps)
		at.step = f.changes
	}
	b.Write(f.end)
	return b.Bytes(), f.changed, f.end != nil
}
