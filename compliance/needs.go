package compliance

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/rounds"
)

// Need reports whether a benchmark needs a test in a round, and why.
type Need struct {
	Test   string `json:"test"`
	Needed bool   `json:"needed"`
	Why    string `json:"why"`
}

// purposes describes each test. The descriptions also explain why other benchmarks do not need the test.
var purposes = map[string]string{
	Test01: "compares single answers with those of the accuracy run, which requires a deterministic model; the " +
		"rules require it for vision, graph, speech and recommendation models",
	Test04: "looks for cached answers; the rules require it for vision and diffusion models",
	Test06: "checks end tokens, first tokens and token counts of language models that use one data set for accuracy " +
		"and performance",
	Test07: "scores a separate data set under performance settings if the accuracy and performance data sets differ",
	Test08: "compares the entropy of recommendations; the rules require it for one recommendation model",
	Test09: "checks the mean output length if accuracy and performance tests use different settings",
}

// Needs returns every test for a benchmark (its checker name) in a round and a division. A required test must be run
// for every submitted scenario. An unknown benchmark or round is an error.
func Needs(benchmark, round, division string) ([]Need, error) {
	r, err := rounds.Find(round)
	if err != nil {
		return nil, err
	}
	if known := Benchmarks(); !slices.Contains(known, benchmark) && !slices.Contains(known, family(benchmark)) {
		return nil, fmt.Errorf("unknown benchmark %q: use one of %s", benchmark,
			strings.Join(known, ", "))
	}
	needs := make([]Need, 0, len(purposes))
	for _, test := range Tests() {
		needs = append(needs, need(test, benchmark, r, division))
	}
	return needs, nil
}

// InRound reports whether a round has a benchmark.
func InRound(benchmark, round string) bool {
	r, err := rounds.Find(round)
	return err == nil && inRound(benchmark, r)
}

func inRound(benchmark string, r *rounds.Round) bool {
	if r.Benchmark(benchmark) != nil {
		return true
	}
	for _, others := range r.OtherAudits {
		if slices.Contains(others, family(benchmark)) {
			return true
		}
	}
	return false
}

func need(test, benchmark string, r *rounds.Round, division string) Need {
	n := Need{Test: test}
	named := slices.Contains(r.OtherAudits[test], family(benchmark))
	if b := r.Benchmark(benchmark); b != nil {
		named = slices.Contains(b.Audits, test)
	}
	switch {
	case !inRound(benchmark, r):
		n.Why = fmt.Sprintf("%s is not in round %s", benchmark, r.Name)
	case named && strings.EqualFold(division, "open"):
		n.Why = "the open division needs no audit"
	case named:
		n.Needed, n.Why = true, fmt.Sprintf("round %s requires it for %s, in every submitted scenario: it %s", r.Name,
			benchmark, purposes[test])
	default:
		n.Why = fmt.Sprintf("round %s does not require it for %s: it %s", r.Name, benchmark, purposes[test])
	}
	return n
}

// Benchmarks returns the names of the benchmarks with known audits: those of all rounds and the retired ones. A name
// without an accuracy target means all targets of the benchmark.
func Benchmarks() []string {
	var names, others []string
	add := func(list *[]string, name string) {
		if !slices.Contains(names, name) && !slices.Contains(*list, name) {
			*list = append(*list, name)
		}
	}
	for _, r := range rounds.All() {
		for _, b := range r.Benchmarks {
			add(&names, b.Name)
		}
		for _, test := range Tests() {
			for _, b := range r.OtherAudits[test] {
				add(&others, b)
			}
		}
	}
	for _, row := range models.Rows() {
		if row.Retired {
			add(&others, row.Name)
		}
	}
	return append(names, others...)
}
