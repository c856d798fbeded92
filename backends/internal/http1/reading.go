// HOT PATH: open, expect and close run once a request. No allocation once there are as many readings as answers
// that are read at the same time.

package http1

import (
	"time"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/policy"
	"github.com/mlperf-go/mlperf-go/backends/internal/wire"
)

// reading is the state of one answer that is being read. A connection has a reading from the first byte of an answer to
// its last. The reading that was used last is used next: answers that come in one piece are read with memory that is
// still in the processor's caches, however many requests are in flight.
type reading struct {
	parser parser
	answer wire.Answer
	out    backends.Outcome
	kept   []byte                // first KiB of the answer's body
	id     [policy.IDLength]byte // of the request
}

// readings keeps readings for reuse.
type readings struct {
	freelist[reading]
	newAnswer func() wire.Answer
}

// open returns a reading for a new answer.
func (f *readings) open() *reading {
	r := f.get()
	if r == nil {
		r = &reading{answer: f.newAnswer()}
	}
	r.reset()
	return r
}

func (r *reading) reset() {
	r.parser.reset()
	r.out = backends.Outcome{UsageTokens: -1, InputTokens: -1, CachedTokens: -1}
	r.kept = r.kept[:0]
}

// expect sets the request and the model that the answer must belong to. asked is the model that the request names;
// empty: the run's. number is that of the request's id; 0: it has none.
func (r *reading) expect(t *target, asked string, ids *policy.RequestIDs, number uint64) {
	want := wire.Expected{StreamMode: t.stream}
	t.models.Expect(&want, asked)
	if number != 0 {
		want.ID, want.Must = ids.Append(r.id[:0], number), t.must
	}
	r.answer.Expect(want)
}

// keepLine is the largest memory of a header line, in bytes, that is kept for other answers.
const keepLine = 4 << 10

// close frees the reading of a connection, if it has one.
func (f *readings) close(c *conn) {
	r := c.reading
	if r == nil {
		return
	}
	c.reading = nil
	if cap(r.parser.line) > keepLine {
		r.parser.line = nil
	}
	f.put(r)
}

// refusal returns why an answer was refused. It is rare.
func (r *reading) refusal() policy.Failure {
	seen := response(&r.parser)
	return seen.Refusal(r.kept, time.Now())
}
