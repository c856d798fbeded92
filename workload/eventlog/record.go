package eventlog

import (
	"cmp"
	"encoding/binary"
	"errors"
	"math"
	"math/bits"

	"github.com/mlperf-go/mlperf-go/ledger"
)

// Header contains what all records of a file have in common.
type Header struct {
	Schema  string `json:"schema"` // set by Create
	ID      string `json:"id"`     // of the run
	StartNS int64  `json:"start_ns"`
	Model   string `json:"model"`
	Backend string `json:"backend,omitempty"` // protocol
	// Rehearsal is why the run is a rehearsal; empty: it is a measurement.
	Rehearsal string `json:"rehearsal,omitempty"`
}

// Request is what happened to one request. Times are wall clock in ns since 1970; 0: it did not happen.
type Request struct {
	Seq     int // number within the run, in the order of the plan; those that were not sent are missing
	Stage   int
	Session int // from 1; 0: none
	Turn    int // within the session, from 0
	Group   int // of prompts with a common prefix, or the class of priority, from 1; 0: none
	Adapter int // of the profile's LoRA adapters, from 1; 0: none

	DueNS int64 // when it was to be sent by the schedule
	// ReadyNS is when it was due and the limit of requests in flight had room. If the server refused its first
	// connections, the time between the first attempt and the sending is added.
	ReadyNS     int64
	SentNS      int64 // an attempt wrote it for the first time
	FirstByteNS int64 // of the answer
	ChoiceNS    int64 // first event that has a choice, if it came before the first token
	VisibleNS   int64 // first token of a stream that is not reasoning
	EndNS       int64 // the answer ended, or failed

	Events []Event // of a stream, in ascending order

	RequestBytes              int // of the request's body
	AskedInput, AskedOutput   int // tokens that the profile asked for; 0: unknown
	InputTokens, OutputTokens int // by the server's or this program's count; 0: unknown, or none
	CachedTokens              int // of InputTokens, in the server's prefix cache; see HasCached
	Endpoint, Retries         int
	Reason                    ledger.Reason // empty: success
	Finish                    string        // the server's word for how the answer ended
	Cancelled                 bool          // by the client, on purpose
	// Leaver is set if the client was to leave, even if the answer ended before; Slow is set if it was to read
	// slowly. Their latencies depend on the client as much as on the server.
	Leaver, Slow bool
	// HasCached is set if the server reported CachedTokens.
	HasCached bool
}

// Event is a part of a stream.
type Event struct {
	AtNS   int64
	Tokens int
}

// FirstNS returns the time of the first token, reasoning included; 0: none.
func (r *Request) FirstNS() int64 {
	if len(r.Events) == 0 {
		return 0
	}
	return r.Events[0].AtNS
}

// LastNS returns the time of the last token; 0: none.
func (r *Request) LastNS() int64 {
	if len(r.Events) == 0 {
		return 0
	}
	return r.Events[len(r.Events)-1].AtNS
}

// Streamed returns the number of tokens that the events brought.
func (r *Request) Streamed() (n int) {
	for i := range r.Events {
		n += r.Events[i].Tokens
	}
	return n
}

// OK reports whether the request was answered.
func (r *Request) OK() bool { return r.Reason == "" && !r.Cancelled && r.EndNS != 0 }

// Ordinary reports whether the client was to read at once until the end. Because this is decided before the answer,
// the latencies of ordinary requests are an unbiased sample.
func (r *Request) Ordinary() bool { return !r.Leaver && !r.Slow }

// End is the last record of a file.
type End struct {
	Complete bool   `json:"complete"` // nothing ended the run early
	Cause    string `json:"cause,omitempty"`
	Requests int64  `json:"requests"` // set by Close
}

const mostEvents = 1 << 22 // of one request

