package ledger

// Counts holds the numbers of events so far. Completed plus Failed is the number of ended samples.
type Counts struct {
	Issued      int64 // samples issued by LoadGen
	Completed   int64 // samples that ended with an answer
	Failed      int64 // samples that ended without an answer
	Cancelled   int64 // of the failed ones: cancelled because the test ended early
	FirstTokens int64 // samples whose first token arrived
	Retried     int64 // ended samples that needed more than one attempt
	Empty       int64 // samples completed with 0 output tokens
	Duplicates  int64 // rejected reports: a second first token or a second completion of a sample
	Unknown     int64 // events of samples that were never issued, and second issues

	InputTokens, OutputTokens int64 // numbers of tokens of completed samples
	Events, Merged            int64 // events of completed samples: with tokens, and with more than one token
}

// InFlight returns the number of samples that were issued and have not ended.
func (c Counts) InFlight() int64 { return c.Issued - c.Completed - c.Failed }

// FailureRate returns the share of ended samples that failed; 0 before the first end.
func (c Counts) FailureRate() float64 {
	if ended := c.Completed + c.Failed; ended > 0 {
		return float64(c.Failed) / float64(ended)
	}
	return 0
}

// Counts returns the sum of the counters of all shards. Ends are read before issues, so that InFlight is never
// negative, and the cancelled ones before the failed, of which they are a part.
func (l *Ledger) Counts() Counts {
	var n counters
	for _, c := range []counter{nCancelled, nCompleted, nFailed, nFirstTokens, nRetried, nEmpty, nDuplicates, nUnknown,
		nInputTokens, nOutputTokens, nEvents, nMerged, nIssued} {
		for _, s := range l.shards {
			n[c] += s.tally[c].Load()
		}
	}
	return Counts{
		Issued: n[nIssued], Completed: n[nCompleted], Failed: n[nFailed], Cancelled: n[nCancelled],
		FirstTokens: n[nFirstTokens], Retried: n[nRetried], Empty: n[nEmpty],
		Duplicates: n[nDuplicates], Unknown: n[nUnknown],
		InputTokens: n[nInputTokens], OutputTokens: n[nOutputTokens], Events: n[nEvents], Merged: n[nMerged],
	}
}

// TTFT returns a snapshot of the times from issue to first token, in ns.
func (l *Ledger) TTFT() *Histogram { return l.merged(func(s *Shard) *Histogram { return &s.ttft }) }

// ITL returns a snapshot of the gaps between tokens, in ns.
func (l *Ledger) ITL() *Histogram { return l.merged(func(s *Shard) *Histogram { return &s.itl }) }

func (l *Ledger) merged(of func(*Shard) *Histogram) *Histogram {
	h := new(Histogram)
	for _, s := range l.shards {
		h.Merge(of(s))
	}
	return h
}

// Names returns the reasons and sources behind the codes of entries.
func (l *Ledger) Names() Names { return Names{l.reasons.all(), l.sources.all(), l.ends.all()} }

// Names lists the values of Entry.Reason and Entry.Source by code.
type Names struct {
	Reasons []Reason
	Sources []TokenSource
	// Finishes holds the finish reasons that servers sent: at most 15, of at most 40 bytes each, and "other"
	Finishes []string
}

// Reason returns the failure reason of e; empty for success.
func (n Names) Reason(e *Entry) Reason { return n.Reasons[e.Reason] }

// Finish returns the finish reason of e; empty: the server sent none.
func (n Names) Finish(e *Entry) string {
	if int(e.Finish) >= len(n.Finishes) {
		return ""
	}
	return n.Finishes[e.Finish]
}

// Source returns the source of e's output count.
func (n Names) Source(e *Entry) TokenSource { return n.Sources[e.Source] }
