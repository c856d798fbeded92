package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// minDurationMS is the minimum duration of a run in milliseconds
// (docs/reference/submission-rules.md#performance-settings).
const minDurationMS = 600_000

// performanceRules check the settings of the performance run
// (docs/reference/submission-rules.md#performance-settings).
var performanceRules = atLevel(resultLevel,
	Rule{ID: "performance-sample-count", Class: Rehearsal, when: []condition{loadgen}, check: performanceSampleCount,
		Advice: "run with the benchmark's whole data set in memory"},
	Rule{ID: "seed-qsl", Class: Run, when: []condition{loadgen},
		check:  seed("effective_qsl_rng_seed", func(c *checker) uint64 { return c.round.Seeds.QSL }),
		Advice: "run with the round's seeds and no override"},
	Rule{ID: "seed-sample-index", Class: Run, when: []condition{anyClient},
		check:  seed("effective_sample_index_rng_seed", func(c *checker) uint64 { return c.round.Seeds.SampleIndex }),
		Advice: "run with the round's seeds and no override"},
	Rule{ID: "seed-schedule", Class: Run, when: []condition{anyClient},
		check:  seed("effective_schedule_rng_seed", func(c *checker) uint64 { return c.round.Seeds.Schedule }),
		Advice: "run with the round's seeds and no override"},
	Rule{ID: "min-queries", Class: Rehearsal, when: []condition{loadgen, countsQueries}, check: minQueries,
		Advice: "remove min_query_count from user.conf"},
	Rule{ID: "offline-samples", Class: Rehearsal, when: []condition{loadgen, offlineLog, closedOnly},
		check:  offlineSamples,
		Advice: "run the whole data set: min_query_count of Offline in user.conf"},
	Rule{ID: "min-duration", Class: Rehearsal, when: []condition{anyClient}, check: minDuration,
		Advice: "run with min_duration 600000 or more"},
	Rule{ID: "network-sut-name", Class: Run, when: []condition{loadgen}, check: networkSUTName,
		Advice: `run with --network-sut: the name of the system under test holds "Network SUT"`},
	Rule{ID: "token-latencies", Class: Run, when: []condition{anyClient, isLLM}, check: tokenLatencies,
		Advice: "run with use_token_latencies on"},
	Rule{ID: "equal-issue", Class: Run, Strict: true, when: []condition{loadgen, isLLM}, check: equalIssue,
		Advice: "run with sample_concatenate_permutation on"},
	Rule{ID: "inferred", Class: Run, when: []condition{anyClient}, check: inferredResult,
		Advice: "put the log of the folder's own scenario there; only edge systems may infer, and only SingleStream " +
			"to MultiStream or Offline, MultiStream to Offline"},
)

func performanceSampleCount(s *scope, breach breachFunc) {
	s.result.performance.atLeast("effective_performance_sample_count", float64(s.model().PerformanceCount), breach)
}

// atLeast requires a number that is not smaller than a bound.
func (d *detail) atLeast(key string, bound float64, breach breachFunc) {
	if v, ok := d.number(key); !ok || v < bound {
		breach(d.path, key, orNothing(d.value(key)), fmt.Sprintf("at least %.0f", bound))
	}
}

// seed requires exactly the round's value, which may exceed the largest signed integer.
func seed(key string, of func(*checker) uint64) func(*scope, breachFunc) {
	return func(s *scope, breach breachFunc) {
		want, found := of(s.checker), s.result.performance.value(key)
		if !equalsInt(found, want) {
			breach(s.result.performance.path, key, orNothing(found), want)
		}
	}
}

func minQueries(s *scope, breach breachFunc) {
	s.result.performance.atLeast("effective_min_query_count", 1, breach)
}

func offlineSamples(s *scope, breach breachFunc) {
	s.result.performance.atLeast("effective_samples_per_query", float64(s.model().OfflineSamples), breach)
}

func minDuration(s *scope, breach breachFunc) {
	if !s.model().AnyDuration {
		s.result.performance.atLeast("effective_min_duration_ms", minDurationMS, breach)
	}
}

func networkSUTName(s *scope, breach breachFunc) {
	const part = "Network SUT"
	if yes, _ := s.sut().networked(); yes && !strings.Contains(s.result.performance.text("sut_name"), part) {
		breach(s.result.performance.path, "sut_name", s.result.performance.value("sut_name"), "a name with "+part)
	}
}

func tokenLatencies(s *scope, breach breachFunc) {
	if d := s.result.performance; !d.is("requested_use_token_latencies") {
		breach(d.path, "requested_use_token_latencies", orNothing(d.value("requested_use_token_latencies")), true)
	}
}

func equalIssue(s *scope, breach breachFunc) {
	if d := s.result.performance; !d.is("effective_sample_concatenate_permutation") {
		breach(d.path, "effective_sample_concatenate_permutation",
			orNothing(d.value("effective_sample_concatenate_permutation")), true)
	}
}

func inferredResult(s *scope, breach breachFunc) {
	if d := s.result.performance; !s.mayHold(d) {
		breach(d.path, "effective_scenario", orNothing(d.value("effective_scenario")), s.name)
	}
}

// mayHold reports whether the folder may contain the log: one of its scenario, or one from which an edge system may
// infer the result.
func (s *scope) mayHold(d *detail) bool {
	ran := d.scenario()
	if !isInferred(ran, s.name) {
		return true
	}
	kind, _ := s.sut().text("system_type")
	return strings.Contains(strings.ToLower(kind), "edge") &&
		inferable[[2]string{strings.ToLower(ran), strings.ToLower(s.name)}]
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
