package check

import (
	"strings"

	"github.com/mlperf-go/mlperf-go/submission/layout"
)

// The conditions of the table's "when" column. All except the first three require a scenario folder.

func enforced(s *scope) bool   { return s.division() != layout.Open }
func isOpen(s *scope) bool     { return s.division() == layout.Open }
func closedOnly(s *scope) bool { return s.division() == layout.Closed }

// loadgen reports whether the result is LoadGen's and its performance log is usable.
func loadgen(s *scope) bool {
	return !s.result.otherClient && s.result.performance.usable() && s.model() != nil
}

// accuracyLog reports whether the result is LoadGen's and its accuracy log is usable.
func accuracyLog(s *scope) bool {
	return !s.result.otherClient && s.result.accuracy.usable() && s.model() != nil
}

func byLoadGen(s *scope) bool { return !s.result.otherClient }

// anyClient reports whether the performance figures are usable, from any client.
func anyClient(s *scope) bool { return s.result.performance.usable() && s.model() != nil }

func otherClient(s *scope) bool { return s.result.otherClient && s.model() != nil }

func isLLM(s *scope) bool { return s.model() != nil && s.model().isLLM() }

// stopsEarly reports whether LoadGen uses its early-stopping criterion in the scenario instead of counting queries.
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

// judged reports whether the scores are compared with their targets. The official checker always does so.
func judged(s *scope) bool { return s.o.Mode != Strict || !s.result.scores.notJudged }

func exceptions(s *scope) bool { return s.o.SubmissionExceptions }
