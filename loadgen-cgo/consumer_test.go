//go:build cgo && !noloadgen

package loadgen_test

import (
	"container/heap"
	"encoding/binary"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"time"

	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
)

// behaviour describes the system under test of the golden cases (golden/loadgen/README.md, "The system under test").
type behaviour struct {
	Name          string
	Complete      string
	BaseUS        int64  `json:"base_us"`
	SlowEvery     int    `json:"slow_every"`
	SlowUS        int64  `json:"slow_us"`
	SlowLimit     int    `json:"slow_limit"`
	FirstToken    int    `json:"first_token"`
	TTFTUS        int64  `json:"ttft_us"`
	SlowTTFTEvery int    `json:"slow_ttft_every"`
	SlowTTFTUS    int64  `json:"slow_ttft_us"`
	BlockFirstUS  int64  `json:"block_first_us"`
	SeriesSlow    string `json:"series_slow"`
	Tokens        string `json:"n_tokens"`
	Data          string
}

// quiet is the time without queries after which a system that holds its answers until the flush assumes a flush,
// because the bridge reports flushes only after the test.
const quiet = 40 * time.Millisecond

func (b *behaviour) delays(o int, ends []int) (firstToken, answer time.Duration) {
	us, ttft := b.BaseUS, b.TTFTUS
	if b.SeriesSlow != "" {
		series := 0
		for series < len(ends) && o >= ends[series] {
			series++
		}
		us = 0
		if series < len(b.SeriesSlow) && b.SeriesSlow[series] == '1' {
			us = b.SlowUS
		}
	} else if b.SlowEvery > 0 && o%b.SlowEvery == b.SlowEvery-1 && (b.SlowLimit == 0 || o < b.SlowLimit) {
		us = b.SlowUS
	}
	if b.SlowTTFTEvery > 0 && o%b.SlowTTFTEvery == b.SlowTTFTEvery-1 {
		ttft = b.SlowTTFTUS
	}
	if b.FirstToken == 0 {
		ttft = 0
	}
	return time.Duration(ttft) * time.Microsecond, time.Duration(max(us, ttft)) * time.Microsecond
}

func (b *behaviour) tokenCount(i int) int {
	switch kind, k, _ := strings.Cut(b.Tokens, ":"); kind {
	case "idx":
		return 2 + i%7
	case "long":
		return longCount(i)
	case "const":
		n, err := strconv.Atoi(k)
		if err != nil {
			panic(err)
		}
		return n
	case "badmix":
		return []int{5, 0, 1, -3}[i%4]
	case "none", "":
		return 0
	}
	panic(fmt.Sprintf("n_tokens %q is unknown to the test", b.Tokens))
}

// longCount returns 2 to 5,000 tokens, or 20,000, which are more bytes than a ring holds back.
func longCount(i int) int {
	if i%50 == 49 {
		return 20_000
	}
	return 2 + i*i%4999
}

// answer reports sample i. It reports token ids with the []int32 call and other answers with the call for bytes.
func (c *consumer) answer(id loadgen.ResponseID, i int) {
	n := c.b.tokenCount(i)
	complete, completeBytes := c.shard.QuerySamplesComplete, c.shard.QuerySamplesCompleteBytes
	if c.hold > 0 {
		complete, completeBytes = c.shard.Hold, c.shard.HoldBytes
		c.held++
	}
	switch c.b.Data {
	case "tokens":
		c.tokens = c.tokens[:0]
		for j := range n {
			c.tokens = append(c.tokens, int32((31*i+7*j)%32000))
		}
		complete(id, c.tokens, n)
	case "idx8", "":
		c.bytes = binary.LittleEndian.AppendUint64(c.bytes[:0], uint64(i))
		completeBytes(id, c.bytes, n)
	case "var":
		c.bytes = c.bytes[:0]
		for j := range i % 5 {
			c.bytes = append(c.bytes, byte(3*i+17*j))
		}
		completeBytes(id, c.bytes, n)
	case "empty":
		completeBytes(id, nil, n)
	default:
		panic(fmt.Sprintf("data %q is unknown to the test", c.b.Data))
	}
	if c.scribble {
		for k := range c.tokens {
			c.tokens[k] = -1
		}
		for k := range c.bytes {
			c.bytes[k] = 0xff
		}
	}
	if c.held == c.hold {
		c.flush()
	}
}

