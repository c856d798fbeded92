package record

import (
	"errors"
	"fmt"
	"strings"

	"github.com/mlperf-go/mlperf-go/metrics/hostinfo"
)

func interrupted(e *Evidence) *Cause {
	if e.Ended == nil || !e.Interrupted {
		return nil
	}
	return &Cause{Code: CodeInterrupted, Text: fmt.Sprintf("the test ended early: %v", e.Ended)}
}

// limitLost reports a test that --fail-fast ended because it could no longer become valid.
func limitLost(e *Evidence) *Cause {
	var lost *LimitLost
	if e.Interrupted || !errors.As(e.Ended, &lost) {
		return nil
	}
	return &Cause{Code: CodeScenarioLimit, Text: lost.Error(), Value: lost.Over, Limit: lost.Bearable}
}

// ErrNotReturned is the cause of a test that the program ended because LoadGen did not.
var ErrNotReturned = errors.New("LoadGen did not end the test")

// notReturned reports a test that LoadGen did not end, although every sample had ended.
func notReturned(e *Evidence) *Cause {
	if e.Interrupted || !errors.Is(e.Ended, ErrNotReturned) {
		return nil
	}
	return &Cause{Code: CodeLogIncomplete, Text: e.Ended.Error()}
}

// endedEarly: a test that was cut short is not valid, even if every sample has an answer.
func endedEarly(e *Evidence) *Cause {
	if e.Ended == nil || e.Interrupted || errors.Is(e.Ended, ErrNotReturned) ||
		e.Record.Samples.Failed > 0 { // failedSamples reports the cause too
		return nil
	}
	return &Cause{Code: CodeFailedSamples, Text: e.ending()}
}

// ending describes why a test was ended, if limitLost does not.
func (e *Evidence) ending() string {
	if limitLost(e) != nil {
		return "--fail-fast ended the test"
	}
	return fmt.Sprintf("the test was ended: %v", e.Ended)
}

// serverDied: a test that lost a server measured fewer servers than its record lists, whatever happened to the samples.
func serverDied(e *Evidence) *Cause {
	if e.Record.Servers == nil {
		return nil
	}
	var died []string
	for _, r := range e.Record.Servers.Replicas {
		if r.Died != nil {
			died = append(died, fmt.Sprintf("replica %d (%s): %s", r.Index, r.URL, r.Exit))
		}
	}
	if len(died) == 0 {
		return nil
	}
	return noneAllowed(CodeServerDied, len(died), fmt.Sprintf("servers of the test ended unexpectedly (%s); "+
		"servers.replicas has the ends of their logs", strings.Join(died, "; ")))
}

func clockStep(e *Evidence) *Cause {
	if !hostinfo.Stepped(e.ClockDrift) {
		return nil
	}
	return &Cause{Code: CodeClockStep, Text: fmt.Sprintf("the wall clock, with which LoadGen measures, moved by %v "+
		"against the monotonic clock", e.ClockDrift),
		Value: e.ClockDrift.Seconds(), Limit: hostinfo.ClockStepLimit.Seconds()}
}
