package compare

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"

	"github.com/mlperf-go/mlperf-go/ledger"
)

// Schema identifies the form of the JSON, which schema/compare.schema.json describes.
const Schema = "mlperf-go/compare/1"

// DefaultConfidence is the default confidence of all intervals of a pair together.
const DefaultConfidence = 0.95

// Method explains the intervals.
const Method = "bootstrap of blocks in time order (Carlstein 1986), lengths by Politis and White 2004, expanded " +
	"percentile intervals (Hesterberg 2015), corrected for the number of rows (Bonferroni)"

// Settings control how a comparison judges.
type Settings struct {
	Percentiles []float64 // such as 99.9; none: DefaultPercentiles
	Confidence  float64   // 0: DefaultConfidence
	Gate        bool
	Threshold   float64 // of the gate: share by which a figure may get worse
}

// Report is a comparison of the first source with each of the others.
type Report struct {
	Schema     string    `json:"schema"`
	Method     string    `json:"method"`
	Confidence float64   `json:"confidence"` // of the intervals of a pair together
	Sources    []*Source `json:"sources"`
	Pairs      []*Pair   `json:"pairs"`
	Alone      []Alone   `json:"alone"`
	Gate       *Gate     `json:"gate,omitempty"`
}

// Alone is a result that only one of the two sources has.
type Alone struct {
	Label     string `json:"label"`
	Benchmark string `json:"benchmark"`
	Scenario  string `json:"scenario"`
	Mode      string `json:"mode"`
	Folder    string `json:"folder"`
	State     State  `json:"state"`
}

// Pair is two results of the same kind.
type Pair struct {
	BaseLabel   string       `json:"base_label"`
	OtherLabel  string       `json:"other_label"`
	Base        *Result      `json:"base"`
	Other       *Result      `json:"other"`
	Differences []Difference `json:"settings_that_differ"`
	NotRanked   []string     `json:"not_ranked"` // reasons why the pair is not ranked; empty: it is ranked
	Notes       []string     `json:"notes"`
	Rows        []*Row       `json:"rows"`
}

// Verdict is the judgement of a row.
type Verdict string

// The verdicts of a row.
const (
	Better    Verdict = "better"
	Worse     Verdict = "worse"
	Same      Verdict = "no difference shown"
	AsAsked   Verdict = "as asked" // a Server result that follows from its target rate
	NotJudged Verdict = "not judged"
)

// Row is one figure of both results.
type Row struct {
	Name     string    `json:"name"`
	Unit     string    `json:"unit"`
	Base     *float64  `json:"base"` // null: unknown
	Other    *float64  `json:"other"`
	Change   *float64  `json:"change"` // other/base - 1; null: not ranked
	Interval *Interval `json:"interval"`
	Verdict  Verdict   `json:"verdict"`
	Why      string    `json:"why,omitempty"` // why the row is not judged

	higher   bool // whether higher is better
	asked    bool // whether it follows from the target rate
	decisive bool // whether the gate fails without an interval
	interval func(confidence float64) (*Interval, error)
}

// Gate is the result of a regression test.
type Gate struct {
	Passed    bool     `json:"passed"`
	Threshold float64  `json:"threshold"`
	Failures  []string `json:"failures"`
}

// Compare compares the first source with each of the others. It sets the labels of the sources.
func Compare(sources []*Source, o Settings) *Report {
	if o.Confidence == 0 {
		o.Confidence = DefaultConfidence
	}
	if len(o.Percentiles) == 0 {
		o.Percentiles = DefaultPercentiles
	}
	r := &Report{Schema: Schema, Method: Method, Confidence: o.Confidence, Sources: sources, Pairs: []*Pair{},
		Alone: []Alone{}}
	for i, s := range sources {
		s.Label = label(i)
		for _, earlier := range sources[:i] {
			if sameFolder(s.Folder, earlier.Folder) {
				s.note("%s is the folder of %s, so every figure is compared with itself", s.Label, earlier.Label)
				break
			}
		}
	}
	for _, other := range sources[min(1, len(sources)):] {
		r.addPairs(sources[0], other, o)
	}
	if o.Gate {
		r.Gate = r.judge(o.Threshold)
	}
	return r
}

// sameFolder reports whether two paths lead to one folder, such as a run's and that of the link latest.
func sameFolder(a, b string) bool {
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(infoA, infoB)
}

// label returns A to Z, then #27.
func label(i int) string {
	if i < 26 {
		return string(rune('A' + i))
	}
	return "#" + strconv.Itoa(i+1)
}

// addPairs pairs the results of two sources. Two single results are always paired, so that the report states why they
// are not ranked. Others are paired by benchmark, scenario and test, and by system if there are several.
func (r *Report) addPairs(base, other *Source, o Settings) {
	paired := map[*Result]bool{}
	for _, b := range other.Results {
		a := partner(base, other, b)
		if a == nil {
			r.alone(other, b)
			continue
		}
		paired[a] = true
		r.Pairs = append(r.Pairs, newPair(base.Label, other.Label, a, b, o))
	}
	for _, a := range base.Results {
		if !paired[a] {
			r.alone(base, a)
		}
	}
}

