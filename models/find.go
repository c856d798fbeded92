package models

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf-go/internal/config"
)

// Match is the row that a name selects.
type Match struct {
	Row         *Row
	Scenario    Scenario // Interactive when the name was an -interactive one; else empty
	ServedModel string   // the name as typed when it was a Hugging Face id; else empty
	Notice      string   // one line to print when the name was not the row's own; else empty
}

// NameError reports a name that selects no benchmark, or several.
type NameError struct {
	Name       string
	Ambiguous  bool
	Candidates []string // nearest names, or the benchmarks that the name may mean
}

func (e *NameError) Error() string {
	if e.Ambiguous {
		return fmt.Sprintf("model %q is ambiguous: name one of %s", e.Name,
			strings.Join(e.Candidates, ", "))
	}
	near := "no known name is near it"
	if len(e.Candidates) > 0 {
		near = "the nearest known are " + strings.Join(e.Candidates, ", ")
	}
	return fmt.Sprintf("model %q is not in the registry: %s; `mlperf-go models` lists all, and any other served model "+
		"runs as --model %s --served-model NAME",
		e.Name, near, Generic)
}

// servedOwner names the row that a Hugging Face id selects if several rows serve that model. The edge benchmark is
// selected by its own name.
var servedOwner = map[string]string{
	"meta-llama/llama-3.1-8b-instruct":      "llama3.1-8b",
	"meta-llama/meta-llama-3.1-8b-instruct": "llama3.1-8b",
}

// Find returns the benchmark that a name selects.
//
// Letter case, "-", "_" and "." do not count. An -interactive name also selects the scenario, a Hugging Face id also
// the served model's name. An unknown or ambiguous name is a *NameError.
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

// oneOf refuses more than one row and writes the notice for a name that is not the row's own.
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

// ambiguous lists names that select two rows which differ only in the accuracy target.
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

// withoutInteractive removes the word at any position: llama3_1-8b-interactive, llama2-70b-interactive-99.
func withoutInteractive(key string) (string, bool) {
	before, after, found := strings.Cut(key, "interactive")
	return before + after, found
}

var separators = strings.NewReplacer("_", "", "-", "", ".", "", " ", "")

// squeeze returns a name in lower case without separators, the same for all its spellings.
func squeeze(s string) string {
	return separators.Replace(strings.ToLower(s))
}

// nearest compares a name, and the last part of an id, with every name of the registry, and returns the names of at
// most three rows.
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
