package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// minDurationMS is the shortest run of the rules, in milliseconds
// (docs/reference/submission-rules.md#performance-settings).
const minDurationMS = 600_000

// performanceRules look at how the performance run was set up
// (docs/reference/submission-rules.md#performance-settings).
var performanceRules = []Rule{
	{ID: "performance-sample-count", Class: Rehearsal, Severity: Error, level: resultLevel, when: []condition{loadgen},
		Advice: "run with the benchmark's whole data set in memory", look: performanceSampleCount},
	{ID: "seed-qsl", Class: Run, Severity: Error, level: resultLevel, when: []condition{loadgen},
		Advice: "run with the round's seeds and no override",
		look:   seed("effective_qsl_rng_seed", func(c *checker) uint64 { return c.round.Seeds.QSL })},
	{ID: "seed-sample-index", Class: Run, Severity: Error, level: resultLevel, when: []condition{anyClient},
		Advice: "run with the round's seeds and no override",
		look:   seed("effective_sample_index_rng_seed", func(c *checker) uint64 { return c.round.Seeds.SampleIndex })},
	{ID: "seed-schedule", Class: Run, Severity: Error, level: resultLevel, when: []condition{anyClient},
		Advice: "run with the round's seeds and no override",
		look:   seed("effective_schedule_rng_seed", func(c *checker) uint64 { return c.round.Seeds.Schedule })},
	{ID: "min-queries", Class: Rehearsal, Severity: Error, level: resultLevel, when: []condition{loadgen, countsQueries},
		Advice: "take min_query_count out of user.conf", look: minQueries},
	{ID: "offline-samples", Class: Rehearsal, Severity: Error, level: resultLevel,
		when:   []condition{loadgen, offlineLog, closedOnly},
		Advice: "run the whole data set: min_query_count of Offline in user.conf", look: offlineSamples},
	{ID: "min-duration", Class: Rehearsal, Severity: Error, level: resultLevel, when: []condition{anyClient},
		Advice: "run with min_duration 600000 or more", look: minDuration},
	{ID: "network-sut-name", Class: Run, Severity: Error, level: resultLevel, when: []condition{loadgen},
		Advice: `run with --network-sut: the name of the system under test holds "Network SUT"`, look: networkSUTName},
	{ID: "token-latencies", Class: Run, Severity: Error, level: resultLevel, when: []condition{anyClient, isLLM},
		Advice: "run with use_token_latencies on", look: tokenLatencies},
	{ID: "equal-issue", Class: Run, Severity: Error, Strict: true, level: resultLevel, when: []condition{loadgen, isLLM},
		Advice: "run with sample_concatenate_permutation on", look: equalIssue},
	{ID: "inferred", Class: Run, Severity: Error, level: resultLevel, when: []condition{anyClient},
		Advice: "put the log of the folder's own scenario there; only edge systems may infer, and only SingleStream to " +
			"MultiStream or Offline, MultiStream to Offline", look: inferredResult},
}

func performanceSampleCount(s *scope, breach say) {
	s.atLeast(s.result.performance, "effective_performance_sample_count", float64(s.model().PerformanceCount), breach)
}

// atLeast asks for a number that is no smaller than a bound.
func (s *scope) atLeast(d *detail, key string, bound float64, breach say) {
	if v, ok := d.number(key); !ok || v < bound {
		breach(d.path, key, orNothing(d.value(key)), fmt.Sprintf("at least %.0f", bound))
	}
}

// seed asks for exactly the round's value; it may be above the largest signed integer.
func seed(key string, of func(*checker) uint64) func(*scope, say) {
	return func(s *scope, breach say) {
		want, found := of(s.checker), s.result.performance.value(key)
		if !equalsInt(found, want) {
			breach(s.result.performance.path, key, orNothing(found), want)
		}
	}
}

func minQueries(s *scope, breach say) {
	s.atLeast(s.result.performance, "effective_min_query_count", 1, breach)
}

func offlineSamples(s *scope, breach say) {
	s.atLeast(s.result.performance, "effective_samples_per_query", float64(s.model().OfflineSamples), breach)
}

func minDuration(s *scope, breach say) {
	if !s.model().AnyDuration {
		s.atLeast(s.result.performance, "effective_min_duration_ms", minDurationMS, breach)
	}
}

func networkSUTName(s *scope, breach say) {
	const part = "Network SUT"
	if yes, _ := s.networked(); yes && !strings.Contains(s.result.performance.text("sut_name"), part) {
		breach(s.result.performance.path, "sut_name", s.result.performance.value("sut_name"), "a name with "+part)
	}
}

func tokenLatencies(s *scope, breach say) {
	if d := s.result.performance; !d.is("requested_use_token_latencies") {
		breach(d.path, "requested_use_token_latencies", orNothing(d.value("requested_use_token_latencies")), true)
	}
}

func equalIssue(s *scope, breach say) {
	if d := s.result.performance; !d.is("effective_sample_concatenate_permutation") {
		breach(d.path, "effective_sample_concatenate_permutation",
			orNothing(d.value("effective_sample_concatenate_permutation")), true)
	}
}

func inferredResult(s *scope, breach say) {
	if d := s.result.performance; !s.mayHold(d) {
		breach(d.path, "effective_scenario", orNothing(d.value("effective_scenario")), s.name)
	}
}

// mayHold reports whether the folder may hold a log of that scenario: its own, or one that an edge system infers from.
func (s *scope) mayHold(d *detail) bool {
	ran := d.scenario()
	if !s.inferred(ran) {
		return true
	}
	kind, _ := s.sut().text("system_type")
	return strings.Contains(strings.ToLower(kind), "edge") &&
		inferable[[2]string{strings.ToLower(ran), strings.ToLower(s.name)}]
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
