package nethttp_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/openai"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// queries is a source in memory.
type queries struct {
	mu     sync.Mutex
	wake   *sync.Cond
	ready  []loadgen.Query
	issued int
	ended  bool
}

func newQueries(n int) *queries {
	s := &queries{}
	s.wake = sync.NewCond(&s.mu)
	s.issue(n)
	return s
}

func (s *queries) issue(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for range n {
		s.ready = append(s.ready, loadgen.Query{ID: loadgen.ResponseID(s.issued + 1), Index: s.issued, Seq: s.issued, IssuedNS: time.Now().UnixNano()})
		s.issued++
	}
	s.wake.Broadcast()
}

func (s *queries) end() *queries {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.wake.Broadcast()
	return s
}

func (s *queries) take(dst []loadgen.Query) int {
	n := copy(dst, s.ready)
	s.ready = s.ready[n:]
	return n
}

func (s *queries) Pop(dst []loadgen.Query) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.take(dst)
}

func (s *queries) Wait(dst []loadgen.Query, _ time.Duration) (int, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.ready) == 0 && !s.ended {
		s.wake.Wait()
	}
	n := s.take(dst)
	return n, n > 0 || !s.ended
}

// result is what became of one query.
type result struct {
	backends.Outcome
	first       []int32
	firstCalls  int
	completions int
	threads     map[int]bool
}

// recorder is a sink that keeps everything.
type recorder struct {
	mu      sync.Mutex
	results map[loadgen.ResponseID]*result
	order   []string
	gaps    int
	failed  []backends.Attempt
	done    int
}

func newRecorder() *recorder { return &recorder{results: map[loadgen.ResponseID]*result{}} }

func (r *recorder) of(q loadgen.Query) *result {
	if r.results[q.ID] == nil {
		r.results[q.ID] = &result{threads: map[int]bool{}}
	}
	r.results[q.ID].threads[syscall.Gettid()] = true
	return r.results[q.ID]
}

func (r *recorder) FirstToken(q loadgen.Query, tokens []int32, _ int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	res := r.of(q)
	res.first = append([]int32{}, tokens...)
	if res.firstCalls++; res.completions > 0 {
		r.order = append(r.order, fmt.Sprintf("first token of %d after its completion", q.ID))
	}
}

func (r *recorder) Complete(q loadgen.Query, o *backends.Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	res := r.of(q)
	res.Outcome = *o
	res.Tokens, res.Text = append([]int32(nil), o.Tokens...), bytes.Clone(o.Text)
	res.completions++
	r.done++
}

func (r *recorder) TokenGap(gapNS int64, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if gapNS < 0 || n < 1 {
		r.order = append(r.order, fmt.Sprintf("gap of %d ns for %d tokens", gapNS, n))
	}
	r.gaps++
}

func (r *recorder) Failed(a backends.Attempt) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = append(r.failed, a)
}

func (r *recorder) completed() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.done
}

// exactlyOnce checks the promise of every test: each query completed once, first tokens before, all on one thread.
func (r *recorder) exactlyOnce(t require.TestingT, n int) {
	require.Len(t, r.results, n)
	threads := map[int]bool{}
	for id, res := range r.results {
		require.Equal(t, 1, res.completions, "query %d", id)
		require.LessOrEqual(t, res.firstCalls, 1, "query %d", id)
		for thread := range res.threads {
			threads[thread] = true
		}
	}
	require.Len(t, threads, min(n, 1), "one OS thread reports everything")
	require.Empty(t, r.order)
}

// config is a streaming test configuration for one server.
func config(urls ...string) *backends.Config {
	c := &backends.Config{
		ServedModel: "m", Stream: true, NeedIDs: true,
		Request:        func(i int) []byte { return fmt.Appendf(nil, `{"prompt":[%d]}`, i) },
		RequestTimeout: 20 * time.Second, FirstTokenTimeout: 10 * time.Second, TokenTimeout: 10 * time.Second, ConnectTimeout: 5 * time.Second,
	}
	for _, u := range urls {
		c.Endpoints = append(c.Endpoints, backends.Endpoint{URL: u})
	}
	return c
}

