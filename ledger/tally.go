// HOT PATH: add and end run per query. No lock.

package ledger

import "sync/atomic"

// counter is the index of a number in a tally.
type counter int

const (
	nIssued counter = iota
	nCompleted
	nFailed
	nCancelled
	nFirstTokens
	nRetried
	nEmpty
	nDuplicates
	nUnknown
	nInputTokens
	nOutputTokens
	nEvents
	nMerged
	numCounters
)

// tally holds the counters of a shard. Any thread may read them.
type tally [numCounters]atomic.Int64

func (t *tally) add(c counter, n int64) { t[c].Add(n) }

// counters are what a tally is added to.
type counters [numCounters]int64

// end counts a sample that has ended.
func (n *counters) end(e *Entry, reason Reason) {
	if e.Retries > 0 {
		n[nRetried]++
	}
	if e.Reason != 0 {
		n[nFailed]++
		if reason == FailCancelled {
			n[nCancelled]++
		}
		return
	}
	n[nCompleted]++
	n[nInputTokens] += int64(e.InputTokens)
	n[nOutputTokens] += int64(e.OutputTokens)
	n[nEvents] += int64(e.Events) // answers that are not streamed have none
	n[nMerged] += int64(e.Merged)
	if e.OutputTokens == 0 {
		n[nEmpty]++
	}
}
