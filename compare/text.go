package compare

import (
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/mlperf-go/mlperf-go/internal/foreign"
)

// Bounds of a value in the text.
const (
	longestValue = 400 // bytes of a setting; more is cut
	inOneLine    = 24  // characters of a setting beside another
)

// Text writes the comparison for a terminal of 80 columns, except for long settings and folders.
func (r *Report) Text(w io.Writer) error {
	out := &strings.Builder{}
	for _, s := range r.Sources {
		fmt.Fprintf(out, "%s  %s (%s)\n", s.Label, foreign.Line(s.Folder, longestValue), s.Kind)
		for _, n := range s.Notes {
			out.WriteString(wrapped("   ", "note: "+foreign.Line(n, longestValue)))
		}
	}
	folders := map[string]string{}
	for _, s := range r.Sources {
		folders[s.Label] = s.Folder
	}
	for _, p := range r.Pairs {
		p.text(out, folders)
	}
	for _, one := range r.Alone {
		fmt.Fprintf(out, "\nonly in %s: %s %s %s (%s)\n", one.Label, one.Benchmark, one.Scenario, one.Mode, one.State)
	}
	if r.judged() {
		out.WriteString("\n" + IntervalNote(r.Confidence))
	}
	if g := r.Gate; g != nil {
		out.WriteString(g.Text())
	}
	for line := range strings.Lines(out.String()) {
		if _, err := fmt.Fprintln(w, strings.TrimRight(line, " \n")); err != nil {
			return err
		}
	}
	return nil
}

// IntervalNote explains the intervals of a comparison, in lines of at most 80 columns.
func IntervalNote(confidence float64) string {
	return fmt.Sprintf("Intervals: %.4g %% for all rows of a pair together. They cover the variation within\n"+
		"the runs, not that from run to run (docs/explanation/comparison.md).\n", 100*confidence)
}

// textWidth is the width of a terminal in characters.
const textWidth = 80

// wrapped returns a note in lines of at most textWidth.
func wrapped(indent, text string) string {
	var b strings.Builder
	var length int
	for i, word := range strings.Fields(text) {
		if i > 0 && length+1+utf8.RuneCountInString(word) > textWidth {
			b.WriteString("\n  " + indent)
			length = 2 + len(indent)
		} else if i > 0 {
			b.WriteByte(' ')
			length++
		} else {
			b.WriteString(indent)
			length = len(indent)
		}
		b.WriteString(word)
		length += utf8.RuneCountInString(word)
	}
	return b.String() + "\n"
}

// Text returns what the gate found, and its verdict.
func (g *Gate) Text() string {
	var out strings.Builder
	for _, f := range g.Failures {
		fmt.Fprintf(&out, "\ngate: %s", f)
	}
	fmt.Fprintf(&out, "\n%s\n", g.Verdict())
	return out.String()
}

// Verdict returns the verdict of the gate with its threshold, in one line.
func (g *Gate) Verdict() string {
	return fmt.Sprintf("gate: %s (threshold %.4g %%)", g.Word(), 100*g.Threshold)
}

// Word returns the verdict of the gate in one word.
func (g *Gate) Word() string {
	if g.Passed {
		return "passed"
	}
	return "FAILED"
}

// judged reports whether any row has an interval.
func (r *Report) judged() bool {
	for _, p := range r.Pairs {
		for _, row := range p.Rows {
			if row.Interval != nil && row.Interval.Resamples > 0 {
				return true
			}
		}
	}
	return false
}

// text writes the pair. folders are those of the labels.
func (p *Pair) text(out *strings.Builder, folders map[string]string) {
	fmt.Fprintf(out, "\n%s\n", p.name())
	if len(p.Differences) > 0 {
		fmt.Fprintln(out, "\n  settings that differ")
	}
	for _, d := range p.Differences {
		name, base, other := d.Name, d.shown(d.Base), d.shown(d.Other)
		if d.Group != configGroup {
			name = d.Group + " " + name
		}
		if utf8.RuneCountInString(base) <= inOneLine && utf8.RuneCountInString(other) <= inOneLine {
			fmt.Fprintf(out, "    %-24s %s -> %s\n", name, base, other)
			continue
		}
		fmt.Fprintf(out, "    %s\n      %s  %s\n      %s  %s\n", name, p.BaseLabel, base, p.OtherLabel, other)
	}
	for _, why := range p.NotRanked {
		out.WriteString("\n" + wrapped("  ", "not ranked: "+foreign.Line(why, longestValue)))
	}
	p.table(out, folders)
	for _, side := range []struct{ label, accuracy string }{{p.BaseLabel, p.Base.Accuracy},
		{p.OtherLabel, p.Other.Accuracy}} {
		if side.accuracy != "" {
			out.WriteString(wrapped("  ", "accuracy of "+side.label+": "+foreign.Line(side.accuracy, longestValue)))
		}
	}
	for _, n := range p.notes() {
		out.WriteString(wrapped("  ", "note: "+foreign.Line(n, longestValue)))
	}
}

