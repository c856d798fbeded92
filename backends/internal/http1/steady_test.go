package http1_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/wiretest"
	"github.com/mlperf-go/mlperf-go/internal/race"
)

type query = loadgen.Query

// streamOf is an answer of n tokens, each segment with so many events.
func streamOf(tokens, perSegment int) (segments []string) {
	events := []string{}
	for i := range tokens {
		finish := "null"
		if i == tokens-1 {
			finish = `"length"`
		}
		events = append(events, wiretest.Chunks(wiretest.Event(fmt.Sprint(i), finish)))
	}
	events = append(events, wiretest.Chunked(wiretest.Usage(tokens), wiretest.Done))
	segments = append(segments, wiretest.StreamHead)
	for len(events) > perSegment {
		segments = append(segments, strings.Join(events[:perSegment], ""))
		events = events[perSegment:]
	}
	return append(segments, strings.Join(events, ""))
}

// fixed returns a configuration whose requests are identical.
func fixed(url string, stream bool, bytes int) *backends.Config {
	body := []byte(strings.Repeat("x", bytes))
	c := wiretest.Config(url)
	c.Stream, c.Body = stream, func(int) []byte { return body }
	c.InsecureSkipVerify = true
	c.CoalesceWakeups = 50 * time.Microsecond // run's default
	return c
}

// TestNoAllocations counts every allocation of the process while a client answers queries.
func TestNoAllocations(t *testing.T) {
	one := []string{wiretest.Whole(200, "application/json", wiretest.Good)}
	for name, c := range map[string]struct {
		stream   bool
		segments []string
		reads    int // of an answer by crypto/tls, each of which allocates 32 bytes; 0: no TLS
	}{
		"whole answers":              {false, one, 0},
		"streams, a token a segment": {true, streamOf(32, 1), 0},
		"streams, 16 tokens each":    {true, streamOf(32, 16), 0},
		"whole answers over TLS":     {false, one, 2},
		"streams over TLS":           {true, streamOf(32, 16), 2 * 3},
	} {
		t.Run(name, func(t *testing.T) {
			if race.Enabled && c.reads > 0 {
				t.Skip("crypto/tls allocates more under the race detector")
			}
			const warm, counted, connections = 500, 2000, 16
			url := ""
			if c.reads > 0 {
				url = wiretest.CannedSecure(t, -1, 0, c.segments...)
			} else {
				url = wiretest.Canned(t, -1, c.segments...)
			}
			// A few are the runtime's and the testing package's own. And more answers than in the warm-up may be in pieces at
			// one time: what each of a connection's is read with is made once. On a busy machine an answer over TLS comes in
			// more pieces, each with a read: the calmest of some rounds counts.
			bound, allocations := uint64(40+8*connections+c.reads*counted), uint64(math.MaxUint64)
			for round := 0; round < 5 && allocations >= bound; round++ {
				config := fixed(url, c.stream, 1200)
				config.Endpoints[0].IDs, config.Endpoints[0].Model = backends.IDsTried, "m"
				b, err := open(config)
				require.NoError(t, err)
				s := &counting{Closed: wiretest.NewClosed(t, warm+counted, connections), from: warm}
				require.NoError(t, b.Serve(context.Background(), s, s))
				require.Zero(t, s.Failures)
				if c.stream {
					require.Equal(t, warm+counted, s.FirstSeen)
					require.Equal(t, 31*(warm+counted), s.Gaps)
				}
				allocations = min(allocations, s.last-s.first)
			}
			require.Less(t, allocations, bound, "allocations in %d requests", counted)
			perQuery := float64(allocations) / counted
			if name == "whole answers" {
				fmt.Printf("MEASURED allocations/query %.5f each\n", perQuery)
			} else if name == "whole answers over TLS" {
				fmt.Printf("MEASURED tls-allocations/query %.5f each\n", perQuery)
			} else if name == "streams, a token a segment" {
				fmt.Printf("MEASURED allocations/token %.6f each\n", perQuery/32)
			}
		})
	}
}

// counting reads the allocation counter at two completions.
type counting struct {
	*wiretest.Closed
	from        int
	first, last uint64
}

func (s *counting) Pop(dst []query) int {
	var m runtime.MemStats
	if s.Done >= s.from && s.first == 0 {
		runtime.ReadMemStats(&m)
		s.first = m.Mallocs
	}
	if s.Done == s.N && s.last == 0 {
		runtime.ReadMemStats(&m)
		s.last = m.Mallocs
	}
	return s.Closed.Pop(dst)
}

// TestManyStreams has 10,000 streams in flight at once, each with a token and waiting for the next.
func TestManyStreams(t *testing.T) {
	manyStreams(t, "memory-per-stream", wiretest.CannedHeld, 10000, 20)
}

// TestManyStreamsOverTLS includes what the handshakes leave to the collector. Only make bench waits for 10,000 of them.
func TestManyStreamsOverTLS(t *testing.T) {
	if os.Getenv("HTTP1_BENCH") != "" {
		manyStreams(t, "tls-memory-per-stream", wiretest.CannedSecure, 10000, 40)
		return
	}
	manyStreams(t, "tls-memory-per-stream", wiretest.CannedSecure, 1000, 80)
}

func manyStreams(t *testing.T, name string, serve func(t testing.TB, cpu, held int, segments ...string) string,
	streams int,
	most float64) {
	if testing.Short() {
		t.Skip("10,000 connections")
	}
	if n, err := wiretest.FDLimit(); err == nil && n < uint64(streams+1000) {
		t.Skipf("%d file descriptors are allowed, %d are needed", n, streams+1000)
	}
	segments := streamOf(3, 1)
	url := serve(t, -1, streams, segments...)
	c := fixed(url, true, 1200)
	c.RequestTimeout, c.FirstTokenTimeout, c.TokenTimeout, c.ConnectTimeout = time.Minute, time.Minute, time.Minute,
		time.Minute
	b, err := open(c)
	require.NoError(t, err)
	runtime.GC()
	before := resident(t)
	s := &watching{Closed: wiretest.NewClosed(t, streams+100, streams), streams: streams}
	require.NoError(t, b.Serve(context.Background(), s, s))
	require.Zero(t, s.Failures)
	require.Equal(t, streams+100, s.FirstSeen)
	perStream := float64(s.most-before) / float64(streams)
	fmt.Printf("MEASURED %s %.2f KiB\n", name, perStream/1024)
	require.Less(t, perStream, most*1024)
}

// watching looks at the memory when everything is in flight.
type watching struct {
	*wiretest.Closed
	streams int
	most    int64
}

func (s *watching) FirstToken(q query, ids []int32, at int64) {
	if s.Closed.FirstToken(q, ids, at); s.FirstSeen == s.streams {
		s.most = max(s.most, resident(nil))
	}
}

// resident is the memory of this process, in bytes.
func resident(t *testing.T) int64 {
	data, err := os.ReadFile("/proc/self/statm")
	if t != nil {
		require.NoError(t, err)
	}
	var size, pages int64
	fmt.Sscan(string(data), &size, &pages)
	return pages * int64(os.Getpagesize())
}
