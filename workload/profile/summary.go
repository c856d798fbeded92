package profile

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Summary describes the load in one line, such as "poisson 1, 2, 4 /s × 120 s".
func (l *Load) Summary() string {
	if s := l.Sweep; s != nil {
		return fmt.Sprintf("sweep of %d stages × %s", s.Stages, secondsText(s.StageDuration.Seconds()))
	}
	var parts []string
	for i := 0; i < len(l.Stages); {
		end := i + 1
		for end < len(l.Stages) && alike(&l.Stages[end], &l.Stages[i]) {
			end++
		}
		parts = append(parts, group(l.Stages[i:end]))
		i = end
	}
	return strings.Join(parts, "; ")
}

func alike(a, b *Stage) bool { return a.Arrival == b.Arrival && a.Warmup == b.Warmup }

// group describes stages with the same arrival.
func group(stages []Stage) string {
	first := stages[0]
	text := string(first.Arrival)
	if first.Warmup {
		text = "warm-up " + text
	}
	rates, users := column(stages, func(s Stage) float64 { return s.Rate }),
		column(stages, func(s Stage) float64 { return float64(s.Concurrency) })
	if rates != "" {
		text += " " + rates + " /s"
	}
	if users != "" {
		text += ", " + users + " in flight"
	}
	if first.Arrival == Closed {
		text = strings.Replace(text, ", ", " ", 1)
	}
	if times := column(stages, func(s Stage) float64 { return s.Duration.Seconds() }); times != "" {
		text += " × " + times + " s"
	}
	if n := column(stages, func(s Stage) float64 { return float64(s.Requests) }); n != "" {
		text += " × " + n + " requests"
	}
	return text
}

// column lists the values of a key in stages: one if all are equal, a range if the list is long, nothing if it is
// unset.
func column(stages []Stage, key func(Stage) float64) string {
	values := make([]float64, len(stages))
	for i, s := range stages {
		values[i] = key(s)
	}
	low, high := slices.Min(values), slices.Max(values)
	const most = 8
	switch {
	case high == 0:
		return ""
	case low == high:
		return number(low)
	case len(values) > most:
		return number(low) + " to " + number(high)
	}
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = number(v)
	}
	return strings.Join(texts, ", ")
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }

func secondsText(s float64) string { return number(s) + " s" }

// Summary describes a distribution: a number, or a mean with its range.
func (d *Distribution) Summary() string {
	switch {
	case d == nil:
		return "as recorded"
	case d.Kind == "fixed":
		return number(d.Mean)
	case d.Kind == "uniform":
		return number(d.Min) + "–" + number(d.Max)
	case d.Max > 0:
		return fmt.Sprintf("%s (%s–%s)", number(d.Mean), number(d.Min), number(d.Max))
	}
	return fmt.Sprintf("%s ± %s", number(d.Mean), number(d.StdDev))
}

// Summary describes the data in one line, such as "random 384 (256–512) → 128".
func (d *Data) Summary() string {
	text := string(d.Kind)
	switch {
	case d.Kind == None:
		return "none"
	case d.Groups != nil:
		g := d.Groups
		text += fmt.Sprintf(" %d × %d, %s + %s → %s", g.Count, g.Users, g.System.Summary(), g.Question.Summary(),
			d.Output.Summary())
	case d.Turns != nil:
		text += fmt.Sprintf(" %d, turns %s, %s → %s", d.Turns.Conversations, d.Turns.Count.Summary(), d.Input.Summary(),
			d.Output.Summary())
	case d.Input != nil && d.Output == nil:
		text += " " + d.Input.Summary()
	case d.Input != nil:
		text += fmt.Sprintf(" %s → %s", d.Input.Summary(), d.Output.Summary())
	case d.Format != "":
		text += " " + string(d.Format)
	case d.Trace != nil:
		text += " " + d.Trace.Format
	}
	if d.Images != nil {
		text += ", images " + d.Images.Count.Summary()
	}
	return text
}