// table writes the rows, if there are any. Their columns have the names of the folders if there is room.
func (p *Pair) table(out *strings.Builder, folders map[string]string) {
	fmt.Fprintln(out)
	if len(p.Rows) == 0 {
		return
	}
	text := p.rowsUnder(Headings(p.BaseLabel, folders[p.BaseLabel], p.OtherLabel, folders[p.OtherLabel]))
	for line := range strings.Lines(text) {
		if utf8.RuneCountInString(strings.TrimRight(line, " \n")) > textWidth {
			text = p.rowsUnder(p.BaseLabel, p.OtherLabel)
			break
		}
	}
	out.WriteString(text)
}

// longestName limits the name of a folder in a heading, in characters.
const longestName = 16

// Headings returns the headings of two columns: the labels with the names of their folders, such as "A monday", or the
// labels alone if the names are equal or long.
func Headings(labelA, folderA, labelB, folderB string) (a, b string) {
	nameA, nameB := filepath.Base(filepath.Clean(folderA)), filepath.Base(filepath.Clean(folderB))
	if nameA == nameB || utf8.RuneCountInString(nameA) > longestName || utf8.RuneCountInString(nameB) > longestName {
		return labelA, labelB
	}
	return labelA + " " + foreign.Line(nameA, longestValue), labelB + " " + foreign.Line(nameB, longestValue)
}

func (p *Pair) rowsUnder(a, b string) string {
	var out strings.Builder
	t := tabwriter.NewWriter(&out, 0, 8, 2, ' ', 0)
	fmt.Fprintf(t, "  \t%s\t%s\tchange\tinterval\t\n", a, b)
	for _, row := range p.Rows {
		fmt.Fprintf(t, "  %s (%s)\t%s\t%s\t%s\t%s\t%s\n", row.Name, row.Unit, digits(row.Base), digits(row.Other),
			row.ChangeText(), row.IntervalText(), row.Word())
	}
	_ = t.Flush() // a strings.Builder does not fail
	return out.String()
}

// notes returns those of the pair and the reasons why rows are not judged, each once.
func (p *Pair) notes() []string {
	list := append([]string{}, p.Notes...)
	var reasons []string
	rows := map[string][]string{}
	for _, row := range p.Rows {
		if row.Interval == nil && row.Why != "" && len(p.NotRanked) == 0 {
			if rows[row.Why] == nil {
				reasons = append(reasons, row.Why)
			}
			rows[row.Why] = append(rows[row.Why], row.Name)
		}
	}
	for _, why := range reasons {
		list = append(list, strings.Join(rows[why], ", ")+": "+why)
	}
	return list
}

func (d *Difference) shown(v string) string {
	if v == "" {
		return "(not set)"
	}
	return foreign.Line(v, longestValue)
}

// Word returns the verdict in one word. A change without an interval is unknown; a row that is not ranked has no
// change.
func (row *Row) Word() string {
	switch {
	case row.Verdict == Same:
		return "noise?"
	case row.Verdict == NotJudged && row.Change == nil:
		return ""
	case row.Verdict == NotJudged:
		return "unknown"
	}
	return string(row.Verdict)
}

// ChangeText is the change in percent.
func (row *Row) ChangeText() string {
	if row.Change == nil {
		return ""
	}
	return Percent(*row.Change)
}

// Percent is a change in percent with its sign.
func Percent(change float64) string { return signed(change) + " %" }

// IntervalText is the interval in percent.
func (row *Row) IntervalText() string {
	if row.Interval == nil {
		return ""
	}
	return signed(row.Interval.Low) + " to " + signed(row.Interval.High) + " %"
}

// signed is a share in percent. A rounded zero is positive.
func signed(share float64) string { return fmt.Sprintf("%+.1f", math.Round(1000*share)/10+0) }

// digits returns four significant digits, and all of whole numbers.
func digits(v *float64) string {
	switch {
	case v == nil:
		return "-"
	case math.Abs(*v) >= 1e4:
		return strconv.FormatFloat(*v, 'f', 0, 64)
	}
	return strconv.FormatFloat(*v, 'g', 4, 64)
}
