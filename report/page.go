package report

import (
	"crypto/sha256"
	_ "embed" // page.html, its style and its script
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/foreign"
	"github.com/mlperf-go/mlperf-go/run/record"
)

var (
	//go:embed page.html
	pageHTML string
	//go:embed page.css
	pageCSS string
	//go:embed page.js
	pageJS string
	//go:embed figure.html
	figureHTML string
)

var templateFuncs = template.FuncMap{"class": curveClass, "alarming": alarming}

// newTemplate parses a page whose figures are those of figure.html.
func newTemplate(text string) *template.Template {
	return template.Must(template.Must(template.New("page").Funcs(templateFuncs).Parse(figureHTML)).Parse(text))
}

var pageTemplate = newTemplate(pageHTML)

// page is what the template shows.
type page struct {
	Title   string
	Policy  string // the content security policy: only this page's own style and script
	Style   template.CSS
	Script  template.JS
	Version string
	Runs    []runView
}

// row is a name with a text.
type row struct{ Name, Text string }

// limitView is a limit with its value.
type limitView struct{ What, Value, Limit, Word, Class string }

// table has a column per figure of a latency.
type table struct {
	Head []string
	Rows []tableRow
}

type tableRow struct {
	Name  string
	Cells []string
}

// runView is one run as the page shows it.
type runView struct {
	*Run
	Heading, Kind, Headline string
	Mark                    string // of a record of another version
	NoTokenTimes            string // why there are no charts of ITL; "": there are, or there was no ITL
	Limits                  []limitView
	Latencies               table
	Share                   string
	Findings                []string
	Counts, Facts           []row
	Bins                    string
	Figures                 []figureView
	Command                 string
}

// figureView is a figure with values for its part of the page.
type figureView struct {
	Figure
	Anchor  string
	Data    template.JS
	Rows    [][]string
	Thinned string
}

// WriteHTML writes the page of some runs.
func WriteHTML(w io.Writer, runs []*Run) error {
	p := page{Style: template.CSS(pageCSS), Script: template.JS(pageJS), //nolint:gosec // our own files
		Policy: policy(pageJS), Version: record.ThisTool().Version, Title: "Report of " + strconv.Itoa(len(runs)) + " runs"}
	for i, r := range runs {
		view, err := r.view(i)
		if err != nil {
			return err
		}
		p.Runs = append(p.Runs, view)
	}
	if len(runs) == 1 {
		p.Title = p.Runs[0].Heading
	}
	return pageTemplate.Execute(w, &p)
}

// policy allows a page's style and script by their hashes, and nothing else.
func policy(script string) string {
	hash := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return "default-src 'none'; style-src " + hash(pageCSS) + "; script-src " + hash(script) +
		"; base-uri 'none'; form-action 'none'"
}

func (r *Run) view(number int) (runView, error) {
	rec := r.Record
	v := runView{Run: r, Heading: fmt.Sprintf("%s %s %s: %s", rec.Model, rec.Scenario, rec.Mode, r.Name),
		Headline: rec.Headline(), Limits: r.limitViews(), Latencies: latencies(rec), Counts: counts(rec),
		Facts: facts(rec), Command: command(rec)}
	if w := r.Workload; w != nil {
		v.Heading, v.Headline, v.Facts = fmt.Sprintf("%s: %s", w.Title, r.Name), w.Headline, nil
		v.Counts = w.counts(rec)
		for _, f := range w.Facts {
			v.Facts = append(v.Facts, row{f[0], f[1]})
		}
	}
	if rec.Rehearsal {
		v.Kind = "(rehearsal)"
	}
	r.mark(&v)
	var l *timeline
	if r.Requests != nil {
		l = newTimeline(r)
		v.Bins = fmt.Sprintf("%d requests in %d bins of %s s.", len(l.samples), l.bins, rounded(l.width()))
	}
	v.Share = r.share(l)
	v.Findings = r.findings(l)
	for _, f := range r.figures(l) {
		view, err := f.view(number)
		if err != nil {
			return v, err
		}
		v.Figures = append(v.Figures, view)
	}
	if l != nil && r.Workload == nil && rec.LatencyS.ITL != nil {
		v.NoTokenTimes = noTokenTimes
	}
	return v, nil
}

// noTokenTimes explains why a run of LoadGen has no charts of ITL (docs/reference/report.md#bins).
const noTokenTimes = "There are no charts of the time between tokens (ITL): neither the request log nor LoadGen's " +
	"logs have a time for each token. The table of latencies has its percentiles over the whole run; TPOT is its " +
	"mean in each answer."

// Mark returns the line that marks a record of another version; "" for this version.
func (r *Run) Mark() string {
	if r.Other == nil {
		return ""
	}
	return "OTHER VERSION: " + foreign.Line(r.Other.Note(), maxExample)
}

