package record

import (
	"fmt"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/plural"
)

// Tail is the state of a Server test against one of its latency limits.
type Tail struct {
	What     string        `json:"what"` // name of the limited time
	Limit    time.Duration `json:"limit_ns"`
	Queries  int           `json:"queries"`  // number of queries of the whole test
	Bearable int           `json:"bearable"` // queries that may exceed the limit by LoadGen's early stopping
	Over     int           `json:"over"`     // queries that certainly exceed the limit
	// Needed is how many queries the criterion requires, if the test has fewer; otherwise 0. Such a test is INVALID
	// however fast the server is, so the limit decides nothing.
	Needed int `json:"needed,omitempty"`
}

// Lost reports whether the test can no longer become valid because of the limit.
func (t Tail) Lost() bool { return t.Needed == 0 && t.Over > t.Bearable }

// String returns the state of the limit, without its name: "2 queries over 1s, 5 allowed".
func (t Tail) String() string {
	if t.Needed > 0 {
		return fmt.Sprintf("%s over %v; LoadGen needs %d, has %d", plural.Count(t.Over, "query", "queries"), t.Limit,
			t.Needed, t.Queries)
	}
	text := t.Count()
	if t.Lost() {
		text += ": already INVALID"
	}
	return text
}

// Count returns how many queries exceed the limit, and how many may.
func (t Tail) Count() string {
	return fmt.Sprintf("%s over %v, %d allowed", plural.Count(t.Over, "query", "queries"), t.Limit, t.Bearable)
}

// LimitLost is the cause of a test that --fail-fast ended because it could no longer become valid.
type LimitLost struct {
	Tail
	All []Tail // every limit of the test at that moment
}

// Error returns the sentence of the verdict.
func (e *LimitLost) Error() string {
	return fmt.Sprintf("%s a %s over %v; of the %d queries of this test at most %d may, by LoadGen's "+
		"early-stopping criterion: it can no longer become valid (--fail-fast)",
		plural.Count(e.Over, "query has", "queries have"), e.What, e.Limit, e.Queries, e.Bearable)
}
