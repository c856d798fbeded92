package compliance

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf-go/models"
)

// Need says whether a benchmark needs a test in a round, and why or why not.
type Need struct {
	Test   string `json:"test"`
	Needed bool   `json:"needed"`
	Why    string `json:"why"`
}

// purposes say what each test is for; they are the reason for leaving it out elsewhere.
var purposes = map[string]string{
	Test01: "compares single answers with the accuracy run's, which needs a model that always answers the same; the rules name it for vision, graph, speech and recommendation models",
	Test04: "looks for cached answers; the rules name it for vision and diffusion models",
	Test06: "checks end tokens, first tokens and token counts of language models whose accuracy and performance data sets are one",
	Test07: "scores a data set of its own under performance settings, where the accuracy and performance data sets differ",
	Test08: "compares the entropy of recommendations; the rules name it for one recommendation model",
	Test09: "checks the mean output length, where accuracy and performance run under different settings",
}

// Needs gives every test for a benchmark (its checker name) in a round, for one division. A needed test is due for every scenario that is
// submitted. An unknown benchmark or round is an error.
func Needs(benchmark, round, division string) ([]Need, error) {
	r, ok := models.FindRound(round)
	if !ok {
		return nil, fmt.Errorf("round %q is unknown: take one of %s", round, strings.Join(roundNames(), ", "))
	}
	if !slices.ContainsFunc(listings, func(l listing) bool { return l.names(benchmark) }) {
		return nil, fmt.Errorf("the benchmark %q is in no round: audits are known for %s", benchmark, strings.Join(Benchmarks(), ", "))
	}
	present := InRound(benchmark, r.Name)
	needs := make([]Need, 0, len(purposes))
	for _, test := range Tests() {
		needs = append(needs, need(test, benchmark, r.Name, division, present))
	}
	return needs, nil
}

// InRound says whether a round has a benchmark.
func InRound(benchmark, round string) bool {
	return slices.ContainsFunc(listings, func(l listing) bool { return l.holds(benchmark, round) })
}

func need(test, benchmark, round, division string, present bool) Need {
	n := Need{Test: test}
	named := slices.ContainsFunc(listings, func(l listing) bool { return l.test == test && l.holds(benchmark, round) })
	switch {
	case !present:
		n.Why = fmt.Sprintf("%s is not in round %s", benchmark, round)
	case named && strings.EqualFold(division, "open"):
		n.Why = "the open division needs no audit"
	case named:
		n.Needed, n.Why = true, fmt.Sprintf("round %s names it for %s, in every submitted scenario: it %s", round, benchmark, purposes[test])
	default:
		n.Why = fmt.Sprintf("round %s does not name it for %s: it %s", round, benchmark, purposes[test])
	}
	return n
}

func (l *listing) holds(benchmark, round string) bool {
	return slices.Contains(l.rounds, round) && l.names(benchmark)
}

func (l *listing) names(benchmark string) bool {
	return slices.Contains(l.benchmarks, benchmark) || slices.Contains(l.benchmarks, family(benchmark))
}

// Benchmarks are the names for which audits are known, in the order of the table.
func Benchmarks() []string {
	var names []string
	for _, l := range listings {
		for _, b := range l.benchmarks {
			if !slices.Contains(names, b) {
				names = append(names, b)
			}
		}
	}
	return names
}

func roundNames() []string {
	var names []string
	for _, r := range models.Rounds() {
		names = append(names, r.Name)
	}
	return names
}