func (r *Report) alone(s *Source, one *Result) {
	r.Alone = append(r.Alone, Alone{s.Label, one.Benchmark, one.Scenario, one.Mode, one.Folder, one.State})
}

func partner(base, other *Source, b *Result) *Result {
	if len(base.Results) == 1 && len(other.Results) == 1 {
		return base.Results[0]
	}
	var same []*Result
	for _, a := range base.Results {
		if a.Benchmark == b.Benchmark && a.Scenario == b.Scenario && a.Mode == b.Mode {
			same = append(same, a)
		}
	}
	if len(same) == 1 {
		return same[0]
	}
	for _, a := range same {
		if a.Division == b.Division && a.Submitter == b.Submitter && a.System == b.System {
			return a
		}
	}
	return nil
}

func newPair(labelA, labelB string, a, b *Result, o Settings) *Pair {
	p := &Pair{BaseLabel: labelA, OtherLabel: labelB, Base: a, Other: b, Differences: differences(a, b),
		NotRanked: refusals(a, b, labelA, labelB), Notes: []string{}, Rows: []*Row{}}
	p.addRows(o)
	if a.Rehearsal == "yes" && b.Rehearsal == "yes" {
		p.Notes = append(p.Notes, "both are rehearsals")
	}
	if len(p.NotRanked) > 0 {
		for _, row := range p.Rows {
			row.Verdict, row.Why = NotJudged, "not ranked"
		}
		return p
	}
	if len(p.Rows) > 0 {
		p.Rows[0].asked = p.noteLoad()
	}
	p.noteAnswers()
	judgeAll(p.Rows, o.Confidence)
	return p
}

// judgeAll judges rows with a common confidence of all their intervals.
func judgeAll(rows []*Row, confidence float64) {
	tests := 0.0
	for _, row := range rows {
		if row.interval != nil && !row.asked {
			tests++
		}
	}
	for _, row := range rows {
		row.judge(1 - (1-confidence)/max(tests, 1))
	}
}

// addRows adds the result, the result per accelerator, the rate of tokens, and the tails.
func (p *Pair) addRows(o Settings) {
	a, b := p.Base, p.Other
	if a.Mode == "accuracy" {
		p.Notes = append(p.Notes, "scores are judged against their targets, not against each other")
		return
	}
	p.addResult()
	if a.Accelerators > 0 && b.Accelerators > 0 && a.Value != nil && b.Value != nil {
		p.Rows = append(p.Rows, &Row{Name: "per accelerator", Unit: p.Rows[0].Unit, higher: p.Rows[0].higher,
			Base: divided(a.Value, a.Accelerators), Other: divided(b.Value, b.Accelerators),
			Why: fmt.Sprintf("%d x %s and %d x %s", a.Accelerators, a.Accelerator, b.Accelerators, b.Accelerator)})
	}
	if a.Scenario == "Offline" {
		return // Offline has no limits of latency: all queries are due at its start
	}
	equalLoad := sameLoad(a, b)
	if !equalLoad {
		p.Notes = append(p.Notes, "the rate of queries differs, so latencies are not judged")
	}
	logs := a.requests != nil && b.requests != nil
	paired := logs && sameRequests(a.requests, b.requests)
	for i := range measures {
		m := &measures[i]
		var va, vb []float64
		if logs {
			va, vb = m.values(a.requests), m.values(b.requests)
		}
		for _, percent := range o.Percentiles {
			q := ledger.Share(percent)
			row := &Row{Name: m.name + " " + percentName(q), Unit: m.unit, Base: scaled(a.percentile(m, q), m.scale),
				Other: scaled(b.percentile(m, q), m.scale)}
			switch {
			case row.Base == nil || row.Other == nil:
				row.Why = "not measured"
			case !equalLoad: // the pair has a note about it
			case !logs:
				row.Why = "no request logs"
			default:
				row.interval = func(confidence float64) (*Interval, error) {
					return intervalOfQuantile(va, vb, q, confidence, paired)
				}
			}
			p.Rows = append(p.Rows, row)
		}
	}
}

// addResult adds the figure that a submission reports.
func (p *Pair) addResult() {
	a, b := p.Base, p.Other
	unit := a.Unit
	if unit == "" {
		unit = b.Unit
	}
	row := &Row{Name: "result", Unit: unit, Base: a.Value, Other: b.Value, higher: a.Scenario != "SingleStream",
		decisive: true}
	switch {
	case row.Base == nil || row.Other == nil:
		row.Why = "no result"
	case a.Mode == "tune":
		row.interval = func(float64) (*Interval, error) { return tuneInterval(a, b) }
	case a.requests == nil || b.requests == nil:
		row.Why = "no request logs"
	case a.point != nil && b.point != nil:
		row.interval = func(confidence float64) (*Interval, error) {
			return intervalOfRate(a.point.flow(), b.point.flow(), confidence, false)
		}
	case a.Scenario == "SingleStream":
		row.interval = func(confidence float64) (*Interval, error) {
			e2e := measures[len(measures)-1]
			return intervalOfQuantile(e2e.values(a.requests), e2e.values(b.requests), 0.9, confidence,
				sameRequests(a.requests, b.requests))
		}
	default:
		row.interval = func(confidence float64) (*Interval, error) {
			return rateInterval(a, b, row.Unit == "tokens/s", confidence)
		}
	}
	p.Rows = append(p.Rows, row)
}

