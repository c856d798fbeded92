package record

import (
	"slices"
	"time"

	"github.com/mlperf-go/mlperf-go/accuracy"
	"github.com/mlperf-go/mlperf-go/internal/mllog"
	"github.com/mlperf-go/mlperf-go/models"
)

// Terms are the requirements of the test on which its verdict depends.
type Terms struct {
	Mode      models.Mode
	Scenario  models.Scenario
	Rehearsal bool
	Audit     bool // whether the test has an audit configuration
	Score     bool // whether the answers of an accuracy test are to be scored
	// TokenLatencies: LoadGen measures tokens. FirstTokens: it also expects a first token of every sample.
	TokenLatencies, FirstTokens bool
	// The limits; 0: none.
	TTFTLimit, TPOTLimit, AnswerLimit time.Duration
}

// Evidence is everything that a verdict depends on.
type Evidence struct {
	Terms
	Record       *Record
	Logs         *mllog.Result    // LoadGen's logs; nil: LoadGen wrote none
	Result       *accuracy.Result // score of the answers; nil: not scored
	Ended        error            // why the test ended early; nil: it did not
	Interrupted  bool             // whether a signal or the caller's context ended the test
	ClockDrift   time.Duration    // drift of the wall clock against the monotonic clock
	AuditApplied bool             // whether LoadGen logged that it applied an audit configuration
	MedianTokens int              // median number of output tokens of successful samples

	OtherModels  []string // one sentence for each endpoint that served another model
	OneToken     int      // number of successful answers of one token
	OtherPrompts int      // answers whose prompt has another length by the server's count
	Misreported  int64    // number of repeated reports, and of reports of samples that were not issued
}

// rules are the conditions of VALID (docs/reference/troubleshooting.md#verdict-codes). Each is a function that returns
// a cause, or nil. A cause precedes its consequences: a server that died fails samples, which LoadGen logs as errors,
// for which it reports INVALID.
var rules = slices.Concat(
	[]func(*Evidence) *Cause{interrupted, limitLost, notReturned, endedEarly, serverDied},
	measuredRules,
	[]func(*Evidence) *Cause{ttftLimit, tpotLimit, answerLimit,
		logIncomplete, loadgenErrors, loadgenInvalid, auditApplied, accuracyBelowTarget, accuracyUnclaimed, notScored})

// measuredRules are those that need neither LoadGen nor a limit: the samples, the servers, the clock and the client.
var measuredRules = []func(*Evidence) *Cause{
	failedSamples, unfinishedSamples, emptyOutputs, missingFirstTokens, tokenCounts, promptCounts, misreported,
	unaskedAnswers, wrongModel, clockStep, localPorts, openFiles, dispatchLag, reportLag,
}

// Judge returns the verdict and all of its causes.
func (e *Evidence) Judge() (Verdict, []Cause) {
	causes := e.causes(rules)
	switch {
	case len(causes) == 0:
		return Valid, causes
	case slices.ContainsFunc(causes, func(c Cause) bool { return c.Code == CodeInterrupted }):
		return Interrupted, causes
	default:
		return Invalid, causes
	}
}

// causes returns what the rules object to.
func (e *Evidence) causes(rules []func(*Evidence) *Cause) []Cause {
	causes := []Cause{}
	for _, rule := range rules {
		if c := rule(e); c != nil {
			causes = append(causes, *c)
		}
	}
	return causes
}

// JudgeProbe returns why a test without LoadGen does not count; empty: it counts. The rules are those of a run. If
// no latency is limited, the client may add a tenth of the measured latencies.
func (e *Evidence) JudgeProbe() []Cause {
	causes := e.causes(append([]func(*Evidence) *Cause{endedEarly, serverDied}, measuredRules...))
	if e.TTFTLimit <= 0 && e.AnswerLimit <= 0 {
		if c := e.ownLag(); c != nil {
			causes = append(causes, *c)
		}
	}
	return causes
}

// measures reports whether the scenario's limits apply. This program checks them in addition to LoadGen, which would
// apply Server's limits to an Interactive run with the wrong key.
func (e *Evidence) measures() bool {
	return e.Mode == models.Performance && !e.Audit && e.Ended == nil && e.Logs != nil
}

// noneAllowed returns the cause of n incidents of which a valid run has none.
func noneAllowed(code Code, n any, text string) *Cause {
	return &Cause{Code: code, Text: text, Value: n, Limit: 0}
}