// mark changes the view of a crashed run and of one of another version, whose figures are not those of a finished run.
func (r *Run) mark(v *runView) {
	v.Mark = r.Mark()
	if r.Crashed == nil {
		return
	}
	v.Headline = "no result"
	if _, _, ok := record.Figure(r.Record.Scenario, r.Record.LoadGen.Result); ok {
		v.Headline += "; LoadGen's log has " + r.Record.Headline()
	}
	if v.Facts = crashedFacts(r.Record); r.Requests == nil {
		v.Counts, v.Latencies = nil, table{}
	}
}

// limitViews compares LoadGen's 99th percentiles with the limits.
func (r *Run) limitViews() []limitView {
	var list []limitView
	for _, l := range r.Record.Limits() {
		v := limitView{What: l.What, Limit: milliseconds(l.Limit.Seconds()), Value: "-", Word: l.Word()}
		if l.Measured {
			v.Value, v.Class = milliseconds(l.P99.Seconds()), string(record.Invalid)
		}
		if l.Met {
			v.Class = string(record.Valid)
		}
		list = append(list, v)
	}
	return list
}

func milliseconds(s float64) string { return short(s*1e3) + " ms" }

// share states the client's own share of the time to the first token. l may be nil.
func (r *Run) share(l *timeline) string {
	ttft := r.Record.LatencyS.TTFT
	if ttft == nil || ttft.P99 <= 0 {
		return ""
	}
	lag := r.Record.Client.DispatchLagUS.P99 / 1e6
	rest := "The rest is the server's and the network's."
	if l != nil && len(l.clientStalls()) > 0 {
		rest = "The rest is not all the server's and the network's: the client stood still, and read late what had arrived."
	}
	return fmt.Sprintf("Client or server? The p99 of TTFT is %s; the client's own p99 from due to sent is %s, %s of it. "+
		rest,
		milliseconds(ttft.P99), milliseconds(lag), percent(lag/ttft.P99))
}

func latencies(r *record.Record) table {
	heads, rows := r.LatencyTable(50, 90, 95, 99, 99.9)
	t := table{Head: heads}
	for _, row := range rows {
		if row.Values == nil {
			continue
		}
		cells := tableRow{Name: fmt.Sprintf("%s (%s)", row.Name, row.Unit)}
		for _, v := range row.Values {
			cells.Cells = append(cells.Cells, short(v))
		}
		t.Rows = append(t.Rows, cells)
	}
	return t
}

func counts(r *record.Record) []row {
	list := []row{
		{"requests", strconv.FormatInt(r.Samples.Issued, 10)},
		{"failed", withShare(r.Samples.Failed-r.Cancelled(), r.Samples.Completed)},
		{"repeated", strconv.FormatInt(r.Samples.Retried, 10)},
		{"duration", short(r.DurationS) + " s"},
		{"requests/s", short(r.Throughput.Requests)},
		{"output tokens/s", short(r.Throughput.OutputTokens)},
		{"input tokens/s", short(r.Throughput.InputTokens)},
		{"client CPU per request", short(r.Client.CPUUSPerSample) + " us"},
	}
	if used := (&Run{Record: r}).ownCPUs(); used > 0 && r.Host.CPUsAllowed > 0 {
		list = append(list, row{"CPUs that this program used", fmt.Sprintf("%s of %d", rounded(used), r.Host.CPUsAllowed)})
	}
	if n := r.Cancelled(); n > 0 {
		list = slices.Insert(list, 2, row{"cancelled by the interruption", strconv.FormatInt(n, 10)})
	}
	if m := r.Metrics; m != nil && m.EnergyJ > 0 {
		list = append(list, row{"energy of this machine's GPUs", short(m.EnergyJ/1e3) + " kJ"},
			row{"output tokens per joule", short(m.TokensPerJoule)})
	}
	unsent, failed := r.Samples.Completed, r.Samples.Failed
	for _, e := range r.Endpoints {
		list = append(list, row{"requests to " + e.URL, fmt.Sprintf("%d, %s failed", e.Requests,
			withShare(e.Failed, e.Requests))})
		unsent, failed = unsent-e.Requests, failed-e.Failed
	}
	if unsent > 0 && len(r.Endpoints) > 0 {
		list = append(list, row{"requests sent to no server", fmt.Sprintf("%d, %d failed", unsent, failed)})
	}
	return list
}

// counts returns the counts of a workload beside the rates of its record.
func (w *Workload) counts(rec *record.Record) []row {
	counted := *rec
	counted.Samples = w.Counted
	list := counts(&counted)
	const failed = 2 // rows up to that of the failures
	if w.LeftOut > 0 {
		list = slices.Insert(list, failed, row{"left out: warm-up and cool-down", strconv.FormatInt(w.LeftOut, 10)})
	}
	if w.Cancelled > 0 {
		list = slices.Insert(list, failed, row{"cancelled by the client", strconv.FormatInt(w.Cancelled, 10)})
	}
	return list
}

// withShare returns a number, and its share of all unless either is 0.
func withShare(n, all int64) string {
	text := strconv.FormatInt(n, 10)
	if n > 0 && all > 0 {
		text += " (" + percent(float64(n)/float64(all)) + ")"
	}
	return text
}

