package live

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/json"
	"fmt"
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
	maxText     = 300  // bytes of a text of a server
)

// event is a tick with its text for viewers.
type event struct {
	tick
	text []byte
}

// feed collects what viewers see. It is the Observer of the test.
type feed struct {
	mu      sync.Mutex
	run     string // identifies the test
	page    report.Live
	seconds seconds
	limited bool    // the charts have the limits
	ticks   []event // the latest
	first   int     // number of ticks[0]; the first of a test is 1
	now     []byte
	nows    int // how often now has changed
	end     []byte
	changed chan struct{} // closed at the next change
}

func newFeed(title, folder string) *feed {
	f := &feed{run: rand.Text(), first: 1, changed: make(chan struct{})}
	f.page = report.Live{Title: title, Folder: folder, Run: f.run, Verdict: "RUNNING", Figures: report.LiveFigures(nil)}
	f.setNow([][2]string{{"state", "preparing"}})
	return f
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
		if !f.limited && len(p.Tails) > 0 { // earlier pages lack the limits: as pages of another test they load again
			f.page.Figures, f.limited, f.run = report.LiveFigures(p.Tails), true, rand.Text()
		}
		for _, t := range f.seconds.add(&p) {
			n := f.first + len(f.ticks)
			f.ticks = append(f.ticks, event{t, message("tick", f.run+":"+strconv.Itoa(n), &t)})
			if len(f.ticks) > maxTicks {
				f.ticks, f.first = f.ticks[1:], f.first+1
			}
		}
		f.setNow(rows(&p))
	})
}

// Finish shows the verdict, or the reason for a missing one, and ends the server once its viewers have received it.
func (s *Server) Finish(r *record.Record, err error) {
	s.change(func() { s.finish(r, err) })
	s.close()
}

func (f *feed) finish(r *record.Record, err error) {
	p := &f.page
	if err != nil {
		p.Verdict, p.Headline = "NO VERDICT", foreign.Line(err.Error(), maxText)
	} else {
		p.Verdict, p.Headline, p.Reasons = string(r.Verdict), r.Headline(), r.Reasons
	}
	type cause struct {
		Code string `json:"code"`
		Text string `json:"text"`
	}
	reasons := []cause{}
	for _, c := range p.Reasons {
		reasons = append(reasons, cause{string(c.Code), c.Text})
	}
	f.end = message("end", "", map[string]any{"verdict": p.Verdict, "headline": p.Headline, "reasons": reasons})
}

// rows describe a moment of the test.
func rows(p *run.Progress) [][2]string {
	done := strconv.FormatInt(p.Done, 10)
	if p.Total > 0 {
		done = fmt.Sprintf("%d of %d", p.Done, max(p.Total, p.Done))
	}
	list := [][2]string{
		{"answered", done}, {"rate", fmt.Sprintf("%.1f requests/s", p.RatePerS)},
		{"in flight", strconv.FormatInt(p.InFlight, 10)}, {"failed", strconv.FormatInt(p.Failed, 10)},
		{"TTFT p99", durationText(p.TTFTp99)}, {"TPOT p99", durationText(p.TPOTp99)},
	}
	for _, t := range p.Tails {
		list = append(list, [2]string{t.What, t.String()})
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
	at := fmt.Sprintf("%.1f s", f.At.Sub(started).Seconds())
	return [4]string{at, reason, f.Endpoint, foreign.Line(f.Detail, maxText)}
}

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
				c.X[k], c.Y[k] = f.ticks[k].AtS, float64(f.ticks[k].Values[figure.ID][i])
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

// cursor is how far a viewer is.
type cursor struct {
	run  string // the test that the viewer sees
	tick int    // number of the last tick that it has
	now  int
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
	}
	for i := max(at.tick+1-f.first, 0); i < len(f.ticks); i++ {
		b.Write(f.ticks[i].text)
	}
	at.tick = f.first + len(f.ticks) - 1
	if at.now != f.nows {
		b.Write(f.now)
		at.now = f.nows
	}
	b.Write(f.end)
	return b.Bytes(), f.changed, f.end != nil
}
