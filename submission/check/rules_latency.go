package check

import (
	"fmt"
	"time"

	"github.com/mlperf-go/mlperf-go/models"
)

// latencyRules look at early stopping and the tails (docs/reference/submission-rules.md#latency).
var latencyRules = []Rule{
	{ID: "early-stopping", Class: Run, Severity: Error, level: resultLevel, when: []condition{loadgen, stopsEarly},
		Advice: "run longer or with more queries, or at a lower target_qps: LoadGen's message says how many more",
		look:   earlyStopping},
	{ID: "latency-bound", Class: Run, Severity: Error, level: resultLevel, when: []condition{loadgen, stopsEarly},
		Advice: "take target_latency out of user.conf", look: latencyBound},
	{ID: "latency", Class: Run, Severity: Error, level: resultLevel, when: []condition{anyClient},
		Advice: "run at a lower load", look: latency},
	{ID: "ttft-tpot", Class: Run, Severity: Error, level: resultLevel, when: []condition{anyClient, isLLM},
		Advice: "run at a lower target_qps", look: ttftTPOT},
	{ID: "folder-ttft-tpot", Class: Run, Severity: Error, Strict: true, level: resultLevel,
		when: []condition{loadgen, isLLM},
		Advice: "run at a lower target_qps: an Interactive folder has Interactive's limits, which the official checker " +
			"does not look at", look: folderTTFTTPOT},
	{ID: "folder-latency-bound", Class: Run, Severity: Error, Strict: true, level: resultLevel,
		when:   []condition{loadgen, stopsEarly},
		Advice: "run with the folder's own target_latency", look: folderLatencyBound},
	{ID: "configured-limits", Class: Run, Severity: Warning, Strict: true, level: resultLevel,
		when: []condition{loadgen, isLLM, stopsEarly},
		Advice: "run under the LoadGen model key of the folder's scenario: LoadGen's own early stopping used other limits " +
			"than the round's", look: configuredLimits},
}

func earlyStopping(s *scope, breach say) {
	d := s.result.performance
	if d.is("early_stopping_met") {
		return
	}
	found := fmt.Sprint(orNothing(d.value("early_stopping_met")))
	if text := d.text("early_stopping_result"); text != "" {
		found += ": " + text
	}
	breach(d.path, "early_stopping_met", found, true)
}

func latencyBound(s *scope, breach say) {
	s.atMost("effective_target_latency_ns", s.result.performance.scenario(), breach)
}

func folderLatencyBound(s *scope, breach say) {
	if folder := canonical(s.name); folder != s.result.performance.scenario() && !s.model().isLLM() {
		s.atMost("effective_target_latency_ns", folder, breach)
	}
}

// latency is for logs without early stopping; of the benchmarks here only another client's have a bound.
func latency(s *scope, breach say) {
	switch {
	case !s.result.otherClient && stopsEarly(s):
	case s.result.otherClient && !isLLM(s):
		s.atMost(latencyKey, canonical(s.name), breach)
	case !s.result.otherClient:
		s.atMost(latencyKey, s.result.performance.scenario(), breach)
	}
}

// atMost asks for the scenario's bound of the whole answer's latency, where it has one.
func (s *scope) atMost(key, scenario string, breach say) {
	bound, ok := s.model().TargetLatencyNS[models.Scenario(scenario)]
	if !ok {
		return
	}
	d := s.result.performance
	if v, ok := d.number(key); !ok || v > float64(bound) {
		breach(d.path, key, orNothing(d.value(key)), fmt.Sprintf("at most %d", bound))
	}
}

// ttftTPOT goes by the log's scenario, so that Interactive, a Server log, has Server's limits; another client's by the
// folder's.
func ttftTPOT(s *scope, breach say) {
	scenario := s.result.performance.scenario()
	if s.result.otherClient {
		scenario = canonical(s.name)
	}
	s.below(scenario, breach)
}

func folderTTFTTPOT(s *scope, breach say) {
	if folder := canonical(s.name); folder != s.result.performance.scenario() {
		s.below(folder, breach)
	}
}

func (s *scope) below(scenario string, breach say) {
	ttft, tpot, ok := s.model().limits(scenario)
	if !ok || (scenario != "Server" && scenario != "Interactive") {
		return
	}
	d := s.result.performance
	for _, tail := range []struct {
		key   string
		limit time.Duration
	}{{ttftKey, ttft}, {tpotKey, tpot}} {
		if v, ok := d.number(tail.key); !ok || v >= float64(tail.limit) {
			breach(d.path, tail.key, orNothing(d.value(tail.key)),
				fmt.Sprintf("less than %d ns (%s of %s)", tail.limit, tail.limit, scenario))
		}
	}
}

func configuredLimits(s *scope, breach say) {
	ttft, tpot, ok := s.model().limits(canonical(s.name))
	if !ok {
		return
	}
	d := s.result.performance
	for _, told := range []struct {
		key   string
		limit time.Duration
	}{{"requested_server_ttft_latency", ttft}, {"requested_server_tpot_latency", tpot}} {
		if v, ok := d.number(told.key); ok && v > float64(told.limit) {
			breach(d.path, told.key, d.value(told.key), fmt.Sprintf("at most %d", told.limit))
		}
	}
}
