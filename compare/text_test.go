package compare

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFiguresInText(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 0.00012345: "0.0001234", 12.345: "12.35", 9999.9: "1e+04",
		1e4:  "10000",
		-1e4: "-10000", 123456.7: "123457", 1234.56: "1235"} {
		require.Equal(t, want, digits(&v))
	}
	require.Equal(t, "-", digits(nil))
	for v, want := range map[float64]string{0.0004: "+0.0 %", -0.0004: "+0.0 %", 0.0006: "+0.1 %", -0.5: "-50.0 %"} {
		require.Equal(t, want, Percent(v))
	}
	row := &Row{}
	require.Empty(t, row.ChangeText())
	require.Empty(t, row.IntervalText())
	row = &Row{Change: figure(0.1), Interval: &Interval{Low: -0.05, High: 0.25}}
	require.Equal(t, []string{"+10.0 %", "-5.0 to +25.0 %"}, []string{row.ChangeText(), row.IntervalText()})
	for want, row := range map[string]Row{"noise?": {Verdict: Same}, "": {Verdict: NotJudged},
		"unknown": {Verdict: NotJudged, Change: figure(1)}, "better": {Verdict: Better}, "worse": {Verdict: Worse}} {
		require.Equal(t, want, row.Word())
	}
	require.Equal(t, []string{"(not set)", "x"}, []string{(&Difference{}).shown(""), (&Difference{}).shown("x")})
}

func TestLinesOfNotes(t *testing.T) {
	long := strings.Repeat("a", 39)
	require.Equal(t, "  x\n", wrapped("  ", " x "))
	require.Equal(t, "\n", wrapped("  ", ""))
	require.Equal(t, " "+long+" "+long+"\n", wrapped(" ", long+" "+long), "80 columns")
	require.Equal(t, "  "+long+"\n    "+long+" b\n", wrapped("  ", long+" "+long+" b"), "81 columns")
	umlauts := strings.Repeat("ä", 39)
	require.Equal(t, " "+umlauts+" "+umlauts+"\n", wrapped(" ", umlauts+" "+umlauts))
	require.Equal(t, " "+long+" "+long+"\n   "+long+" "+strings.Repeat("b", 37)+"\n   c\n",
		wrapped(" ", long+" "+long+" "+long+" "+strings.Repeat("b", 37)+" c"))
}

func TestHeadingsThatFit(t *testing.T) {
	at, over := strings.Repeat("ä", 16), strings.Repeat("b", 17)
	for _, c := range []struct{ a, b, wantA, wantB string }{{at, "x", "A " + at, "B x"}, {"x", at, "A x", "B " + at},
		{over, "x", "A", "B"}, {"x", over, "A", "B"}, {"x", "y/x", "A", "B"}} {
		a, b := Headings("A", c.a, "B", c.b)
		require.Equal(t, []string{c.wantA, c.wantB}, []string{a, b})
	}
}

// wholeReport is a comparison in which each part of the text appears.
func wholeReport() *Report {
	a := &Result{Benchmark: "llama3.1-8b", Scenario: "Server", Mode: "performance", Accuracy: "rouge1 38.8"}
	b := &Result{Benchmark: "llama3.1-8b", Scenario: "Server", Mode: "performance"}
	wide := strings.Repeat("w", inOneLine)
	return &Report{Confidence: 0.95,
		Sources: []*Source{{Label: "A", Folder: "monday", Kind: RunKind, Notes: []string{"first"}},
			{Label: "B", Folder: "tuesday", Kind: TreeKind}},
		Pairs: []*Pair{{BaseLabel: "A", OtherLabel: "B", Base: a, Other: b, Notes: []string{"own note"},
			Differences: []Difference{{configGroup, "x", "", wide}, {serverGroup, "y", wide, "1"},
				{configGroup, "z", wide + "w", "1"}, {configGroup, "z", "1", wide + "w"}},
			Rows: []*Row{{Name: "result", Unit: "tokens/s", Base: figure(1000), Other: figure(1100), Change: figure(0.1),
				Interval: &Interval{Low: 0.05, High: 0.15, Resamples: 2000}, Verdict: Better},
				{Name: "TTFT p50", Unit: "ms", Base: figure(12), Verdict: NotJudged, Why: "not measured"},
				{Name: "TTFT p99", Unit: "ms", Verdict: NotJudged, Why: "not measured"}}}},
		Alone: []Alone{{Label: "B", Benchmark: "gpt-oss-120b", Scenario: "Offline", Mode: "accuracy", State: Invalid}},
		Gate:  &Gate{Threshold: 0.05, Failures: []string{"one", "two"}}}
}

