package check

import (
	"errors"
	"fmt"
	"strings"

	"github.com/mlperf-go/mlperf-go/internal/plural"
)

// logRules check that the detail logs exist, are complete and contain no errors
// (docs/reference/submission-rules.md#loadgen-logs).
var logRules = atLevel(resultLevel,
	Rule{ID: "performance-log", Class: Log, check: func(s *scope, b breachFunc) { logWhole(s.result.performance, b) },
		Advice: "put the performance run's files there as the run left them"},
	Rule{ID: "accuracy-log", Class: Log, check: func(s *scope, b breachFunc) { logWhole(s.result.accuracy, b) },
		Advice: "put the accuracy run's files there as the run left them"},
	Rule{ID: "performance-error-exceptions", Class: Run, when: []condition{loadgen, exceptions},
		check:  performanceGraveErrors,
		Advice: "repeat the run after removing what the error names"},
	Rule{ID: "performance-error", Class: Run, Strict: true, when: []condition{loadgen}, check: performanceErrors,
		Advice: "repeat the run after removing what the error names"},
	Rule{ID: "performance-error-count", Class: Run, Strict: true, when: []condition{loadgen},
		check:  performanceErrorCount,
		Advice: "repeat the run after removing what the log's errors name"},
	Rule{ID: "performance-validity", Class: Run, Strict: true, when: []condition{loadgen}, check: performanceValidity,
		Advice: "repeat the run: LoadGen's summary states why it is not valid"},
	Rule{ID: "performance-test-mode", Class: Run, Strict: true, when: []condition{loadgen},
		check:  func(s *scope, b breachFunc) { testMode(s.result.performance, "PerformanceOnly", b) },
		Advice: "put the performance run's files there"},
	Rule{ID: "accuracy-error", Class: Run, when: []condition{accuracyLog}, check: accuracyErrors,
		Advice: "repeat the accuracy run after removing what the error names"},
	Rule{ID: "accuracy-test-mode", Class: Run, Strict: true, when: []condition{accuracyLog},
		check:  func(s *scope, b breachFunc) { testMode(s.result.accuracy, "AccuracyOnly", b) },
		Advice: "put the accuracy run's files there"},
	Rule{ID: "accuracy-scenario", Class: Run, Severity: Warning, Strict: true, when: []condition{accuracyLog},
		check:  accuracyScenario,
		Advice: "put the files of the folder's own accuracy run there: no official tool checks this, but a reviewer may"},
	Rule{ID: "log-repeated-key", Class: Log, Severity: Warning, Strict: true, when: []condition{loadgen},
		check:  repeatedKeys,
		Advice: "check whether two runs wrote to one log; the first value counts"},
)

func logWhole(d *detail, breach breachFunc) {
	switch {
	case d.absent:
		breach(d.path, "", "no such file", "the run's log")
	case d.err != nil:
		breach(d.path, "", d.err, "a readable, complete log")
	}
}

// maxListed limits the errors quoted in one finding.
const maxListed = 3

func (d *detail) errorList() string {
	return fmt.Sprintf("%s: %s", plural.Count(d.errors, "error", "errors"),
		strings.Join(d.texts[:min(len(d.texts), maxListed)], "; "))
}

func performanceGraveErrors(s *scope, breach breachFunc) {
	if d := s.result.performance; d.grave > 0 {
		breach(d.path, "is_error", d.errorList(), "no error but the one about uncommitted changes")
	}
}

func performanceErrors(s *scope, breach breachFunc) {
	if d := s.result.performance; d.errors > 0 {
		breach(d.path, "is_error", d.errorList(), "no error")
	}
}

func performanceErrorCount(s *scope, breach breachFunc) {
	d := s.result.performance
	if v, given := d.values["num_errors"]; given && truthy(v) {
		breach(d.path, "num_errors", v, 0)
	}
}

func performanceValidity(s *scope, breach breachFunc) {
	if d := s.result.performance; d.text("result_validity") != "VALID" {
		breach(d.path, "result_validity", orNothing(d.value("result_validity")), "VALID")
	}
}

func testMode(d *detail, mode string, breach breachFunc) {
	if d.text("effective_test_mode") != mode {
		breach(d.path, "effective_test_mode", orNothing(d.value("effective_test_mode")), mode)
	}
}

func accuracyErrors(s *scope, breach breachFunc) {
	d := s.result.accuracy
	if d.errors > 0 && (d.grave > 0 || !s.o.SubmissionExceptions || s.o.Mode == Strict) {
		breach(d.path, "is_error", d.errorList(), "no error")
	}
}

func accuracyScenario(s *scope, breach breachFunc) {
	if d := s.result.accuracy; !s.mayHold(d) {
		breach(d.path, "effective_scenario", orNothing(d.value("effective_scenario")), s.name)
	}
}

func repeatedKeys(s *scope, breach breachFunc) {
	for _, key := range sortedKeys(s.result.performance.several) {
		breach(s.result.performance.path, key, fmt.Sprintf("%d times", s.result.performance.several[key]+1), "once")
	}
}

var errNothing = errors.New("nothing")

// orNothing returns v, or errNothing for an absent value.
func orNothing(v any) any {
	if v == nil {
		return errNothing
	}
	return v
}