// numbers returns the counts of a request except Seq, those that change most often first.
func (r *Request) numbers() [13]*int {
	return [...]*int{&r.InputTokens, &r.OutputTokens, &r.AskedInput, &r.AskedOutput, &r.Session, &r.Turn, &r.RequestBytes,
		&r.Group, &r.CachedTokens, &r.Adapter, &r.Stage, &r.Endpoint, &r.Retries}
}

// times returns the stamps of a request in the order of the file.
func (r *Request) times() [7]*int64 {
	return [...]*int64{&r.DueNS, &r.ReadyNS, &r.SentNS, &r.FirstByteNS, &r.ChoiceNS, &r.VisibleNS, &r.EndNS}
}

// The bytes of a request begin with what differs from the request before it: one bit for each of numbers, for each of
// times that only one of them has, and for the words and flags.
const (
	timeBit = 1 << 13
	wordBit = timeBit << 7
)

// differs returns the bits of a request after another one.
func (r *Request) differs(last *Request) (bits uint64) {
	n, before := r.numbers(), last.numbers()
	for i := range n {
		bits |= bit(*n[i] != *before[i], 1<<i)
	}
	at, then := r.times(), last.times()
	for i := range at {
		bits |= bit((*at[i] != 0) != (*then[i] != 0), timeBit<<i)
	}
	return bits | bit(r.Reason != last.Reason || r.Finish != last.Finish || r.flags() != last.flags(), wordBit)
}

// appendRequest appends the bytes of a request, which the one before it in its block shortens. The first time is the
// difference to that of the last request, each other time to the one before it, each event to the one before it or to
// the first byte.
func appendRequest(dst []byte, r, last *Request, startNS int64) []byte {
	bits := r.differs(last)
	dst = appendInt(appendUint(dst, bits), int64(r.Seq-last.Seq))
	before := last.numbers()
	for i, n := range r.numbers() {
		if bits>>i&1 != 0 {
			dst = appendInt(dst, int64(*n-*before[i]))
		}
	}
	from := cmp.Or(last.DueNS, startNS)
	for _, at := range r.times() {
		if *at != 0 {
			dst = appendInt(dst, *at-from)
			from = *at
		}
	}
	dst = appendUint(dst, uint64(len(r.Events)))
	from = cmp.Or(r.FirstByteNS, startNS)
	for i := range r.Events {
		e := &r.Events[i]
		gap := e.AtNS - from
		from = e.AtNS
		if e.Tokens == 1 {
			dst = appendInt(dst, gap<<1)
			continue
		}
		dst = appendUint(appendInt(dst, gap<<1|1), uint64(e.Tokens))
	}
	if bits&wordBit == 0 {
		return dst
	}
	dst = append(appendUint(dst, uint64(len(r.Reason))), r.Reason...)
	dst = append(appendUint(dst, uint64(len(r.Finish))), r.Finish...)
	return appendUint(dst, r.flags())
}

// follow makes a request the last one. Its events are not kept.
func (r *Request) follow(next *Request) {
	*r = *next
	r.Events = nil
}

// appendUint is binary.AppendUvarint; most numbers have one byte.
func appendUint(dst []byte, v uint64) []byte {
	if v < 0x80 {
		return append(dst, byte(v))
	}
	return binary.AppendUvarint(dst, v)
}

// appendInt is binary.AppendVarint.
func appendInt(dst []byte, v int64) []byte { return appendUint(dst, uint64(v<<1)^uint64(v>>63)) }

// The flags of a request.
const (
	flagCancelled = 1 << iota
	flagLeaver
	flagSlow
	flagHasCached
)

func (r *Request) flags() uint64 {
	return bit(r.Cancelled, flagCancelled) | bit(r.Leaver, flagLeaver) | bit(r.Slow, flagSlow) |
		bit(r.HasCached, flagHasCached)
}

func bit(is bool, flag uint64) uint64 {
	if is {
		return flag
	}
	return 0
}

var errRecord = errors.New("a record is damaged")

// cursor reads the bytes of one block. What it returns after a fault means nothing.
type cursor struct {
	b   []byte
	bad bool
}

