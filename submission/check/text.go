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
// columns, then the verdict.
func (r *Report) Text(w io.Writer) error {
	out := bufio.NewWriter(w)
	for _, severity := range []Severity{Error, Warning} {
		for _, f := range r.Findings {
			if f.Severity == severity {
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
	fmt.Fprintf(out, "round %s, %s rules: %s valid, %d not%s; %s, %s\n",
		r.Round, r.Mode, plural.Count(r.Counts.Valid, "result", "results"), r.Counts.Invalid, r.notJudged(),
		plural.Count(r.Counts.Errors, "error", "errors"), plural.Count(r.Counts.Warnings, "warning", "warnings"))
	fmt.Fprintln(out, r.verdict())
	return out.Flush()
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
		return "The submission is a rehearsal: its only errors are durations, counts and totals of short runs."
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
