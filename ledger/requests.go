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
	Schedule []int64 // due times as offsets from T0NS in ns, by Seq; nil if samples have no due times
	T0NS     int64
	Origin   Origin
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
// output_tokens, events and merged of a stream, finish (the server's finish reason), source, endpoint, retries, reason.
// The ending of path (.zst, .gz) selects the compression.
func WriteRequests(access atomicfile.Access, path string, t *Test) error {
	lines, err := access.CreateBulk(path)
	if err != nil {
		return err
	}
	w := newRequestWriter(t)
	var text []byte
	n := 0
	for i := range t.Entries {
		text = append(w.append(text, &t.Entries[i]), '\n')
		if n++; len(text) < atomicfile.LinesBuffer && i < len(t.Entries)-1 {
			continue
		}
		if err := lines.AppendLines(text, n); err != nil {
			lines.Abort()
			return err
		}
		text, n = text[:0], 0
	}
	return lines.Close()
}

// FirstIssueNS returns the first issue in ns since 1970, to which the times of a request log are relative; 0: no
// query was issued.
func FirstIssueNS(entries []Entry) int64 {
	first := int64(0)
	for i := range entries {
		if at := entries[i].IssuedNS; first == 0 || at < first {
			first = at
		}
	}
	return first
}

// requestWriter holds the values that all lines of a test share. Names are already encoded as JSON.
type requestWriter struct {
	test                       *Test
	first                      int64 // first issue in ns since 1970; the file's times are relative to it
	finishes, sources, reasons []string
}

func newRequestWriter(t *Test) *requestWriter {
	return &requestWriter{test: t, first: FirstIssueNS(t.Entries), finishes: quoted(t.Names.Finishes),
		sources: quoted(t.Names.Sources), reasons: quoted(t.Names.Reasons)}
}

// quoted returns the names as JSON strings. Finish reasons need this, because servers choose them.
func quoted[T ~string](names []T) []string {
	list := make([]string, len(names))
	for i, name := range names {
		text, _ := json.Marshal(string(name)) // encoding a string cannot fail
		list[i] = string(text)
	}
	return list
}

func (w *requestWriter) append(b []byte, e *Entry) []byte {
	b = append(b, `{"seq":`...)
	b = strconv.AppendInt(b, int64(e.Seq), 10)
	b = appendInt(b, "index", int64(e.Index))
	b = appendInt(b, "scheduled", w.test.due(e)-w.first)
	for _, rt := range requestTimes {
		if at := *rt.of(e); at != 0 {
			b = appendInt(b, rt.key, at-w.first)
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
	if w.test.Names.Finish(e) != "" {
		b = append(append(b, `,"finish":`...), w.finishes[e.Finish]...)
	}
	b = append(append(b, `,"source":`...), w.sources[e.Source]...)
	b = append(append(b, `,"reason":`...), w.reasons[e.Reason]...)
	return append(b, '}')
}

func appendInt(b []byte, key string, v int64) []byte {
	b = append(append(append(b, `,"`...), key...), `":`...)
	return strconv.AppendInt(b, v, 10)
}