// tuneInterval combines the intervals of two tunes: the change is within it if both rates are within their intervals.
func tuneInterval(a, b *Result) (*Interval, error) {
	if !(a.Low > 0 && b.Low > 0 && a.High >= a.Low && b.High >= b.Low) || math.IsInf(a.High, 0) || math.IsInf(b.High, 0) {
		return nil, fmt.Errorf("a tune has no interval")
	}
	return &Interval{Low: b.Low/a.High - 1, High: b.High/a.Low - 1}, nil
}

// judge computes a row's change and interval.
func (row *Row) judge(confidence float64) {
	row.Verdict = NotJudged
	if row.Base != nil && row.Other != nil && *row.Base > 0 {
		change := *row.Other / *row.Base - 1
		row.Change = &change
	}
	switch {
	case row.asked && row.Change != nil:
		row.Verdict = AsAsked
		return
	case row.interval == nil:
		return
	}
	interval, err := row.interval(confidence)
	if err != nil {
		row.Why = err.Error()
		return
	}
	row.Interval = interval
	switch {
	case interval.Low <= 0 && interval.High >= 0:
		row.Verdict = Same
	case interval.Low > 0 == row.higher:
		row.Verdict = Better
	default:
		row.Verdict = Worse
	}
}

// loss is the least possible loss of a row; negative if the row may be better.
func (row *Row) loss() float64 {
	if row.higher {
		return -row.Interval.High
	}
	return row.Interval.Low
}

// judge performs the regression test. It passes if every pair is ranked, every result has an interval or follows from
// its target rate, and no row is certainly worse by more than the threshold.
func (r *Report) judge(threshold float64) *Gate {
	g := &Gate{Threshold: threshold, Failures: []string{}}
	fail := func(format string, args ...any) { g.Failures = append(g.Failures, fmt.Sprintf(format, args...)) }
	if len(r.Pairs) == 0 {
		fail("the sources have no results to compare")
	}
	for _, one := range r.Alone {
		fail("only %s has %s %s %s", one.Label, one.Benchmark, one.Scenario, one.Mode)
	}
	for _, p := range r.Pairs {
		for _, why := range p.NotRanked {
			fail("%s: not ranked: %s", p.name(), why)
		}
		for _, row := range p.Rows {
			switch {
			case len(p.NotRanked) > 0:
			case row.Verdict == AsAsked:
				if why := p.ungated(row, threshold); why != "" {
					fail("%s: %s", p.name(), why)
				}
			case row.failure(threshold) != "":
				fail("%s: %s", p.name(), row.failure(threshold))
			case row.Interval == nil && row.decisive:
				fail("%s: the result has no interval: %s", p.name(), row.Why)
			}
		}
	}
	g.Passed = len(g.Failures) == 0
	return g
}

// ungated returns why the gate cannot pass a pair whose result follows from the target rate; "": it can.
func (p *Pair) ungated(result *Row, threshold float64) string {
	judged := slices.ContainsFunc(p.Rows, func(row *Row) bool { return row.Interval != nil })
	switch {
	case p.lowerTarget() && *result.Change < -threshold:
		return "not comparable: " + p.OtherLabel + " had a lower target rate; measure both at the same one, or compare tunes"
	case sameLoad(p.Base, p.Other) && !judged:
		return "nothing can be judged: the result follows from the target rate, and no latency has an interval"
	}
	return ""
}

// failure describes the loss of a row that is certainly worse than the threshold allows; otherwise it is empty.
func (row *Row) failure(threshold float64) string {
	if row.Interval == nil || row.loss() <= max(threshold, 0) {
		return ""
	}
	return fmt.Sprintf("%s is worse by %s", row.Name, percents(row.loss(), row.spread()))
}

// spread is the largest loss in the interval.
func (row *Row) spread() float64 {
	if row.higher {
		return -row.Interval.Low
	}
	return row.Interval.High
}

func percents(low, high float64) string { return fmt.Sprintf("%.1f %% to %.1f %%", 100*low, 100*high) }

// name returns the test and the sides of a pair; both tests if they differ.
func (p *Pair) name() string {
	base, other := p.Base.test(), p.Other.test()
	if base == other {
		return fmt.Sprintf("%s, %s against %s", other, p.OtherLabel, p.BaseLabel)
	}
	return fmt.Sprintf("%s (%s) against %s (%s)", other, p.OtherLabel, base, p.BaseLabel)
}

// test returns the name of a result's test.
func (r *Result) test() string { return r.Benchmark + " " + r.Scenario + " " + r.Mode }

func divided(v *float64, n int) *float64 {
	each := *v / float64(n)
	return &each
}

func scaled(v *float64, by float64) *float64 {
	if v == nil {
		return nil
	}
	s := *v * by
	return &s
}
