package ledger

import (
	"encoding/json"
	"strconv"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
)

// Test is the input of Compute and of the requests file.
type Test struct {
	Entries  []Entry
	Names    Names
	Schedule []int64 // offsets from T0NS in ns, by Seq; nil if samples have no due times
	T0NS     int64
	Origin   Origin
}

// Metrics returns the figures of the test.
func (t *Test) Metrics() Metrics {
	return Compute(t.Entries, t.Schedule, t.T0NS, Options{Origin: t.Origin})
}

// requestTime is a time of an entry and its key in the requests file.
type requestTime struct {
	key string
	of  func(*Entry) *int64
}

// requestTimes are written in this order. Times that did not happen are omitted.
var requestTimes = []requestTime{
	{"issued", func(e *Entry) *int64 { return &e.IssuedNS }},
	{"dequeued", func(e *Entry) *int64 { return &e.DequeuedNS }},
	{"sent", func(e *Entry) *int64 { return &e.SentNS }},
	{"first_byte", func(e *Entry) *int64 { return &e.FirstByteNS }},
	{"first_token", func(e *Entry) *int64 { return &e.FirstTokenNS }},
	{"last_token", func(e *Entry) *int64 { return &e.LastTokenNS }},
	{"readable", func(e *Entry) *int64 { return &e.ReadableNS }},
	{"done", func(e *Entry) *int64 { return &e.DoneNS }},
}

// WriteRequests writes one JSON line per sample: seq, index, times in ns relative to the first issue, input_tokens,
// output_tokens, events and merged of a stream, finish (the server's word), source,
// endpoint, retries, reason. The ending of path (.zst, .gz)
// selects the compression.
func WriteRequests(access atomicfile.Access, path string, t *Test) error {
	lines, err := access.CreateLines(path)
	if err != nil {
		return err
	}
	first := firstIssueNS(t.Entries)
	var line []byte
	for i := range t.Entries {
		line = appendRequest(line[:0], t, &t.Entries[i], first)
		if err := lines.AppendRaw(line); err != nil {
			lines.Abort()
			return err
		}
	}
	return lines.Close()
}

func firstIssueNS(entries []Entry) int64 {
	first := int64(0)
	for i := range entries {
		if at := entries[i].IssuedNS; first == 0 || at < first {
			first = at
		}
	}
	return first
}

func appendRequest(b []byte, t *Test, e *Entry, first int64) []byte {
	b = append(b, `{"seq":`...)
	b = strconv.AppendInt(b, int64(e.Seq), 10)
	b = appendInt(b, "index", int64(e.Index))
	b = appendInt(b, "scheduled", ScheduledNS(e, t.Schedule, t.T0NS, t.Origin)-first)
	for _, rt := range requestTimes {
		if at := *rt.of(e); at != 0 {
			b = appendInt(b, rt.key, at-first)
		}
	}
	b = appendInt(b, "input_tokens", int64(e.InputTokens))
	b = appendInt(b, "output_tokens", int64(e.OutputTokens))
	if e.Events > 0 {
		b = appendInt(b, "events", int64(e.Events))
		b = appendInt(b, "merged", int64(e.Merged))
	}
	b = appendInt(b, "endpoint", int64(e.Endpoint))
	b = appendInt(b, "retries", int64(e.Retries))
	if finish := t.Names.Finish(e); finish != "" {
		b = appendForeign(b, "finish", finish)
	}
	b = appendString(b, "source", t.Names.Source(e))
	b = appendString(b, "reason", t.Names.Reason(e))
	return append(b, '}')
}

func appendInt(b []byte, key string, v int64) []byte {
	b = append(append(append(b, `,"`...), key...), `":`...)
	return strconv.AppendInt(b, v, 10)
}

// appendForeign quotes a word of the server's as JSON.
func appendForeign(b []byte, key, word string) []byte {
	quoted, _ := json.Marshal(word) // a string is always encoded
	return append(append(append(append(b, `,"`...), key...), `":`...), quoted...)
}

// appendString quotes as Go does, which is JSON for codes of letters, digits and underscores.
func appendString[T ~string](b []byte, key string, v T) []byte {
	b = append(append(append(b, `,"`...), key...), `":`...)
	return strconv.AppendQuote(b, string(v))
}
