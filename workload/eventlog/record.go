package eventlog

import (
	"encoding/binary"
	"errors"
	"math"
)

// Header contains what all records of a file have in common.
type Header struct {
	Schema  string `json:"schema"` // set by Create
	ID      string `json:"id"`     // of the run
	StartNS int64  `json:"start_ns"`
	Model   string `json:"model"`
	// Rehearsal is why the run is a rehearsal; empty: it is a measurement.
	Rehearsal string `json:"rehearsal,omitempty"`
}

// Request is what happened to one request. Times are wall clock in ns since 1970; 0: it did not happen.
type Request struct {
	Seq     int // number within the run, in the order of the plan; those that were not sent are missing
	Stage   int
	Session int // from 1; 0: none
	Turn    int // within the session, from 0
	Group   int // of prompts with a common prefix, from 1; 0: none

	DueNS       int64 // when it was to be sent by the schedule
	ReadyNS     int64 // when it was due and the limit of requests in flight had room
	SentNS      int64 // its last byte was written
	FirstByteNS int64 // of the answer
	VisibleNS   int64 // first token that is not reasoning, if the server separates reasoning
	EndNS       int64 // the answer ended, or failed

	Events []Event // of a stream, in ascending order

	AskedInput, AskedOutput   int // tokens that the profile asked for; 0: unknown
	InputTokens, OutputTokens int // as counted; 0: unknown, or none
	Endpoint, Retries         int
	Reason                    string // failure code; empty: success
	Finish                    string // the server's word for how the answer ended
	Cancelled                 bool   // by the client, on purpose
	// Leaver is set if the client was to leave, even if the answer ended before; Slow is set if it was to read
	// slowly. Their latencies depend on the client as much as on the server.
	Leaver, Slow bool
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

// numbers returns the counts of a request in the order of the file.
func (r *Request) numbers() [11]*int {
	return [...]*int{&r.Seq, &r.Stage, &r.Session, &r.Turn, &r.Group, &r.AskedInput, &r.AskedOutput, &r.InputTokens,
		&r.OutputTokens, &r.Endpoint, &r.Retries}
}

// times returns the stamps of a request in the order of the file.
func (r *Request) times() [6]*int64 {
	return [...]*int64{&r.DueNS, &r.ReadyNS, &r.SentNS, &r.FirstByteNS, &r.VisibleNS, &r.EndNS}
}

// appendRequest appends the bytes of a request. Each time is the difference to the last one that there is.
func appendRequest(dst []byte, r *Request, startNS int64) []byte {
	for _, n := range r.numbers() {
		dst = appendInt(dst, int64(*n))
	}
	last := startNS
	for _, at := range r.times() {
		if *at == 0 {
			dst = append(dst, 0)
			continue
		}
		dst = appendInt(append(dst, 1), *at-last)
		last = *at
	}
	dst = appendUint(dst, uint64(len(r.Events)))
	last = startNS
	for i := range r.Events {
		e := &r.Events[i]
		gap := e.AtNS - last
		last = e.AtNS
		if e.Tokens == 1 {
			dst = appendInt(dst, gap<<1)
			continue
		}
		dst = appendUint(appendInt(dst, gap<<1|1), uint64(e.Tokens))
	}
	dst = append(appendUint(dst, uint64(len(r.Reason))), r.Reason...)
	dst = append(appendUint(dst, uint64(len(r.Finish))), r.Finish...)
	return appendUint(dst, r.flags())
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
)

func (r *Request) flags() uint64 {
	return bit(r.Cancelled, flagCancelled) | bit(r.Leaver, flagLeaver) | bit(r.Slow, flagSlow)
}

func bit(is bool, flag uint64) uint64 {
	if is {
		return flag
	}
	return 0
}

var errRecord = errors.New("a record is damaged")

// cursor reads the bytes of one record. What it returns after a fault means nothing.
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

func (c *cursor) long() uint64 {
	v, n := binary.Uvarint(c.b)
	if n <= 0 {
		c.b, c.bad = nil, true // nothing is read behind a fault
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

// text reads a string. Most are those of the record before, which need no memory then.
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

// decode fills a request, whose events are reused.
func (r *Request) decode(b []byte, startNS int64) error {
	reason, finish := r.Reason, r.Finish
	*r = Request{Events: r.Events[:0]}
	c := cursor{b: b}
	for _, n := range r.numbers() {
		v := c.varint()
		if v > math.MaxInt32*1024 || v < math.MinInt32 {
			return errRecord
		}
		*n = int(v)
	}
	last := startNS
	for _, at := range r.times() {
		if c.atMost(1) == 1 {
			last += c.varint()
			*at = last
		}
	}
	n := c.atMost(min(mostEvents, uint64(len(c.b))))
	last = startNS
	for range n {
		v := c.varint()
		e := Event{AtNS: last + v>>1, Tokens: 1}
		if v&1 == 1 {
			e.Tokens = int(c.atMost(math.MaxInt32))
		}
		last = e.AtNS
		if c.bad {
			return errRecord
		}
		r.Events = append(r.Events, e)
	}
	r.Reason, r.Finish = c.text(reason), c.text(finish)
	flags := c.atMost(flagCancelled | flagLeaver | flagSlow)
	r.Cancelled, r.Leaver, r.Slow = flags&flagCancelled != 0, flags&flagLeaver != 0, flags&flagSlow != 0
	if c.bad || len(c.b) > 0 {
		return errRecord
	}
	return nil
}
