package check

import (
	"fmt"
	"time"

	"github.com/mlperf-go/mlperf-go/models"
)

// latencyRules check early stopping and tail latencies (docs/reference/submission-rules.md#latency).
var latencyRules = atLevel(resultLevel,
	Rule{ID: "early-stopping", Class: Run, when: []condition{loadgen, stopsEarly}, check: earlyStopping,
		Advice: "run longer or with more queries, or at a lower target_qps: LoadGen's message states how many more"},
	Rule{ID: "latency-bound", Class: Run, when: []condition{loadgen, stopsEarly}, check: latencyBound,
		Advice: "remove target_latency from user.conf"},
	Rule{ID: "latency", Class: Run, when: []condition{anyClient}, check: latency,
		Advice: "run at a lower load"},
	Rule{ID: "ttft-tpot", Class: Run, when: []condition{anyClient, isLLM}, check: ttftTPOT,
		Advice: "run at a lower target_qps"},
	Rule{ID: "folder-ttft-tpot", Class: Run, Strict: true, when: []condition{loadgen, isLLM}, check: folderTTFTTPOT,
		Advice: "run at a lower target_qps: an Interactive folder has Interactive's limits, which the official " +
			"checker does not look at"},
	Rule{ID: "folder-latency-bound", Class: Run, Strict: true, when: []condition{loadgen, stopsEarly},
		check:  folderLatencyBound,
		Advice: "run with the folder's own target_latency"},
	Rule{ID: "configured-limits", Class: Run, Severity: Warning, Strict: true,
		when:  []condition{loadgen, isLLM, stopsEarly},
		check: configuredLimits,
		Advice: "run under the LoadGen model key of the folder's scenario: LoadGen's own early stopping used other " +
			"limits than the round's"},
)

func earlyStopping(s *scope, breach breachFunc) {
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

func latencyBound(s *scope, breach breachFunc) {
	s.atMost("effective_target_latency_ns", s.result.performance.scenario(), breach)
}

func folderLatencyBound(s *scope, breach breachFunc) {
	if folder := canonical(s.name); folder != s.result.performance.scenario() {
		s.atMost("effective_target_latency_ns", folder, breach)
	}
}

// latency checks logs without early stopping; only results of another client have a bound.
func latency(s *scope, breach breachFunc) {
	switch {
	case !s.result.otherClient && stopsEarly(s):
	case s.result.otherClient && !isLLM(s):
		s.atMost(latencyKey, canonical(s.name), breach)
	case !s.result.otherClient:
		s.atMost(latencyKey, s.result.performance.scenario(), breach)
	}
}

// atMost checks the scenario's bound on the latency of whole answers, if it has one.
func (s *scope) atMost(key, scenario string, breach breachFunc) {
	bound, ok := s.model().TargetLatencyNS[models.Scenario(scenario)]
	if !ok {
		return
	}
	d := s.result.performance
	if v, ok := d.number(key); !ok || v > float64(bound) {
		breach(d.path, key, orNothing(d.value(key)), fmt.Sprintf("at most %d", bound))
	}
}

// ttftTPOT applies the limits of the log's scenario, so that Interactive, whose log is a Server log, has Server's
// limits. Results of another client have the limits of the folder's scenario.
func ttftTPOT(s *scope, breach breachFunc) {
	scenario := s.result.performance.scenario()
	if s.result.otherClient {
		scenario = canonical(s.name)
	}
	s.below(scenario, breach)
}

func folderTTFTTPOT(s *scope, breach breachFunc) {
	if folder := canonical(s.name); folder != s.result.performance.scenario() {
		s.below(folder, breach)
	}
}

func (s *scope) below(scenario string, breach breachFunc) {
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

func configuredLimits(s *scope, breach breachFunc) {
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
