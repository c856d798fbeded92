// HOT PATH: openReading and closeReading run once a request. No allocation once there are as many as answers come in
// pieces.

package http1

import (
	"time"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/policy"
	"github.com/mlperf-go/mlperf-go/backends/internal/wire"
)

// reading is what one answer is read with. A connection has one from the first byte of an answer to its last, and the
// one that was used last is used next: an answer that comes whole, however many requests are in flight, is read with
// memory that the processor still has at hand.
type reading struct {
	parser parser
	answer wire.Answer
	out    backends.Outcome
	kept   []byte                // first KiB of the answer's body
	id     [policy.IDLength]byte // of the request
}

// openReading gives one that has read nothing.
func (l *loop) openReading() *reading {
	n := len(l.unread)
	if n == 0 {
		r := &reading{answer: l.client.protocol.NewAnswer()}
		r.reset()
		return r
	}
	r := l.unread[n-1]
	l.unread = l.unread[:n-1]
	r.reset()
	return r
}

func (r *reading) reset() {
	r.parser.reset()
	r.out = backends.Outcome{UsageTokens: -1, InputTokens: -1}
	r.kept = r.kept[:0]
}

// expect tells the reader of an answer which request and which model it must be of.
func (l *loop) expect(c *conn) {
	r, t := c.reading, &l.client.targets[c.endpoint]
	want := wire.Expected{Model: t.model, Learn: t.model == "",
		StreamMode: l.client.config.Endpoints[c.endpoint].StreamMode}
	if number := c.exchange.number; number != 0 {
		want.ID, want.Must = l.ids.Append(r.id[:0], number), t.must
	}
	r.answer.Expect(want)
}

// keepLine is the longest header line, in bytes, whose memory is kept for other answers.
const keepLine = 4 << 10

// closeReading takes it from a connection, where it has one.
func (l *loop) closeReading(c *conn) {
	r := c.reading
	if r == nil {
		return
	}
	c.reading = nil
	if cap(r.parser.line) > keepLine {
		r.parser.line = nil
	}
	l.unread = append(l.unread, r)
}

// refusal says why an answer was refused; it is rare.
func (r *reading) refusal() policy.Failure {
	seen := response(&r.parser)
	return seen.Refusal(r.kept, time.Now())
}