// flush reports held answers.
func (c *consumer) flush() {
	c.held = 0
	c.shard.Flush()
}

func (c *consumer) firstToken(id loadgen.ResponseID, i int) {
	c.first[0] = int32((31 * i) % 32000)
	c.shard.FirstTokenComplete(id, c.first[:])
	if c.scribble {
		c.first[0] = -1
	}
}

// consumer reads one shard's queries and reports their answers when due, on one OS thread.
type consumer struct {
	shard    *loadgen.Shard
	number   int
	b        *behaviour
	ends     []int
	scribble bool
	hold     int // answers that are reported together; 0: each by itself
	held     int // of them
	seen     []loadgen.Query
	due      events
	order    int
	last     time.Time
	tokens   []int32
	bytes    []byte
	first    [1]int32 // part of an object with pointers, as is common in callers
	ended    chan struct{}
}

func (c *consumer) run() {
	runtime.LockOSThread()
	defer close(c.ended)
	queries := make([]loadgen.Query, 256)
	for {
		n, open := c.shard.Wait(queries, c.pause())
		for _, q := range queries[:n] {
			c.take(q)
		}
		if n > 0 {
			c.last = time.Now()
		}
		c.report()
		c.flush()
		if !open {
			return
		}
	}
}

// runLean is the variant of run for measurements: it answers immediately and records nothing.
func (c *consumer) runLean() {
	runtime.LockOSThread()
	defer close(c.ended)
	queries := make([]loadgen.Query, 256)
	for {
		n, open := c.shard.Wait(queries, time.Second)
		for _, q := range queries[:n] {
			c.firstToken(q.ID, q.Index)
			c.answer(q.ID, q.Index)
		}
		if !open {
			return
		}
	}
}

// pause returns the time until the next answer is due. Wait rounds up to milliseconds, so pause itself sleeps for the
// last millisecond.
func (c *consumer) pause() time.Duration {
	if len(c.due) == 0 {
		return time.Second
	}
	if c.b.Complete == "flush" {
		return quiet
	}
	left := time.Until(time.Unix(0, c.due[0].at))
	if left > time.Millisecond {
		return left - time.Millisecond
	}
	time.Sleep(left)
	return 0
}

func (c *consumer) take(q loadgen.Query) {
	c.seen = append(c.seen, q)
	first, answer := c.b.delays(q.Seq, c.ends)
	if answer == 0 && len(c.due) == 0 && c.b.Complete != "flush" {
		if c.b.FirstToken != 0 {
			c.firstToken(q.ID, q.Index)
		}
		c.answer(q.ID, q.Index)
		return
	}
	if c.b.FirstToken != 0 {
		c.push(event{at: q.IssuedNS + int64(first), q: q, first: true})
	}
	c.push(event{at: q.IssuedNS + int64(answer), q: q})
}

func (c *consumer) push(e event) {
	c.order++
	e.order = c.order
	heap.Push(&c.due, e)
}

func (c *consumer) report() {
	if c.b.Complete == "flush" && time.Since(c.last) < quiet {
		return
	}
	for len(c.due) > 0 && c.due[0].at <= time.Now().UnixNano() {
		e := heap.Pop(&c.due).(event)
		if e.first {
			c.firstToken(e.q.ID, e.q.Index)
		} else {
			c.answer(e.q.ID, e.q.Index)
		}
	}
}

// event is a first token or an answer, and the time at which it is due.
type event struct {
	at    int64
	order int
	q     loadgen.Query
	first bool
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	if e[i].at != e[j].at {
		return e[i].at < e[j].at
	}
	return e[i].order < e[j].order
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}
