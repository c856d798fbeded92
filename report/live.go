package report

import (
	_ "embed" // live.html and live.js
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf-go/metrics/series"
	"github.com/mlperf-go/mlperf-go/run/record"
)

var (
	//go:embed live.html
	liveHTML string
	//go:embed live.js
	liveJS string
)

var liveTemplate = newTemplate(liveHTML)

// Live is the page of a running test, tune, sweep or campaign, or of servers. live.js keeps it up to date with the
// events of package report/live.
type Live struct {
	Title    string
	What     string // runs: "test", "sweep", ...
	Next     string // advice for the time after its end
	Run      string // identifies the test in the events
	After    int    // the page contains the events up to this one
	Folder   string
	Verdict  string // "RUNNING" until the test has ended
	Headline string
	Reasons  []record.Cause
	Now      [][2]string // state of the test: names and values
	Steps    LiveSteps   // empty Head: the page has no table of steps
	Figures  []Figure    // Figures of the charts with their points
	Failures [][4]string // time, cause, endpoint, detail
	Control  bool        // whether the page has a button that stops the test
}

// LiveSteps are the steps of a campaign, the probes of a tune, the points of a sweep, or servers.
type LiveSteps struct {
	Title string     `json:"title"`
	Head  []string   `json:"head"`
	Rows  [][]string `json:"rows"` // each as long as Head
}

// liveScript is page.js, which draws the charts, and live.js, which extends them.
func liveScript() string { return pageJS + liveJS }

// LivePolicy returns the content security policy of the page, an HTTP header: its own style and script, and requests to
// its own server.
func LivePolicy() string {
	return policy(liveScript()) + "; connect-src 'self'; frame-ancestors 'none'"
}

const liveAxis = "seconds since the start"

// LiveCharts selects the charts of a live page.
type LiveCharts struct {
	Client  bool          `json:"client"`  // whether the page has the client's charts
	Tails   []record.Tail `json:"tails"`   // the limits that the test must meet
	Pages   []string      `json:"pages"`   // of the servers' metrics
	Signals []string      `json:"signals"` // keys of the servers' signals with values
}

// SignalFigure returns the ID of the chart of a signal.
func SignalFigure(key string) string { return "server-" + key }

// MostPages is the largest number of metrics pages that have separate curves in a live chart. More pages have one
// curve together.
const MostPages = 8

// Figures returns the charts without points. Each has its curves in the order of the live events' values.
func (c *LiveCharts) Figures() []Figure {
	var list []Figure
	add := func(f Figure, names ...string) {
		f.X = liveAxis
		for _, name := range names {
			f.Curves = append(f.Curves, Curve{Name: name})
		}
		for i := range f.Limits {
			f.Limits[i].Name += " " + short(f.Limits[i].Value) + " " + f.Y
		}
		list = append(list, f)
	}
	if c.Client {
		for _, d := range durations {
			add(d.overTime(c.Tails), percentileNames...)
		}
		rates, tokens, lag := ratesFigure, tokensFigure, lagFigure
		rates.Title = "Issued and answered requests"
		rates.Look = "Answers and failures that together stay below what is issued mean that a queue grows."
		tokens.Look = "Tokens of the answers that ended in each second."
		lag.Look = strings.Replace(lag.Look, "due until sent", "issued until sent", 1)
		add(lag, "issued to sent", "readable to reported")
		add(inFlightFigure, "in flight")
		add(rates, "issued", "answered", failedCurve)
		add(tokens, "output")
	}
	pages := c.Pages
	if len(pages) > MostPages {
		pages = []string{fmt.Sprintf("%d pages together", len(pages))}
	}
	for i := range series.Signals {
		if slices.Contains(c.Signals, series.Signals[i].Key) {
			add(signalFigure(&series.Signals[i]), pages...)
		}
	}
	return list
}

// LiveAlarm begins a value of a live page's state that asks for a look. The page also shows it in the colour of what
// failed, on which a viewer need not rely.
const LiveAlarm = "⚠ "

func alarming(value string) bool { return strings.HasPrefix(value, LiveAlarm) }

// liveView is a Live with values for the template.
type liveView struct {
	*Live
	Style   template.CSS
	Script  template.JS
	Version string
	Views   []figureView
}

// WriteLive writes the page. It must be served with LivePolicy.
func WriteLive(w io.Writer, p *Live) error {
	v := liveView{Live: p, Style: template.CSS(pageCSS), Script: template.JS(liveScript()), //nolint:gosec // our own files
		Version: record.ThisTool().Version}
	for i := range p.Figures {
		f, err := p.Figures[i].liveView()
		if err != nil {
			return err
		}
		v.Views = append(v.Views, f)
	}
	return liveTemplate.Execute(w, &v)
}

// liveView is view with the values of the last minute and all limits, because limits may come near during the test.
func (f *Figure) liveView() (figureView, error) {
	v := figureView{Figure: *f, Anchor: f.ID, Thinned: " (the last minute)"}
	v.Figure.Limits = append([]Limit(nil), f.Limits...)
	data, err := json.Marshal(f.data(0, f.Limits))
	if err != nil {
		return v, fmt.Errorf("the chart %s: %w", f.ID, err)
	}
	v.Data = template.JS(data) //nolint:gosec // json.Marshal escapes what could end the element
	n := len(f.Curves[0].X)
	for i := max(n-tableRows, 0); i < n; i++ {
		cells := []string{short(f.Curves[0].X[i])}
		for c := range f.Curves {
			cells = append(cells, short(f.Curves[c].Y[i]))
		}
		v.Rows = append(v.Rows, cells)
	}
	v.markFar()
	return v, nil
}

// markFar marks the limits that are too far above every value to be drawn.
func (f *Figure) markFar() {
	highest := 0.0
	for _, c := range f.Curves {
		for _, v := range c.Y {
			if !math.IsNaN(v) {
				highest = max(highest, v)
			}
		}
	}
	for i := range f.Limits {
		f.Limits[i].Far = f.Limits[i].Value > farAbove*highest
	}
}
