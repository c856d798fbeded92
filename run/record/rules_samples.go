package record

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/mlperf-go/mlperf-go/internal/plural"
	"github.com/mlperf-go/mlperf-go/ledger"
)

// failedSamples leaves out the samples that an interruption cancelled.
func failedSamples(e *Evidence) *Cause {
	s := e.Record.Samples
	failed := s.Failed - e.cancelled()
	if failed <= 0 {
		return nil
	}
	text := fmt.Sprintf("%d of %d samples failed", failed, s.Issued)
	for _, reason := range mostFirst(s.FailedByReason) {
		if !e.Interrupted || reason != ledger.FailCancelled {
			text += fmt.Sprintf(", %s %d", reason, s.FailedByReason[reason])
		}
	}
	if url := failingEndpoint(e.Record.Endpoints); url != "" {
		text += ", all at " + url
	}
	if e.Ended != nil && !e.Interrupted {
		text += "; " + e.ending()
	}
	return noneAllowed(CodeFailedSamples, failed, text)
}

// failingEndpoint returns the only one of several endpoints at which requests failed, or "".
func failingEndpoint(list []EndpointCounts) (url string) {
	for _, e := range list {
		if e.Failed > 0 {
			if url != "" || len(list) == 1 {
				return ""
			}
			url = e.URL
		}
	}
	return url
}

// cancelled returns how many samples failed only because the test was interrupted.
func (e *Evidence) cancelled() int64 {
	if !e.Interrupted {
		return 0
	}
	return e.Record.Samples.FailedByReason[ledger.FailCancelled]
}

// Cancelled returns how many samples failed only because the test was interrupted.
func (r *Record) Cancelled() int64 {
	if r.Verdict != Interrupted {
		return 0
	}
	return r.Samples.FailedByReason[ledger.FailCancelled]
}

// mostFirst returns the keys, those with large counts first.
func mostFirst[K cmp.Ordered](counts map[K]int64) []K {
	return slices.SortedFunc(maps.Keys(counts), func(a, b K) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
}

// unfinishedSamples: LoadGen goes on issuing samples after an interruption.
func unfinishedSamples(e *Evidence) *Cause {
	s := e.Record.Samples
	if s.Issued == s.Completed && s.Issued > 0 || e.Interrupted && s.Issued >= s.Completed {
		return nil
	}
	return noneAllowed(CodeFailedSamples, s.Issued-s.Completed, fmt.Sprintf("%s issued and %d completed",
		plural.Count(s.Issued, "sample was", "samples were"), s.Completed))
}

func emptyOutputs(e *Evidence) *Cause {
	if n := e.Record.Samples.Empty; n > 0 {
		return noneAllowed(CodeEmptyOutputs, n, plural.Count(n, "answer has", "answers have")+" no output token")
	}
	return nil
}

func missingFirstTokens(e *Evidence) *Cause {
	s := e.Record.Samples
	if missing := s.Completed - s.Failed - s.FirstTokens; e.FirstTokens && missing > 0 {
		return noneAllowed(CodeMissingFirstTokens, missing,
			plural.Count(missing, "successful sample has", "successful samples have")+" no first token")
	}
	return nil
}

func tokenCounts(e *Evidence) *Cause {
	if n := e.Record.Tokens.Mismatches; n > 0 {
		return noneAllowed(CodeTokenMismatch, n, fmt.Sprintf("in %s the server's token count is not the number "+
			"of its ids", plural.Count(n, "answer", "answers")))
	}
	return nil
}

// promptCounts: a server that cuts prompts, or adds tokens before them, answers another benchmark.
func promptCounts(e *Evidence) *Cause {
	if n := e.OtherPrompts; n > 0 {
		return noneAllowed(CodeTokenMismatch, n, fmt.Sprintf("in %s the server counted another number of prompt "+
			"tokens than the token ids that it was sent: check whether it cuts prompts, or adds a token before them",
			plural.Count(n, "answer", "answers")))
	}
	return nil
}

// misreported: each sample has at most one first token and exactly one end. Rejected reports never reached LoadGen, but
// their sender may be wrong about more.
func misreported(e *Evidence) *Cause {
	if n := e.Misreported; n > 0 {
		return noneAllowed(CodeMisreported, n, fmt.Sprintf("%s a first token or an end was reported again, or of a "+
			"sample that LoadGen had not issued: this is a bug, please report it with the run's folder",
			plural.Count(n, "time", "times")))
	}
	return nil
}

// unaskedAnswers: an unrequested answer may have replaced another one. So may stray bytes, unless answers carry ids
// that tell them apart. One is enough.
func unaskedAnswers(e *Evidence) *Cause {
	a, inLoops := e.Record.Answers, int64(0)
	for _, loop := range e.Record.Client.Loops {
		inLoops += loop.Unasked
	}
	switch n := max(a.Unasked, inLoops); {
	case n > 0:
		return noneAllowed(CodeUnaskedAnswers, n, fmt.Sprintf("%s belonged to no request; one that arrives after the next "+
			"request was sent would count as the answer to that request", plural.Count(n, "answer", "answers")))
	case a.Strays > 0 && !a.Identified:
		return noneAllowed(CodeUnaskedAnswers, a.Strays, fmt.Sprintf("%s, bytes arrived without an open "+
			"request, and answers have no request ids, so the requests that they belong to are unknown",
			plural.Count(a.Strays, "time", "times")))
	}
	return nil
}

// wrongModel: a server that was asked again, after a reconnect or at the end, served another model than before the
// test.
func wrongModel(e *Evidence) *Cause {
	if n := len(e.OtherModels); n > 0 {
		return noneAllowed(CodeWrongModel, n, e.OtherModels[0])
	}
	return nil
}