// number reads an unsigned number; most have one byte.
func (c *cursor) number() uint64 {
	if len(c.b) > 0 && c.b[0] < 0x80 {
		v := c.b[0]
		c.b = c.b[1:]
		return uint64(v)
	}
	return c.long()
}

// long reads a number of up to 8 bytes without a branch for each.
func (c *cursor) long() uint64 {
	if len(c.b) >= 8 {
		v := binary.LittleEndian.Uint64(c.b)
		if ends := ^v & 0x8080808080808080; ends != 0 {
			c.b = c.b[bits.TrailingZeros64(ends)/8+1:]
			v &= (ends ^ (ends - 1)) & 0x7f7f7f7f7f7f7f7f // 7 bits of each byte up to the last
			v = v&0x007f007f007f007f | v&0x7f007f007f007f00>>1
			v = v&0x00003fff00003fff | v&0x3fff00003fff0000>>2
			return v&0x0fffffff | v&0x0fffffff00000000>>4
		}
	}
	v, n := binary.Uvarint(c.b)
	if n <= 0 {
		c.b, c.bad = nil, true // no further bytes are read after a fault
		return 0
	}
	c.b = c.b[n:]
	return v
}

// varint reads a number with a sign, as binary.Varint.
func (c *cursor) varint() int64 {
	v := c.number()
	return int64(v>>1) ^ -int64(v&1)
}

// atMost reads an unsigned number with a limit.
func (c *cursor) atMost(most uint64) uint64 {
	v := c.number()
	if v > most {
		c.bad = true
		return 0
	}
	return v
}

// text reads a string. Most strings equal that of the previous record, and need no memory then.
func (c *cursor) text(before string) string {
	n := c.atMost(uint64(len(c.b)))
	if c.bad || n > uint64(len(c.b)) {
		c.bad = true
		return ""
	}
	of := c.b[:n]
	c.b = c.b[n:]
	if string(of) == before {
		return before
	}
	return string(of)
}

// request fills a request, whose events are reused, with the one after last.
func (c *cursor) request(r, last *Request, startNS int64) error {
	events := r.Events[:0]
	*r = *last
	bits := c.atMost(wordBit<<1 - 1)
	r.Seq = c.count(r.Seq)
	for i, n := range r.numbers() {
		if bits>>i&1 != 0 {
			*n = c.count(*n)
		}
	}
	from := cmp.Or(last.DueNS, startNS)
	for i, at := range r.times() {
		if (*at != 0) == (bits&(timeBit<<i) != 0) {
			*at = 0
			continue
		}
		from += c.varint()
		*at = from
	}
	r.Events = c.events(events, cmp.Or(r.FirstByteNS, startNS))
	if bits&wordBit != 0 {
		r.Reason, r.Finish = ledger.Reason(c.text(string(r.Reason))), c.text(r.Finish)
		flags := c.atMost(flagHasCached<<1 - 1)
		r.Cancelled, r.Leaver, r.Slow = flags&flagCancelled != 0, flags&flagLeaver != 0, flags&flagSlow != 0
		r.HasCached = flags&flagHasCached != 0
	}
	if c.bad {
		return errRecord
	}
	return nil
}

// count reads a count as its difference to another one.
func (c *cursor) count(before int) int {
	v := int64(before) + c.varint()
	if v > math.MaxInt32*1024 || v < math.MinInt32 {
		c.bad = true
		return 0
	}
	return int(v)
}

// events appends the events of a request.
func (c *cursor) events(dst []Event, from int64) []Event {
	for range c.atMost(min(mostEvents, uint64(len(c.b)))) {
		v := c.varint()
		e := Event{AtNS: from + v>>1, Tokens: 1}
		if v&1 == 1 {
			e.Tokens = int(c.atMost(math.MaxInt32))
		}
		from = e.AtNS
		if c.bad {
			break
		}
		dst = append(dst, e)
	}
	return dst
}
