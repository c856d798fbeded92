package wiretest

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mlperf-go/mlperf-go/backends"
)

// Contract tests what every client has to do.
type Contract struct {
	Open   func(*backends.Config) (backends.Backend, error) // opens the client
	Secure bool                                             // all servers use TLS
}

// Run runs every test of the contract, or those with the given names.
func (k *Contract) Run(t *testing.T, only ...string) {
	for _, c := range []struct {
		name string
		test func(*testing.T)
	}{
		{"failure codes", k.failureCodes},
		{"good answers", k.goodAnswers},
		{"refused connection", k.refusedConnection},
		{"the key is in no message", k.theKeyIsInNoMessage},
		{"repeat on a dead reused connection", k.repeatOnADeadReusedConnection},
		{"retries", k.retries},
		{"a repeat counts from the first sending", k.aRepeatCountsFromTheFirstSending},
		{"a refused connection sends nothing", k.aRefusedConnectionSendsNothing},
		{"no retry after the first byte", k.noRetryAfterTheFirstByte},
		{"cancel", k.cancel},
		{"exactly once", k.exactlyOnce},
		{"concurrency is bounded", k.concurrencyIsBounded},
		{"threads", k.threads},
		{"endpoints share the load", k.endpointsShareTheLoad},
		{"one endpoint is absent", k.oneEndpointIsAbsent},
		{"a refusing endpoint stays", k.aRefusingEndpointStays},
		{"an endpoint returns", k.anEndpointReturns},
		{"no endpoint returns", k.noEndpointReturns},
		{"cancel while waiting", k.cancelWhileWaiting},
		{"one per endpoint", k.onePerEndpoint},
		{"equal keys meet", k.equalKeysMeet},
		{"sockets", k.sockets},
		{"gaps and tokens", k.gapsAndTokens},
		{"a slow connection", k.aSlowConnection},
		{"answers belong to their requests", k.answersBelong},
		{"ids are compared", k.idsAreCompared},
		{"ids are unlike", k.idsAreUnlike},
		{"traces", k.traces},
		{"the first answer names the model", k.theFirstAnswerNamesTheModel},
		{"requests name other models", k.requestsNameOtherModels},
		{"unsent", k.unsent},
		{"strays", k.strays},
		{"through a proxy", k.throughAProxy},
		{"faults of a proxy", k.proxyFaults},
		{"alerts behind the handshake", k.alertsBehindTheHandshake},
		{"answered twice", k.answeredTwice},
	} {
		if len(only) == 0 || slices.Contains(only, c.name) {
			t.Run(c.name, c.test)
		}
	}
}

func (k *Contract) open(t require.TestingT, c *backends.Config) backends.Backend {
	c.InsecureSkipVerify = c.InsecureSkipVerify || k.Secure
	b, err := k.Open(c)
	require.NoError(t, err)
	return b
}

// Ask sends n queries and returns their results.
func (k *Contract) Ask(t require.TestingT, c *backends.Config, n int) *Recorder {
	r := NewRecorder()
	require.NoError(t, k.open(t, c).Serve(context.Background(), NewQueries(n).End(), r))
	r.ExactlyOnce(t, n)
	return r
}

// Patience is how long a test waits for something that must happen. It is far longer than that takes on a busy machine.
const Patience = time.Minute

// Config returns a configuration for streams from the endpoints.
func Config(urls ...string) *backends.Config {
	c := &backends.Config{
		Body:           func(i int) []byte { return fmt.Appendf(nil, `{"prompt":[%d]}`, i) },
		RequestOptions: backends.RequestOptions{ServedModel: "m", Stream: true},
		AnswerOptions:  backends.AnswerOptions{NeedIDs: true},
		Deadlines: backends.Deadlines{RequestTimeout: Patience, FirstTokenTimeout: Patience, TokenTimeout: Patience,
			ConnectTimeout: Patience},
	}
	for _, u := range urls {
		c.Endpoints = append(c.Endpoints, backends.Endpoint{URL: u})
	}
	return c
}

