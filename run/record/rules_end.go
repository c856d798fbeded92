package record

import (
	"errors"
	"fmt"
	"strings"

	"github.com/mlperf-go/mlperf-go/internal/hostinfo"
)

func interrupted(e *Evidence) *Cause {
	if e.Ended == nil || !e.Interrupted {
		return nil
	}
	return &Cause{Code: CodeInterrupted, Text: fmt.Sprintf("the test ended early: %v", e.Ended)}
}

// limitLost tells of a test that --fail-fast ended because it could not become valid any more.
func limitLost(e *Evidence) *Cause {
	var lost *LimitLost
	if e.Interrupted || !errors.As(e.Ended, &lost) {
		return nil
	}
	return &Cause{Code: CodeScenarioLimit, Text: lost.Error(), Value: lost.Over, Limit: lost.Bearable}
}

// endedEarly: no test that was cut short is valid, be every sample of it answered.
func endedEarly(e *Evidence) *Cause {
	if e.Ended == nil || e.Interrupted || e.Record.Samples.Failed > 0 { // failedSamples tells the cause too
		return nil
	}
	return &Cause{Code: CodeFailedSamples, Text: fmt.Sprintf("the test was ended: %v", e.Ended)}
}

// serverDied: a test that lost one of its servers measured fewer than it says, whatever became of the samples.
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
	return &Cause{Code: CodeServerDied, Text: fmt.Sprintf("servers of the test ended by themselves (%s); "+
		"servers.replicas has the ends of their logs", strings.Join(died, "; ")), Value: len(died), Limit: 0}
}

func clockStep(e *Evidence) *Cause {
	if !hostinfo.Stepped(e.ClockDrift) {
		return nil
	}
	return &Cause{Code: CodeClockStep, Text: fmt.Sprintf("the wall clock, with which LoadGen measures, moved by %v "+
		"against the monotonic clock", e.ClockDrift),
		Value: e.ClockDrift.Seconds(), Limit: hostinfo.ClockStepLimit.Seconds()}
}