const reportText = `A  monday (run)
   note: first
B  tuesday (tree)

llama3.1-8b Server performance, B against A

  settings that differ
    x                        (not set) -> wwwwwwwwwwwwwwwwwwwwwwww
    server y                 wwwwwwwwwwwwwwwwwwwwwwww -> 1
    z
      A  wwwwwwwwwwwwwwwwwwwwwwwww
      B  1
    z
      A  1
      B  wwwwwwwwwwwwwwwwwwwwwwwww

                     A monday  B tuesday  change   interval
  result (tokens/s)  1000      1100       +10.0 %  +5.0 to +15.0 %  better
  TTFT p50 (ms)      12        -
  TTFT p99 (ms)      -         -
  accuracy of A: rouge1 38.8
  note: own note
  note: TTFT p50, TTFT p99: not measured

only in B: gpt-oss-120b Offline accuracy (INVALID)

Intervals: 95 % for all rows of a pair together. They cover the variation within
the runs, not that from run to run (docs/explanation/comparison.md).

gate: one
gate: two
gate: FAILED (threshold 5 %)
`

func TestWholeText(t *testing.T) {
	r := wholeReport()
	require.Equal(t, reportText, textOf(t, r))
	r.Pairs[0].NotRanked = []string{"other rules"}
	require.Contains(t, textOf(t, r), "wwwww\n\n  not ranked: other rules\n\n   ")
	require.NotContains(t, textOf(t, r), "not measured")
	r.Pairs[0].Rows[0].Interval.Resamples = 0 // such as a tune's, which the search computed
	require.NotContains(t, textOf(t, r), "Intervals:")
	r.Pairs[0].Rows[0].Interval = nil
	require.NotContains(t, textOf(t, r), "Intervals:")
	r.Pairs[0].Base.Scenario = "Offline"
	require.Contains(t, textOf(t, r),
		"\nllama3.1-8b Server performance (B) against llama3.1-8b Offline performance (A)\n")
	require.Equal(t, "gate: passed (threshold 1.5 %)", (&Gate{Passed: true, Threshold: 0.015}).Verdict())
	for after := range strings.Count(reportText, "\n") {
		require.ErrorIs(t, wholeReport().Text(&full{after}), errFull, after)
	}
}

// A table whose lines have 80 columns keeps the names of the folders; one of 81 does not.
func TestWidthOfTheTable(t *testing.T) {
	for width, named := range map[int]bool{80: true, 81: false} {
		p := wholeReport().Pairs[0]
		p.Rows = p.Rows[:1]
		var out strings.Builder
		p.table(&out, nil)
		first, _, _ := strings.Cut(strings.TrimLeft(p.rowsUnder("A monday", "B tuesday"), "\n"), "\n")
		require.NotEmpty(t, first)
		line := strings.Split(p.rowsUnder("A monday", "B tuesday"), "\n")[1]
		p.Rows[0].Name += strings.Repeat("x", width-len(strings.TrimRight(line, " ")))
		out.Reset()
		p.table(&out, map[string]string{"A": "monday", "B": "tuesday"})
		require.Equal(t, named, strings.Contains(out.String(), "A monday"), width)
	}
}

var errFull = errors.New("full")

// full fails to write after a number of lines.
type full struct{ lines int }

func (f *full) Write(b []byte) (int, error) {
	if f.lines == 0 {
		return 0, errFull
	}
	f.lines--
	return len(b), nil
}

func TestNumbersOfLogs(t *testing.T) {
	for _, c := range []struct {
		v  any
		is float64
		ok bool
	}{{1.5, 1.5, true}, {`"2"`, 2, true}, {"3", 3, true}, {nil, 0, false}, {"x", 0, false}, {math.NaN(), 0, false},
		{math.Inf(1), 0, false}, {true, 0, false}} {
		v, ok := number(c.v)
		require.Equal(t, c.ok, ok, c)
		if ok {
			require.InDelta(t, c.is, v, 0)
		}
	}
}