// FDLimit returns the number of files that this process may open.
func FDLimit() (uint64, error) {
	var r syscall.Rlimit
	err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r)
	return r.Cur, err
}

// repeatOnADeadReusedConnection has a server that closes the connection after each answer without announcing it, as
// llama.cpp does.
func (k *Contract) repeatOnADeadReusedConnection(t *testing.T) {
	url := k.Raw(t, func(c net.Conn, _, request int) bool {
		if request > 0 {
			return false // closes the connection before the first byte
		}
		c.Write([]byte(Streamed))
		return true
	})
	c := Config(url)
	c.Concurrency = 1
	r := k.Ask(t, c, 20)
	retried := 0
	for _, res := range r.Results {
		require.Equal(t, backends.OK, res.Reason)
		retried += res.Retries
	}
	require.Len(t, r.Attempts, retried)
	require.Positive(t, retried)
	for _, a := range r.Attempts {
		require.True(t, a.Retried)
		require.Equal(t, backends.FailReset, a.Reason)
	}
}

func (k *Contract) retries(t *testing.T) {
	for _, c := range []struct {
		name           string
		status         int
		after          string
		retries, fails int
		want           backends.Reason
		tries          int
	}{
		{"503 twice, then an answer", 503, "", 3, 2, backends.OK, 3},
		{"more failures than retries", 429, "", 1, 5, "http_429", 2},
		{"500 is not repeated", 500, "", 3, 1, "http_500", 1},
		{"none allowed", 503, "", 0, 1, "http_503", 1},
		{"Retry-After within the deadline", 503, "1", 1, 1, backends.OK, 2},
		{"Retry-After beyond the deadline", 503, "60", 3, 1, "http_503", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var tries atomic.Int32
			url := k.Raw(t, func(conn net.Conn, _, _ int) bool {
				if int(tries.Add(1)) > c.fails {
					conn.Write([]byte(Streamed))
					return true
				}
				fmt.Fprintf(conn, "HTTP/1.1 %d X\r\nRetry-After: %s\r\nContent-Length: 4\r\n\r\nbusy", c.status, c.after)
				return true
			})
			config := Config(url)
			config.Retries, config.RequestTimeout = c.retries, 40*time.Second // less than the longest Retry-After
			start := time.Now()
			r := k.Ask(t, config, 1)
			require.Equal(t, c.want, r.Results[1].Reason)
			require.Equal(t, c.tries, int(tries.Load()))
			require.Equal(t, c.tries-1, r.Results[1].Retries)
			if c.after == "1" {
				require.GreaterOrEqual(t, time.Since(start), time.Second)
			}
			require.Less(t, time.Since(start), 40*time.Second)
		})
	}
}

func (k *Contract) noRetryAfterTheFirstByte(t *testing.T) {
	var tries atomic.Int32
	c := Config(k.Raw(t, func(conn net.Conn, _, _ int) bool {
		tries.Add(1)
		conn.Write([]byte(StreamHead + Chunks(Event("5", "null"))))
		return false
	}))
	c.Retries = 5
	require.Equal(t, backends.FailTruncated, k.Ask(t, c, 1).Results[1].Reason)
	require.Equal(t, int32(1), tries.Load())
}

// cancel cancels the context while requests are in flight, queued and yet to come.
func (k *Contract) cancel(t *testing.T) {
	var requests atomic.Int32
	url := k.Raw(t, func(c net.Conn, _, _ int) bool {
		requests.Add(1)
		return Silence(StreamHead+Chunks(Event("5", "null")))(c, 0, 0)
	})
	c := Config(url)
	c.Concurrency = 50
	source, r := NewQueries(100), NewRecorder()
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error)
	go func() { served <- k.open(t, c).Serve(ctx, source, r) }()
	require.Eventually(t, func() bool { return requests.Load() == 50 }, Patience, time.Millisecond)
	cancel()
	require.Eventually(t, func() bool { return r.Completed() == 100 }, Patience/2, time.Millisecond,
		"before any other limit ends them")
	source.Issue(30)
	require.Eventually(t, func() bool { return r.Completed() == 130 }, Patience/2, time.Millisecond,
		"before any other limit ends them")
	source.End()
	require.NoError(t, <-served)
	r.ExactlyOnce(t, 130)
	for _, res := range r.Results {
		require.Equal(t, backends.FailCancelled, res.Reason)
	}
	require.Equal(t, int32(50), requests.Load(), "nothing is sent after the cancellation")
}

