package check

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"

	"github.com/mlperf-go/mlperf-go/internal/plural"
)

// JSON writes the report as one indented object.
func (r *Report) JSON(w io.Writer) error {
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	return out.Encode(r)
}

// Text writes the report for display: the findings with the errors first, then the results with tabs between their
// columns, then the verdict. What makes a tree a rehearsal follows its verdict, as one line per rule.
func (r *Report) Text(w io.Writer) error {
	out := bufio.NewWriter(w)
	for _, severity := range []Severity{Error, Warning} {
		for _, f := range r.Findings {
			if f.Severity == severity && !(r.Rehearsal && f.OfRehearsal()) {
				fmt.Fprintf(out, "%s\n\n", f)
			}
		}
	}
	for _, one := range r.Results {
		fmt.Fprintf(out, "%s\t%s\t%.6g %s\n", one.word(), shown(one.Path), one.Metric, one.Unit)
	}
	if len(r.Results) > 0 {
		fmt.Fprintln(out)
	}
	fmt.Fprintf(out, "round %s, %s rules: %s, %s\n", r.Round, r.Mode, r.counts(),
		plural.Count(r.Counts.Warnings, "warning", "warnings"))
	fmt.Fprintln(out, r.verdict())
	if r.Rehearsal {
		r.Shortfalls(out)
	}
	return out.Flush()
}

// OfRehearsal reports whether only a full run would not have the error.
func (f Finding) OfRehearsal() bool { return f.Severity == Error && f.Class == Rehearsal }

// Shortfalls writes the errors that make the tree a rehearsal, each rule once, with tabs between the columns.
func (r *Report) Shortfalls(w io.Writer) {
	type line struct {
		Finding
		places int
	}
	var lines []*line
	byRule := map[string]*line{}
	for _, f := range r.Findings {
		if !f.OfRehearsal() {
			continue
		}
		if known := byRule[f.Rule+f.Key]; known != nil {
			known.places++
			continue
		}
		l := &line{f, 1}
		byRule[f.Rule+f.Key] = l
		lines = append(lines, l)
	}
	for _, l := range lines {
		fmt.Fprintf(w, "  %s\t%s\t%s; a submission needs %s\t%s\n", l.Rule, l.Key, l.Found, l.Expected,
			plural.Count(l.places, "place", "places"))
	}
}

func (one Result) word() string {
	switch {
	case one.Valid:
		return "valid"
	case one.Rehearsal:
		return "rehearsal"
	}
	return "invalid"
}

// counts returns how many results are valid and how many errors there are. It leaves out the errors that make the tree
// a rehearsal.
func (r *Report) counts() string {
	if r.Rehearsal {
		return fmt.Sprintf("%s valid, %s%s; no other errors", plural.Count(r.Counts.Valid, "result", "results"),
			plural.Count(r.Counts.Invalid, "rehearsal", "rehearsals"), r.notJudged())
	}
	return fmt.Sprintf("%s valid, %d not%s; %s", plural.Count(r.Counts.Valid, "result", "results"), r.Counts.Invalid,
		r.notJudged(), plural.Count(r.Counts.Errors, "error", "errors"))
}

func (r *Report) notJudged() string {
	if r.Counts.NotJudged == 0 {
		return ""
	}
	return fmt.Sprintf(", %d not judged", r.Counts.NotJudged)
}

func (r *Report) verdict() string {
	switch {
	case r.Valid && r.Counts.NotJudged > 0:
		return "The submission is valid, except for results that were not judged."
	case r.Valid:
		return "The submission is valid."
	case r.OnlyRehearsal():
		return "The submission is a rehearsal and has no other errors. What makes it a rehearsal:"
	case r.Mode == Strict && r.shortened():
		return "The submission is not valid: all its errors come from short runs, but it is not marked as a rehearsal."
	}
	return "The submission is not valid."
}

// String returns the finding as one paragraph.
func (f Finding) String() string {
	where := shown(f.File)
	if f.Key != "" {
		where += ", " + f.Key
	}
	text := fmt.Sprintf("%s [%s, %s] %s: found %s", f.Severity, f.Rule, f.Class, where, f.Found)
	if f.Expected != "" {
		text += ", expected " + f.Expected
	}
	return text + "; " + f.Advice
}