func facts(r *record.Record) []row {
	list := []row{
		{"started", r.Started.Format(time.RFC3339)},
		{"host", fmt.Sprintf("%s, kernel %s, %s, %d CPUs, of which this program may use %d, %s GB of memory", r.Host.OS,
			r.Host.Kernel, r.Host.CPUModel, r.Host.CPUs, r.Host.CPUsAllowed, rounded(float64(r.Host.MemoryBytes)/1e9))},
		{"program", "mlperf-go " + r.Tool.Version + ", LoadGen " + r.Tool.LoadGen},
		{"served model", r.ServedModel}, {"backend", r.Backend}, {"round", r.Round},
		{"data set", fmt.Sprintf("%s, %d rows, SHA-256 %s", r.Dataset.Path, r.Dataset.Samples, r.Dataset.SHA256)},
	}
	for _, n := range r.Notes {
		list = append(list, row{"note", n})
	}
	for _, name := range slices.Sorted(maps.Keys(r.Files)) {
		list = append(list, row{name, "SHA-256 " + r.Files[name]})
	}
	return list
}

// command returns the command line, quoted for a shell.
func command(r *record.Record) string {
	var words []string
	for _, w := range r.Command {
		if w == "" || strings.ContainsFunc(w, func(c rune) bool {
			return !strings.ContainsRune("-_=+./,:@%", c) && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z')
		}) {
			w = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		words = append(words, w)
	}
	return strings.Join(words, " ")
}

// short returns four digits.
func short(v float64) string {
	if math.IsNaN(v) {
		return "-"
	}
	return strconv.FormatFloat(round(v), 'f', -1, 64)
}

// rounded returns three digits, and all of a whole number.
func rounded(v float64) string {
	if math.Abs(v) >= 100 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// percent returns a share in percent.
func percent(share float64) string {
	if share > 0 && share < 0.001 {
		return "less than 0.1 %"
	}
	return rounded(100*share) + " %"
}

// round keeps four digits, and whole numbers.
func round(v float64) float64 {
	if v == 0 || math.Abs(v) >= 1e4 {
		return math.Round(v)
	}
	scale := math.Pow(10, 3-math.Floor(math.Log10(math.Abs(v))))
	return math.Round(v*scale) / scale
}

// tableRows bounds the rows of a figure's table.
const tableRows = 60

func (f *Figure) view(run int) (figureView, error) {
	v := figureView{Figure: *f, Anchor: fmt.Sprintf("run%d-%s", run, f.ID)}
	data, err := json.Marshal(f.data(run, f.near()))
	if err != nil {
		return v, fmt.Errorf("the chart %s: %w", f.ID, err)
	}
	v.Data = template.JS(data) //nolint:gosec // json.Marshal escapes what could end the element
	n := len(f.Curves[0].X)
	every := (n + tableRows - 1) / tableRows
	if every > 1 {
		v.Thinned = fmt.Sprintf(", one row in %d", every)
	}
	for i := 0; i < n; i += every {
		cells := []string{short(f.Curves[0].X[i])}
		for c := range f.Curves {
			cells = append(cells, f.Curves[c].at(i, f.Curves[0].X[i]))
		}
		if slices.ContainsFunc(cells[1:], func(text string) bool { return text != "-" }) {
			v.Rows = append(v.Rows, cells)
		}
	}
	return v, nil
}

// at returns the value at index i, or at the first X from x on where the curve has other places.
func (c *Curve) at(i int, x float64) string {
	if i >= len(c.X) || c.X[i] != x {
		i, _ = slices.BinarySearch(c.X, x)
	}
	if i >= len(c.Y) {
		return "-"
	}
	return short(c.Y[i])
}

// chartData is what page.js draws.
type chartData struct {
	X      string      `json:"x"`
	Y      string      `json:"y"`
	Time   bool        `json:"time"`
	Group  int         `json:"group"`           // charts over time of one run are zoomed together
	Range  []float64   `json:"range,omitempty"` // of X
	Curves []curveData `json:"curves"`
	Limits []limitData `json:"limits"`
}

type curveData struct {
	Name  string     `json:"name"`
	Class string     `json:"class"` // of page.css
	X     []float64  `json:"x"`
	Y     []*float64 `json:"y"` // null: a gap
}

type limitData struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	OnX   bool    `json:"on_x"`
}

func (f *Figure) data(run int, limits []Limit) chartData {
	d := chartData{X: f.X, Y: f.Y, Time: f.Time, Group: run, Limits: []limitData{}}
	if f.To > f.From {
		d.Range = []float64{f.From, f.To}
	}
	for n, c := range f.Curves {
		one := curveData{Name: c.Name, Class: curveClass(c.Name, n), X: []float64{}, Y: []*float64{}}
		for i, v := range c.Y {
			one.X = append(one.X, round(c.X[i]))
			value := round(v)
			if math.IsNaN(v) {
				one.Y = append(one.Y, nil)
			} else {
				one.Y = append(one.Y, &value)
			}
		}
		d.Curves = append(d.Curves, one)
	}
	for _, l := range limits {
		d.Limits = append(d.Limits, limitData{l.Name, l.Value, l.OnX})
	}
	return d
}
