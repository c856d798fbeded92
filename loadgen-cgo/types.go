package loadgen

import "time"

// ResponseID names one issued sample inside LoadGen. It is never 0 and valid until the sample is completed.
type ResponseID uintptr

// Query is one issued sample.
type Query struct {
	ID       ResponseID
	Index    int   // sample index in the query sample library
	Seq      int   // sequence number in the order of issue over the whole test, from 0
	Call     int   // number of the IssueQuery call that issued the sample; samples of one LoadGen query share it
	IssuedNS int64 // wall-clock time in ns since 1970 at which LoadGen called IssueQuery
}

// Source returns the queries of one shard. It has one consumer: one goroutine on one thread.
type Source interface {
	// Pop moves up to len(dst) queries into dst without blocking.
	Pop(dst []Query) int
	// Wait is like Pop but blocks its OS thread until there is a query, the timeout has passed (0, true) or the test
	// has ended and no query is left (0, false).
	Wait(dst []Query, timeout time.Duration) (n int, open bool)
}

// Reporter reports first tokens and answers to LoadGen. Both calls for one sample must come from one OS thread, because
// LoadGen does not order its per-thread buffers. Data is read only during the call.
type Reporter interface {
	FirstTokenComplete(id ResponseID, tokens []int32)
	QuerySamplesComplete(id ResponseID, tokens []int32, nTokens int)
	QuerySamplesCompleteBytes(id ResponseID, data []byte, nTokens int)
}

// Holder is a Reporter that can report several answers at once.
type Holder interface {
	Reporter
	// Hold is QuerySamplesComplete at the next Flush. tokens may change afterwards.
	Hold(id ResponseID, tokens []int32, nTokens int)
	// HoldBytes is QuerySamplesCompleteBytes at the next Flush. data may change afterwards.
	HoldBytes(id ResponseID, data []byte, nTokens int)
	// Flush reports what is held, all of it at the time of this call.
	Flush()
}
