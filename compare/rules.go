package compare

import (
	"fmt"
	"slices"
	"strings"
)

// rule is a condition for comparing the figures of two results.
type rule struct {
	name string
	of   func(*Result) string // "": unknown, which is not a difference
}

// rules are the conditions under which two results are ranked.
var rules = []rule{
	{"test", func(r *Result) string { return r.Mode }},
	{"benchmark", func(r *Result) string { return r.Benchmark }},
	{"scenario", func(r *Result) string { return r.Scenario }},
	{"round", func(r *Result) string { return r.Round }},
	{"division", func(r *Result) string { return r.Division }},
	{"latency limits", func(r *Result) string { return r.Limits }},
	{"data set", func(r *Result) string { return r.Dataset }},
	{"number of rows", func(r *Result) string { return r.Rows }},
	{"sampling", func(r *Result) string { return r.Sampling }},
	{"served model", (*Result).servedGeneric},
	{"unit of the result", func(r *Result) string { return r.Unit }},
}

// servedGeneric is the model of a benchmark without one of its own.
func (r *Result) servedGeneric() string {
	if r.Benchmark == "generic" {
		return r.served
	}
	return ""
}

// refusals returns why two results are not ranked; none where they are.
func refusals(a, b *Result, labelA, labelB string) []string {
	list := []string{}
	for _, r := range rules {
		x, y := r.of(a), r.of(b)
		if x != "" && y != "" && x != y {
			list = append(list, fmt.Sprintf("different %s: %s and %s", r.name, short(x), short(y)))
		}
	}
	if (a.Dataset == "" || b.Dataset == "") && a.file != "" && b.file != "" && a.file != b.file {
		list = append(list, fmt.Sprintf("different data set: %s and %s", a.file, b.file))
	}
	switch {
	case a.Rehearsal == "yes" && b.Rehearsal == "no":
		list = append(list, "only "+labelA+" is a rehearsal")
	case a.Rehearsal == "no" && b.Rehearsal == "yes":
		list = append(list, "only "+labelB+" is a rehearsal")
	}
	for _, one := range []struct {
		label string
		*Result
	}{{labelA, a}, {labelB, b}} {
		if one.State != Valid {
			text := fmt.Sprintf("%s is %s", one.label, one.State)
			if len(one.Reasons) > 0 {
				text += " (" + strings.Join(one.Reasons, ", ") + ")"
			}
			list = append(list, text)
		}
	}
	return list
}

// shownHash is the length to which a hash is shortened.
const shownHash = 12

// short shortens a hash.
func short(v string) string {
	if len(v) == 64 && strings.Trim(v, "0123456789abcdef") == "" {
		return v[:shownHash] + "…"
	}
	return v
}

// Difference is a setting that two results do not share.
type Difference struct {
	Group string `json:"group"`
	Name  string `json:"name"`
	Base  string `json:"base"` // "": not set
	Other string `json:"other"`
}

// differences returns the settings that differ, in the order of the base. It skips groups that one result lacks.
// LoadGen's own settings repeat those of config.yaml.
func differences(a, b *Result) []Difference {
	has := func(r *Result, group string) bool {
		return slices.ContainsFunc(r.settings, func(s setting) bool { return s.group == group })
	}
	compared := func(group string) bool {
		return has(a, group) && has(b, group) &&
			!(group == loadgenGroup && has(a, configGroup) && has(b, configGroup))
	}
	values := func(r *Result) map[[2]string]string {
		m := map[[2]string]string{}
		for _, s := range r.settings {
			m[[2]string{s.group, s.name}] = s.value
		}
		return m
	}
	va, vb := values(a), values(b)
	list := []Difference{}
	for _, s := range slices.Concat(a.settings, b.settings) {
		key := [2]string{s.group, s.name}
		d := Difference{s.group, s.name, va[key], vb[key]}
		if compared(s.group) && d.Base != d.Other && !slices.Contains(list, d) {
			list = append(list, d)
		}
	}
	return list
}

// sameLoad reports whether two results were measured at the same rate of queries.
func sameLoad(a, b *Result) bool {
	for _, d := range differences(a, b) {
		if d.Name == "target-qps" || d.Name == "effective_target_qps" {
			return false
		}
	}
	return true
}
