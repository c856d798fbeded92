package check

import (
	"strings"

	"github.com/mlperf-go/mlperf-go/submission/layout"
)

// The conditions of the table's "when" column. All but the first three look at a scenario folder.

func enforced(s *scope) bool   { return s.division() != layout.Open }
func isOpen(s *scope) bool     { return s.division() == layout.Open }
func closedOnly(s *scope) bool { return s.division() == layout.Closed }

// loadgen: LoadGen made the result, and its performance log can be judged.
func loadgen(s *scope) bool {
	return !s.result.otherClient && s.result.performance.usable() && s.model() != nil
}

// accuracyLog: LoadGen made the accuracy run, and its log can be judged.
func accuracyLog(s *scope) bool {
	return !s.result.otherClient && s.result.accuracy.usable() && s.model() != nil
}

func byLoadGen(s *scope) bool { return !s.result.otherClient }

// anyClient: the performance figures can be judged, whoever measured them.
func anyClient(s *scope) bool { return s.result.performance.usable() && s.model() != nil }

func otherClient(s *scope) bool { return s.result.otherClient && s.model() != nil }

func isLLM(s *scope) bool { return s.model() != nil && s.model().isLLM() }

// stopsEarly: the scenarios in which LoadGen proves its percentile instead of counting queries.
func stopsEarly(s *scope) bool {
	switch s.result.performance.scenario() {
	case "Server", "SingleStream", "MultiStream", "Interactive":
		return true
	}
	return false
}

func countsQueries(s *scope) bool { return !stopsEarly(s) }

func offlineLog(s *scope) bool {
	return strings.EqualFold(s.result.performance.scenario(), "Offline")
}

func scored(s *scope) bool { return s.result.scores.err == nil && s.model() != nil }

func exceptions(s *scope) bool { return s.o.SubmissionExceptions }