// fdLimit is the number of files that this process may open.
func fdLimit() (uint64, error) {
	var r syscall.Rlimit
	err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r)
	return r.Cur, err
}

func open(t require.TestingT, c *backends.Config) backends.Backend {
	d, err := backends.Lookup("vllm")
	require.NoError(t, err)
	require.IsType(t, &openai.Driver{}, d)
	b, err := d.Open(c)
	require.NoError(t, err)
	return b
}

// ask sends n queries and returns what became of them.
func ask(t require.TestingT, c *backends.Config, n int) *recorder {
	r := newRecorder()
	require.NoError(t, open(t, c).Serve(context.Background(), newQueries(n).end(), r))
	r.exactlyOnce(t, n)
	return r
}

// raw is a server that answers each request with what script says, byte for byte. script gets the number of the
// connection and of the request on it, from 0; it returns false to close the connection.
func raw(t testing.TB, script func(c net.Conn, conn, request int) bool) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var all sync.WaitGroup
	stop := make(chan struct{})
	all.Go(func() {
		for conn := 0; ; conn++ {
			c, err := l.Accept()
			if err != nil {
				return
			}
			number := conn
			ended := make(chan struct{})
			all.Go(func() {
				select {
				case <-stop:
				case <-ended:
				}
				c.Close()
			})
			all.Go(func() {
				defer close(ended)
				for request := 0; readRequest(c); request++ {
					if !script(c, number, request) {
						return
					}
				}
			})
		}
	})
	t.Cleanup(func() { close(stop); l.Close(); all.Wait() })
	return "http://" + l.Addr().String()
}

// readRequest reads one request with its body.
func readRequest(c net.Conn) bool {
	var head []byte
	one := make([]byte, 1)
	for !bytes.HasSuffix(head, []byte("\r\n\r\n")) {
		if n, err := c.Read(one); n == 0 || err != nil {
			return false
		}
		head = append(head, one...)
	}
	length := 0
	for line := range strings.SplitSeq(string(head), "\r\n") {
		if value, ok := strings.CutPrefix(strings.ToLower(line), "content-length: "); ok {
			fmt.Sscan(value, &length)
		}
	}
	for length > 0 {
		n, err := c.Read(make([]byte, length))
		if err != nil {
			return false
		}
		length -= n
	}
	return true
}

// Pieces of answers.
const (
	streamHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n"
	done       = "data: [DONE]\n\n"
)

func event(ids, finish string) string {
	return fmt.Sprintf(`data: {"id":"c","object":"text_completion","choices":[{"index":0,"text":"w","finish_reason":%s,"token_ids":[%s]}]}`+"\n\n", finish, ids)
}

func usage(n int) string {
	return fmt.Sprintf(`data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":%d}}`+"\n\n", n)
}

// chunked makes one chunk of each part and ends the body.
func chunked(parts ...string) string { return chunks(parts...) + "0\r\n\r\n" }

func chunks(parts ...string) string {
	var b strings.Builder
	for _, p := range parts {
		fmt.Fprintf(&b, "%x\r\n%s\r\n", len(p), p)
	}
	return b.String()
}

func whole(status int, contentType, body string) string {
	return fmt.Sprintf("HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s", status, http.StatusText(status), contentType, len(body), body)
}

// answers is a script that sends the same bytes to each request.
func answers(text string) func(net.Conn, int, int) bool {
	return func(c net.Conn, _, _ int) bool {
		_, err := c.Write([]byte(text))
		return err == nil
	}
}

// closes is answers, and then the connection ends.
func closes(text string) func(net.Conn, int, int) bool {
	return func(c net.Conn, _, _ int) bool {
		c.Write([]byte(text))
		return false
	}
}
