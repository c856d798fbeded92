package run

import (
	"fmt"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf-go/run/record"
)

// LoadGen can lose log entries and then waits forever (docs/reference/loadgen.md#the-race-of-the-log). After the last
// answer it needs the time to write its log, and seconds to compute. returnBound is far above both, and counts only
// time in which no log grows.
const (
	returnBound = 2 * time.Minute
	returnEvery = 500 * time.Millisecond
)

// returnWatch notices that LoadGen does nothing more. It counts looks and not the time between them, because a machine
// that was stopped stops LoadGen too.
type returnWatch struct {
	bound time.Duration
	seen  string
	quiet time.Duration
}

// look is called every returnEvery. It reports whether LoadGen was expected to go on, and activity was the same, for
// the whole bound.
func (w *returnWatch) look(expected bool, activity string) bool {
	if !expected || activity != w.seen {
		w.seen, w.quiet = activity, 0
		return false
	}
	w.quiet += returnEvery
	return w.quiet > w.bound
}

// activity returns a text that changes with everything that LoadGen visibly does after an answer.
func (t *test) activity() string {
	return fmt.Sprint(t.requests.calls.Load(), t.sut.LoadGen().Flushed(), strings.Join(t.logs.states(), ","))
}

// notReturned returns the cause of a test that LoadGen does not end.
func (t *test) notReturned() error {
	return fmt.Errorf("%w: all %d samples were issued and have ended, and for %v it has neither returned nor written to "+
		"its logs. Its log thread lost entries, which can happen on a busy machine, or cannot write. Run again; if it "+
		"happens again, give the client more cores or --shards, and look at the disk of the output folder",
		record.ErrNotReturned, t.ledger.Counts().Issued, t.returnBound)
}