// exactlyOnce mixes answers, failures, limits and cancellation at random.
func (k *Contract) exactlyOnce(t *testing.T) {
	scripts := []string{Streamed, "", Whole(500, "text/plain", "no"), StreamHead + Chunks(Event("5", "null")),
		"garbage\r\n\r\n"}
	url := k.Raw(t, func(c net.Conn, conn, request int) bool {
		i := (conn*7 + request*3) % len(scripts)
		c.Write([]byte(scripts[i]))
		return i == 0 || i == 2
	})
	rapid.Check(t, func(rt *rapid.T) {
		c := Config(url, url, url)
		c.Concurrency = rapid.SampledFrom([]int{0, 1, 2, 7}).Draw(rt, "concurrency")
		c.Balance = rapid.SampledFrom([]string{"", "random", "least-inflight", "hash"}).Draw(rt, "balance")
		c.Retries = rapid.IntRange(0, 1).Draw(rt, "retries")
		n := rapid.IntRange(0, 40).Draw(rt, "queries")
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		if ms := rapid.IntRange(0, 20).Draw(rt, "cancel after"); ms < 10 {
			time.AfterFunc(time.Duration(ms)*time.Millisecond, cancel)
		}
		r := NewRecorder()
		require.NoError(rt, k.open(rt, c).Serve(ctx, NewQueries(n).End(), r))
		r.ExactlyOnce(rt, n)
		last := 0
		for _, a := range r.Attempts {
			if !a.Retried {
				last++
			}
		}
		bad, sent := 0, 0
		for _, res := range r.Results {
			if res.Reason != backends.OK && res.Reason != backends.FailCancelled {
				bad++
			}
			if res.SentNS != 0 {
				sent++
			}
		}
		require.GreaterOrEqual(rt, last, bad, "each failed sample has its record")
		require.LessOrEqual(rt, last, sent)
	})
}

func (k *Contract) concurrencyIsBounded(t *testing.T) {
	var now, most atomic.Int32
	s := k.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		n := now.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		time.Sleep(2 * time.Millisecond)
		now.Add(-1)
		w.Header().Set("Content-Type", "application/json")
		w.Write([]byte(Good))
	}))
	defer s.Close()
	c := Config(s.URL)
	c.Stream, c.Concurrency = false, 3
	k.Ask(t, c, 60)
	require.Equal(t, int32(3), most.Load())
}

// threads has 2,000 requests in flight, which must wait in the poller and not in threads.
func (k *Contract) threads(t *testing.T) {
	const inFlight = 2000
	var limit = 2*inFlight + 200
	if n, err := FDLimit(); err == nil && n < uint64(limit) {
		t.Skipf("%d file descriptors are allowed, %d are needed", n, limit)
	}
	gate := make(chan struct{})
	open := sync.OnceFunc(func() { close(gate) })
	var waiting atomic.Int32
	s := k.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		waiting.Add(1)
		<-gate
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, Event("5,6", `"stop"`), Done)
	}))
	defer s.Close()
	defer open() // the server waits for its handlers
	source, r := NewQueries(inFlight).End(), NewRecorder()
	c := Config(s.URL)
	c.RequestTimeout, c.FirstTokenTimeout, c.ConnectTimeout = 3*Patience, 3*Patience, 3*Patience
	served := make(chan error, 1)
	go func() { served <- k.open(t, c).Serve(context.Background(), source, r) }()
	require.Eventually(t, func() bool { return waiting.Load() == inFlight }, 2*Patience, 10*time.Millisecond)
	tasks, err := os.ReadDir("/proc/self/task")
	require.NoError(t, err)
	require.Less(t, len(tasks), 64)
	open()
	require.NoError(t, <-served)
	r.ExactlyOnce(t, inFlight)
	for _, res := range r.Results {
		require.Equal(t, backends.OK, res.Reason)
	}
}

