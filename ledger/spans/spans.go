package spans

import (
	"cmp"
	"container/heap"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/ledger"
)

// MaxBytes limits the uncompressed size of the file. About 350,000 requests fit, and the viewers can open such a file
// (docs/how-to/profiling.md#spans).
const MaxBytes = 256 << 20

// Options configures Write.
type Options struct {
	Endpoints []string // endpoints' names, by Entry.Endpoint
	MaxBytes  int64    // limit of the uncompressed size in bytes; 0: MaxBytes, the constant
}

// Written reports how many requests a file contains.
type Written struct {
	Requests int `json:"requests"`
	Left     int `json:"requests_left_out"` // requests omitted because the file would exceed MaxBytes
}

// The processes of the trace. Each endpoint has one from pidEndpoint on, with a thread for each request in flight.
const (
	pidTest = 1 + iota
	pidWaiting
	pidEndpoint
)

// part is one span of a request, from one timestamp to the next.
type part struct {
	name     string
	from, to func(*ledger.Entry) int64
}

// waiting lists the parts before a request is sent; flight lists those while it is in flight.
var (
	waiting = []part{
		{"issue", func(e *ledger.Entry) int64 { return e.IssuedNS }, func(e *ledger.Entry) int64 { return e.DequeuedNS }},
		{"send", func(e *ledger.Entry) int64 { return e.DequeuedNS }, func(e *ledger.Entry) int64 { return e.SentNS }},
	}
	flight = []part{
		{"first token", func(e *ledger.Entry) int64 { return e.SentNS }, firstToken},
		// an answer without a stream has no first token, since all tokens arrive together
		{"stream", firstToken, lastToken},
		{"complete", lastToken, func(e *ledger.Entry) int64 { return e.DoneNS }},
	}
)

func firstToken(e *ledger.Entry) int64 { return e.FirstTokenNS }
func lastToken(e *ledger.Entry) int64  { return e.LastTokenNS }

// Write writes the spans of every request into path, up to the limit of its size. A name that ends in .gz is
// compressed; both viewers open such files.
func Write(access atomicfile.Access, path string, t *ledger.Test, o Options) (Written, error) {
	lines, err := access.CreateLines(path)
	if err != nil {
		return Written{}, err
	}
	w := &writer{add: lines.AppendRaw, left: cmp.Or(o.MaxBytes, MaxBytes), names: t.Names}
	w.write(t.Entries, o.Endpoints)
	if w.err != nil {
		lines.Abort()
		return Written{}, w.err
	}
	return w.written, lines.Close()
}

// writer writes events, one per line.
type writer struct {
	add     func(line []byte) error
	names   ledger.Names
	startNS int64 // time in ns since 1970 at which the file's times start
	left    int64 // bytes left before the limit
	buffer  []byte
	written Written
	err     error
}

// reserve is the number of bytes kept free for the end of the file and the names of its processes.
const reserve = 4 << 10

func (w *writer) write(entries []ledger.Entry, endpoints []string) {
	order := inOrder(entries)
	if len(order) > 0 {
		w.startNS = order[0].IssuedNS
	}
	w.line(`{"displayTimeUnit":"ns","traceEvents":[`)
	w.process(pidTest, "test")
	w.process(pidWaiting, "client, before the request is sent")
	for i, name := range endpoints {
		w.process(pidEndpoint+i, name)
	}
	w.flush(order)
	lanes := map[int16]*lanes{}
	for i, e := range order {
		if w.left < reserve || w.err != nil {
			w.written.Left = len(order) - i
			break
		}
		w.request(e, lanes)
		w.written.Requests++
	}
	about, _ := json.Marshal(w.written) // two numbers
	w.line(fmt.Sprintf(`{"ph":"M","name":"process_labels","pid":%d,"args":{"labels":"%d requests, %d left out"}}`, pidTest,
		w.written.Requests, w.written.Left))
	w.line(`],"otherData":` + string(about) + `}`)
}

// inOrder returns the issued entries in the order in which they were sent.
func inOrder(entries []ledger.Entry) []*ledger.Entry {
	list := make([]*ledger.Entry, len(entries))
	for i := range entries {
		list[i] = &entries[i]
	}
	slices.SortStableFunc(list, func(a, b *ledger.Entry) int {
		return cmp.Or(cmp.Compare(cmp.Or(a.SentNS, a.IssuedNS), cmp.Or(b.SentNS, b.IssuedNS)), cmp.Compare(a.Seq, b.Seq))
	})
	return list
}

// flush writes the span from the last issue to the last answer, during which LoadGen waits after FlushQueries.
func (w *writer) flush(order []*ledger.Entry) {
	var issued, done int64
	for _, e := range order {
		issued, done = max(issued, e.IssuedNS), max(done, e.DoneNS)
		w.startNS = min(w.startNS, e.IssuedNS)
	}
	if done > issued {
		w.span("flush", pidTest, 1, issued, done, false, nil)
	}
}

// request writes the spans of one request.
func (w *writer) request(e *ledger.Entry, of map[int16]*lanes) {
	for i, p := range waiting {
		from, to := p.from(e), p.to(e)
		if from == 0 || to < from {
			continue
		}
		id := int64(e.Seq)*int64(len(waiting)) + int64(i)
		w.async(p.name, 'b', id, from, e.Seq)
		w.async(p.name, 'e', id, to, e.Seq)
	}
	if e.SentNS == 0 || e.DoneNS < e.SentNS {
		return
	}
	l := of[e.Endpoint]
	if l == nil {
		l = &lanes{}
		of[e.Endpoint] = l
	}
	pid, lane := pidEndpoint+int(max(e.Endpoint, 0)), l.take(e.SentNS, e.DoneNS)
	w.span("request", pid, lane, e.SentNS, e.DoneNS, false, func(b []byte) []byte { return w.about(b, e) })
	after := e.SentNS
	for _, p := range flight {
		if from, to := p.from(e), p.to(e); from >= after && to >= from && to <= e.DoneNS {
			after = to
			w.span(p.name, pid, lane, from, to, true, func(b []byte) []byte { return field(b, "seq", int64(e.Seq)) })
		}
	}
}

