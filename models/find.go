package models

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf-go/internal/config"
)

// Match is the result of Find.
type Match struct {
	Row         *Row
	Scenario    Scenario // Interactive if the name was an -interactive one, else ""
	ServedModel string   // the name as typed if it was a Hugging Face id, else ""
	Notice      string   // line to print if the name differs from the row's, else ""
}

// NameError reports a name that matches no benchmark, or several.
type NameError struct {
	Name       string
	Ambiguous  bool
	Candidates []string // similar names, or the benchmarks that an ambiguous name matches
}

func (e *NameError) Error() string {
	if e.Ambiguous {
		return fmt.Sprintf("model %q matches several benchmarks: use one of %s", e.Name, strings.Join(e.Candidates, ", "))
	}
	near := "no known name is similar"
	if len(e.Candidates) > 0 {
		near = "similar names are " + strings.Join(e.Candidates, ", ")
	}
	return fmt.Sprintf("unknown model %q: %s; `mlperf-go models` lists all benchmarks, and --model %s --served-model "+
		"NAME runs any other model", e.Name, near, Generic)
}

// servedOwner maps a Hugging Face id that several rows serve to the row that it selects. The edge benchmark is selected
// only by its own name.
var servedOwner = map[string]string{
	"meta-llama/llama-3.1-8b-instruct":      "llama3.1-8b",
	"meta-llama/meta-llama-3.1-8b-instruct": "llama3.1-8b",
}

// Find returns the benchmark with that name.
//
// Letter case, "-", "_" and "." are ignored. An -interactive name also selects the scenario, and a Hugging Face id the
// served model. An unknown or ambiguous name is a *NameError.
func Find(name string) (Match, error) {
	if strings.Contains(name, "/") {
		return findServed(name)
	}
	key := squeeze(name)
	if hits := named(key); len(hits) > 0 {
		return oneOf(name, hits, "")
	}
	if base, found := withoutInteractive(key); found {
		if hits := slices.DeleteFunc(named(base), func(r *Row) bool { return !r.has(Interactive) }); len(hits) > 0 {
			return oneOf(name, hits, Interactive)
		}
	}
	return Match{}, &NameError{Name: name, Candidates: nearest(name)}
}

func findServed(id string) (Match, error) {
	var hits []*Row
	for _, r := range rows {
		if slices.ContainsFunc(r.ServedModels, func(m string) bool { return strings.EqualFold(m, id) }) {
			hits = append(hits, r)
		}
	}
	if owner := servedOwner[strings.ToLower(id)]; owner != "" {
		hits = slices.DeleteFunc(hits, func(r *Row) bool { return r.Name != owner })
	}
	if len(hits) == 0 {
		return Match{}, &NameError{Name: id, Candidates: nearest(id)}
	}
	m, err := oneOf(id, hits, "")
	if err != nil {
		return Match{}, err
	}
	m.ServedModel = id
	m.Notice = fmt.Sprintf("model %s: benchmark %s, served model name %s", id, m.Row.Name, id)
	return m, nil
}

// oneOf returns the only row of hits, with a notice if name differs from the row's name. It returns an error if hits
// has several rows.
func oneOf(name string, hits []*Row, s Scenario) (Match, error) {
	if len(hits) > 1 {
		e := &NameError{Name: name, Ambiguous: true}
		for _, r := range hits {
			e.Candidates = append(e.Candidates, r.Name)
		}
		return Match{}, e
	}
	m := Match{Row: hits[0], Scenario: s}
	switch {
	case s != "":
		m.Notice = fmt.Sprintf("model %s: benchmark %s, scenario %s", name, m.Row.Name, s)
	case !strings.EqualFold(name, m.Row.Name):
		m.Notice = fmt.Sprintf("model %s: benchmark %s", name, m.Row.Name)
	}
	return m, nil
}

// ambiguous maps names to pairs of rows that differ only in the accuracy target.
var ambiguous = map[string][]*Row{
	"llama270b":       {&llama2_70b99, &llama2_70b999},
	"llama270bchat":   {&llama2_70b99, &llama2_70b999},
	"llama270bchathf": {&llama2_70b99, &llama2_70b999},
}

// named returns the rows with a name or alias that squeezes to key.
func named(key string) []*Row {
	for _, r := range rows {
		if squeeze(r.Name) == key || slices.ContainsFunc(r.Aliases, func(a string) bool { return squeeze(a) == key }) {
			return []*Row{r}
		}
	}
	return slices.Clone(ambiguous[key])
}

// withoutInteractive removes the word "interactive" at any position: llama3_1-8b-interactive,
// llama2-70b-interactive-99.
func withoutInteractive(key string) (string, bool) {
	before, after, found := strings.Cut(key, "interactive")
	return before + after, found
}

var separators = strings.NewReplacer("_", "", "-", "", ".", "", " ", "")

// squeeze normalizes a name to lower case without separators.
func squeeze(s string) string {
	return separators.Replace(strings.ToLower(s))
}

// nearest returns the names of at most three rows that are similar to a name, or to the last part of an id.
func nearest(name string) []string {
	if found := nearestRows(name); len(found) > 0 {
		return found
	}
	return nearestRows(name[strings.LastIndex(name, "/")+1:])
}

func nearestRows(name string) []string {
	var candidates []string
	left := Rows()
	for len(candidates) < 3 {
		var known []string
		owner := map[string]string{}
		for _, r := range left {
			for _, n := range slices.Concat([]string{r.Name}, r.Aliases, r.ServedModels) {
				known = append(known, n)
				owner[n] = r.Name
			}
		}
		found := config.Nearest(name, known)
		if len(found) == 0 {
			break
		}
		best := owner[found[0]]
		candidates = append(candidates, best)
		left = slices.DeleteFunc(left, func(r *Row) bool { return r.Name == best })
	}
	return candidates
}
