package check

import (
	"errors"
	"fmt"
	"strings"
)

// logRules look at whether the detail logs are there and whole, and at the errors that LoadGen wrote into them
// (docs/reference/submission-rules.md#loadgen-logs).
var logRules = []Rule{
	{ID: "performance-log", Class: Log, Severity: Error, level: resultLevel,
		Advice: "put the performance run's files there as the run left them",
		look:   func(s *scope, b say) { logWhole(s.result.performance, b) }},
	{ID: "accuracy-log", Class: Log, Severity: Error, level: resultLevel,
		Advice: "put the accuracy run's files there as the run left them",
		look:   func(s *scope, b say) { logWhole(s.result.accuracy, b) }},
	{ID: "performance-error-exceptions", Class: Run, Severity: Error, level: resultLevel,
		when:   []condition{loadgen, exceptions},
		Advice: "repeat the run after removing what the error names", look: performanceGraveErrors},
	{ID: "performance-error", Class: Run, Severity: Error, Strict: true, level: resultLevel, when: []condition{loadgen},
		Advice: "repeat the run after removing what the error names", look: performanceErrors},
	{ID: "performance-error-count", Class: Run, Severity: Error, Strict: true, level: resultLevel,
		when:   []condition{loadgen},
		Advice: "repeat the run after removing what the log's errors name", look: performanceErrorCount},
	{ID: "performance-validity", Class: Run, Severity: Error, Strict: true, level: resultLevel, when: []condition{loadgen},
		Advice: "repeat the run: LoadGen's summary says why it is not valid", look: performanceValidity},
	{ID: "performance-test-mode", Class: Run, Severity: Error, Strict: true, level: resultLevel,
		when:   []condition{loadgen},
		Advice: "put the performance run's files there",
		look:   func(s *scope, b say) { testMode(s.result.performance, "PerformanceOnly", b) }},
	{ID: "accuracy-error", Class: Run, Severity: Error, level: resultLevel, when: []condition{accuracyLog},
		Advice: "repeat the accuracy run after removing what the error names", look: accuracyErrors},
	{ID: "accuracy-test-mode", Class: Run, Severity: Error, Strict: true, level: resultLevel,
		when:   []condition{accuracyLog},
		Advice: "put the accuracy run's files there",
		look:   func(s *scope, b say) { testMode(s.result.accuracy, "AccuracyOnly", b) }},
	{ID: "accuracy-scenario", Class: Run, Severity: Warning, Strict: true, level: resultLevel,
		when:   []condition{accuracyLog},
		Advice: "put the files of the folder's own accuracy run there: no official tool asks, a reviewer may",
		look:   accuracyScenario},
	{ID: "log-repeated-key", Class: Log, Severity: Warning, Strict: true, level: resultLevel, when: []condition{loadgen},
		Advice: "look whether two runs wrote into one log; the first value counts", look: repeatedKeys},
}

func logWhole(d *detail, breach say) {
	switch {
	case d.absent:
		breach(d.path, "", "no such file", "the run's log")
	case d.err != nil:
		breach(d.path, "", d.err, "a log that can be read to its end")
	}
}

// maxListed bounds the errors that one finding quotes.
const maxListed = 3

func (d *detail) errorList() string {
	return fmt.Sprintf("%d errors: %s", d.errors, strings.Join(d.texts[:min(len(d.texts), maxListed)], "; "))
}

func performanceGraveErrors(s *scope, breach say) {
	if d := s.result.performance; d.grave > 0 {
		breach(d.path, "is_error", d.errorList(), "no error but the one about uncommitted changes")
	}
}

func performanceErrors(s *scope, breach say) {
	if d := s.result.performance; d.errors > 0 {
		breach(d.path, "is_error", d.errorList(), "no error")
	}
}

func performanceErrorCount(s *scope, breach say) {
	d := s.result.performance
	if v, given := d.values["num_errors"]; given && truthy(v) {
		breach(d.path, "num_errors", v, 0)
	}
}

func performanceValidity(s *scope, breach say) {
	if d := s.result.performance; d.text("result_validity") != "VALID" {
		breach(d.path, "result_validity", orNothing(d.value("result_validity")), "VALID")
	}
}

func testMode(d *detail, mode string, breach say) {
	if d.text("effective_test_mode") != mode {
		breach(d.path, "effective_test_mode", orNothing(d.value("effective_test_mode")), mode)
	}
}

func accuracyErrors(s *scope, breach say) {
	d := s.result.accuracy
	if d.errors > 0 && (d.grave > 0 || !s.o.SubmissionExceptions || s.o.Mode == Strict) {
		breach(d.path, "is_error", d.errorList(), "no error")
	}
}

func accuracyScenario(s *scope, breach say) {
	if d := s.result.accuracy; !s.mayHold(d) {
		breach(d.path, "effective_scenario", orNothing(d.value("effective_scenario")), s.name)
	}
}

func repeatedKeys(s *scope, breach say) {
	for _, key := range sortedKeys(s.result.performance.several) {
		breach(s.result.performance.path, key, fmt.Sprintf("%d times", s.result.performance.several[key]+1), "once")
	}
}

var errNothing = errors.New("nothing")

// orNothing names an absent value.
func orNothing(v any) any {
	if v == nil {
		return errNothing
	}
	return v
}