// about appends the arguments of a request.
func (w *writer) about(b []byte, e *ledger.Entry) []byte {
	b = field(b, "seq", int64(e.Seq))
	b = field(append(b, ','), "index", int64(e.Index))
	b = field(append(b, ','), "input_tokens", int64(e.InputTokens))
	b = field(append(b, ','), "output_tokens", int64(e.OutputTokens))
	if reason := w.names.Reason(e); reason != "" {
		b = strconv.AppendQuote(append(b, `,"reason":`...), string(reason)) // needs no escapes
	}
	return b
}

func field(b []byte, name string, v int64) []byte {
	return strconv.AppendInt(append(append(append(b, '"'), name...), `":`...), v, 10)
}

// aboveWhole is the fourth decimal of a time, 0.2 ns. Perfetto's importers before 2025 multiply by 1,000 and cut, which
// makes 2 ns of 0.003 µs, and drop a span that then ends after the one around it. Others round, to the same number.
const aboveWhole = '2'

// span writes a complete event. isPart marks a span inside another one, which must not end before it. args appends the
// span's arguments; nil: it has none.
func (w *writer) span(name string, pid, tid int, from, to int64, isPart bool, args func([]byte) []byte) {
	b := append(w.buffer[:0], `{"ph":"X","name":"`...)
	b = append(append(b, name...), `","pid":`...)
	b = strconv.AppendInt(b, int64(pid), 10)
	b = strconv.AppendInt(append(b, `,"tid":`...), int64(tid), 10)
	b = append(micro(append(b, `,"ts":`...), from-w.startNS), aboveWhole)
	b = micro(append(b, `,"dur":`...), to-from)
	if !isPart {
		b = append(b, aboveWhole)
	}
	if args != nil {
		b = append(args(append(b, `,"args":{`...)), '}')
	}
	w.event(append(b, "},"...))
}

// async writes the begin or the end of an asynchronous event.
func (w *writer) async(name string, phase byte, id, at int64, seq int32) {
	b := append(append(w.buffer[:0], `{"ph":"`...), phase)
	b = append(append(b, `","cat":"client","name":"`...), name...)
	b = strconv.AppendInt(append(b, `","id":`...), id, 10)
	b = strconv.AppendInt(append(b, `,"pid":`...), pidWaiting, 10)
	b = append(micro(append(b, `,"tid":1,"ts":`...), at-w.startNS), aboveWhole)
	if phase == 'b' {
		b = append(field(append(b, `,"args":{`...), "seq", int64(seq)), '}')
	}
	w.event(append(b, "},"...))
}

// micro appends a time in ns as µs, which is the format's unit.
func micro(b []byte, ns int64) []byte {
	const perMicro = 1000
	b = append(strconv.AppendInt(b, ns/perMicro, 10), '.')
	rest := ns % perMicro
	return append(b, byte('0'+rest/100), byte('0'+rest/10%10), byte('0'+rest%10))
}

func (w *writer) process(pid int, name string) {
	quoted, _ := json.Marshal(name) // encoding a string cannot fail
	w.line(fmt.Sprintf(`{"ph":"M","name":"process_name","pid":%d,"args":{"name":%s}},`, pid, quoted))
}

func (w *writer) line(text string) { w.event([]byte(text)) }

func (w *writer) event(line []byte) {
	w.buffer = line
	w.left -= int64(len(line)) + 1
	if w.err == nil {
		w.err = w.add(line)
	}
}

// lanes assigns each request of an endpoint a thread that no other request uses at the same time, because the spans of
// a thread must nest.
type lanes struct {
	busy  ends
	free  numbers
	count int
}

// take returns the lowest free lane from one time to another. Calls must pass from in ascending order.
func (l *lanes) take(from, to int64) int {
	for len(l.busy) > 0 && l.busy[0].at < from {
		heap.Push(&l.free, heap.Pop(&l.busy).(end).lane)
	}
	lane := l.count + 1
	if len(l.free) > 0 {
		lane = heap.Pop(&l.free).(int)
	} else {
		l.count++
	}
	heap.Push(&l.busy, end{to, lane})
	return lane
}

type end struct {
	at   int64
	lane int
}

// ends is a heap of the ends of lanes, the earliest first.
type ends []end

func (e ends) Len() int           { return len(e) }
func (e ends) Less(i, j int) bool { return e[i].at < e[j].at }
func (e ends) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *ends) Push(v any)        { *e = append(*e, v.(end)) }
func (e *ends) Pop() any {
	v := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return v
}

// numbers is a heap of numbers, the lowest first.
type numbers []int

func (n numbers) Len() int           { return len(n) }
func (n numbers) Less(i, j int) bool { return n[i] < n[j] }
func (n numbers) Swap(i, j int)      { n[i], n[j] = n[j], n[i] }
func (n *numbers) Push(v any)        { *n = append(*n, v.(int)) }
func (n *numbers) Pop() any {
	v := (*n)[len(*n)-1]
	*n = (*n)[:len(*n)-1]
	return v
}