func (k *Contract) gapsAndTokens(t *testing.T) {
	url := k.Raw(t, func(c net.Conn, _, _ int) bool {
		for _, part := range []string{StreamHead, Chunks(Event("1,2", "null")), Chunks(Event("3", "null")),
			Chunked(Event("4,5", `"length"`), Usage(5), Done)} {
			c.Write([]byte(part))
			time.Sleep(30 * time.Millisecond)
		}
		return true
	})
	r := k.Ask(t, Config(url), 1)
	res := r.Results[1]
	require.Equal(t, []int32{1, 2}, res.First)
	require.Equal(t, []int32{1, 2, 3, 4, 5}, res.Tokens)
	require.Equal(t, 3, r.Gaps, "the second token of the first event has a gap of its own")
	require.Equal(t, res.LastTokenNS-res.FirstTokenNS, r.GapNS, "each gap begins at the end of the previous one")
	require.Equal(t, []int{3, 2}, []int{res.Events, res.Merged})
	require.Equal(t, backends.TokensFromIDs, res.TokenSource)
	require.Equal(t, []int{5, 5, 1}, []int{res.NTokens, res.UsageTokens, res.InputTokens})
	require.Greater(t, res.LastTokenNS-res.FirstTokenNS, int64(40*time.Millisecond))
}

// aSlowConnection has a server whose queue of connections is full, so that connecting takes a second. The client must
// not report a request as sent before there is a connection.
func (k *Contract) aSlowConnection(t *testing.T) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	require.NoError(t, syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	require.NoError(t, syscall.Listen(fd, 0))
	file := os.NewFile(uintptr(fd), "full")
	l, err := net.FileListener(file)
	require.NoError(t, err)
	require.NoError(t, file.Close())
	var fillers sync.WaitGroup
	for range 3 { // more than fit into the queue
		fillers.Go(func() {
			if c, err := net.Dial("tcp", l.Addr().String()); err == nil {
				c.Close()
			}
		})
	}
	time.Sleep(100 * time.Millisecond)
	var opened atomic.Int64
	time.AfterFunc(200*time.Millisecond, func() {
		opened.Store(time.Now().UnixNano())
		k.RawOn(t, l, Answers(Streamed))
	})
	res := k.Ask(t, Config(k.url("http://"+l.Addr().String())), 1).Results[1]
	fillers.Wait()
	require.Equal(t, backends.OK, res.Reason)
	require.Less(t, res.DequeuedNS, opened.Load())
	require.Greater(t, res.SentNS, opened.Load(), "sent before there was a connection")
	require.LessOrEqual(t, res.SentNS, res.FirstByteNS)
}

func (k *Contract) refusedConnection(t *testing.T) {
	url, _ := k.absent(t)
	c := Config(url)
	c.Retries = 2
	r := k.Ask(t, c, 1)
	require.Equal(t, backends.FailConnect, r.Results[1].Reason)
	require.Equal(t, 2, r.Results[1].Retries)
	require.Len(t, r.Attempts, 3)
	require.Equal(t, []bool{true, true, false}, []bool{r.Attempts[0].Retried, r.Attempts[1].Retried,
		r.Attempts[2].Retried})
	require.Equal(t, r.Results[1].TriedNS, r.Results[1].SentNS)
	require.LessOrEqual(t, r.Results[1].SentNS, r.Attempts[0].AtNS, "the first attempt")
}

func (k *Contract) theKeyIsInNoMessage(t *testing.T) {
	const key = "sk-very-secret"
	s := k.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		w.Write([]byte("who is " + r.Header.Get("Authorization") + "?"))
	}))
	defer s.Close()
	c := Config(s.URL)
	c.Endpoints[0].APIKey = key
	a := k.Ask(t, c, 1).Attempts[0]
	require.Equal(t, backends.Reason("http_401"), a.Reason)
	require.Equal(t, "who is Bearer [key]?", string(a.Body))
	require.NotContains(t, a.Detail, key)
}
