package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// result is a mutant and its outcome.
type result struct {
	mutant
	outcome outcome
	source  string // of the original file
}

// tally counts the outcomes of a row of the report.
type tally struct{ noticed, survived int }

func (t tally) percent() float64 {
	if t.noticed+t.survived == 0 {
		return 100
	}
	return 100 * float64(t.noticed) / float64(t.noticed+t.survived)
}

func (m *mutant) String() string { return fmt.Sprintf("%s:%d:%d: %s", m.path, m.line, m.col, m.kind) }

// report prints the survivors with their changes, a table by file and one by kind, and the total.
func report(out io.Writer, results []result) tally {
	var all tally
	byFile, byKind := map[string]*tally{}, map[string]*tally{}
	for _, r := range results {
		for key, rows := range map[string]map[string]*tally{r.path: byFile, r.kind: byKind} {
			if rows[key] == nil {
				rows[key] = &tally{}
			}
			rows[key].count(r.outcome)
		}
		all.count(r.outcome)
		if r.outcome == survived {
			fmt.Fprintf(out, "\n%s survived\n%s", r.mutant.String(), diff(r.source, &r.mutant))
		}
	}
	fmt.Fprintln(out)
	table(out, "file", byFile)
	table(out, "kind", byKind)
	fmt.Fprintf(out, "%d of %d mutants noticed (%.0f %%)\n", all.noticed, all.noticed+all.survived, all.percent())
	return all
}

func (t *tally) count(o outcome) {
	switch o {
	case survived:
		t.survived++
	case killed, timedOut, tooLarge:
		t.noticed++
	}
}

func table(out io.Writer, name string, rows map[string]*tally) {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintf(w, "%s\tmutants\tnoticed\tsurvived\t\n", name)
	var keys []string
	for k := range rows {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		r := rows[k]
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%.0f %%\n", k, r.noticed+r.survived, r.noticed, r.survived, r.percent())
	}
	_ = w.Flush() // to stdout, whose errors show to the reader
	fmt.Fprintln(out)
}

// diff shows the changed lines of a mutant, before and after.
func diff(source string, m *mutant) string {
	from := strings.LastIndexByte(source[:m.start], '\n') + 1
	to := len(source)
	if i := strings.IndexByte(source[m.end:], '\n'); i >= 0 {
		to = m.end + i
	}
	var b strings.Builder
	for _, side := range []struct{ mark, text string }{{"-", source[from:to]},
		{"+", source[from:m.start] + m.text + source[m.end:to]}} {
		for line := range strings.SplitSeq(side.text, "\n") {
			fmt.Fprintf(&b, "%s%s\n", side.mark, line)
		}
	}
	return b.String()
}
