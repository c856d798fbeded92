package http1_test

import (
	"context"
	"math/rand/v2"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/wiretest"
)

// slowly returns a script that streams so many tokens, one for each pause, and counts the clients that leave.
func slowly(tokens int, pause time.Duration, left *atomic.Int64) wiretest.Script {
	segments := streamOf(tokens, 1)
	return func(c net.Conn, _, _ int) bool {
		for _, s := range segments {
			if _, err := c.Write([]byte(s)); err != nil {
				left.Add(1)
				return false
			}
			time.Sleep(pause)
		}
		return true
	}
}

// TestClientsLeaveAfterTokens lets every second client leave. The server sees each of them go, and the others get whole
// answers.
func TestClientsLeaveAfterTokens(t *testing.T) {
	const queries, tokens, stay = 10, 400, 5 // a busy machine may let a client leave late
	var left atomic.Int64
	c := wiretest.Config(wiretest.Raw(t, slowly(tokens, 4*time.Millisecond, &left)))
	c.Conduct = func(i int) backends.Conduct { return backends.Conduct{LeaveTokens: i % 2 * stay} }
	r := contract.Ask(t, c, queries)
	r.ExactlyOnce(t, queries)
	gone := 0
	for id, res := range r.Results {
		if res.Reason != backends.Abandoned {
			require.Equal(t, backends.OK, res.Reason)
			require.Equal(t, tokens, res.NTokens)
			continue
		}
		gone++
		require.GreaterOrEqual(t, res.NTokens, stay, "query %d", id)
		require.Less(t, res.NTokens, tokens, "query %d", id)
		require.NotZero(t, res.FirstTokenNS)
	}
	require.Equal(t, queries/2, gone)
	require.Empty(t, r.Attempts, "it is no failure")
	require.Eventually(t, func() bool { return left.Load() == queries/2 }, wiretest.Patience, time.Millisecond)
}

// TestClientsLeaveAfterATime: whatever a request waits for, its client leaves in time.
func TestClientsLeaveAfterATime(t *testing.T) {
	const soon, late = 60 * time.Millisecond, 2 * time.Second
	silent := func(c net.Conn, _, _ int) bool {
		_, _ = c.Read(make([]byte, 1)) // until the client closes
		return false
	}
	var left atomic.Int64
	for name, k := range map[string]struct {
		url    string
		reason backends.Reason
	}{
		"for an answer":      {wiretest.Raw(t, silent), backends.Abandoned},
		"for a connection":   {fullQueue(t), backends.Abandoned},
		"for an attempt":     {"http://127.0.0.1:1", backends.Abandoned},
		"for tokens":         {wiretest.Raw(t, slowly(1000, 20*time.Millisecond, &left)), backends.Abandoned},
		"for a refusal":      {wiretest.Raw(t, refuseSlowly), "http_503"},
		"for wrong contents": {wiretest.Raw(t, lie), backends.FailBadJSON},
	} {
		t.Run(name, func(t *testing.T) {
			c := wiretest.Config(k.url)
			after := late // so that what the server sends comes before
			if k.reason == backends.Abandoned {
				after, c.Retries = soon, 100
			}
			c.Conduct = func(int) backends.Conduct { return backends.Conduct{LeaveAfter: after} }
			start := time.Now()
			r := contract.Ask(t, c, 3)
			require.Less(t, time.Since(start), wiretest.Patience/2)
			r.ExactlyOnce(t, 3)
			for _, res := range r.Results {
				require.Equal(t, k.reason, res.Reason, "%v", r.Attempts)
			}
		})
	}
}

// refuseSlowly sends a refusal whose body does not end.
func refuseSlowly(c net.Conn, _, _ int) bool {
	_, _ = c.Write([]byte("HTTP/1.1 503 Busy\r\nContent-Type: text/plain\r\nContent-Length: 100\r\n\r\nbusy"))
	_, _ = c.Read(make([]byte, 1))
	return false
}

// lie sends an event that is no JSON, and goes on.
func lie(c net.Conn, _, _ int) bool {
	_, _ = c.Write([]byte(wiretest.StreamHead + wiretest.Chunks(wiretest.Event("5", "null"), "data: {]\n\n")))
	_, _ = c.Read(make([]byte, 1))
	return false
}

// TestSlowReaders compares the time of an answer with the rate at which its client reads. The server sends it at once.
func TestSlowReaders(t *testing.T) {
	const tokens = 60
	for name, k := range map[string]struct {
		conduct backends.Conduct
		least   time.Duration
	}{
		"by rate":  {backends.Conduct{PerToken: 10 * time.Millisecond}, (tokens - 10) * 10 * time.Millisecond},
		"by pause": {backends.Conduct{PerRead: 50 * time.Millisecond}, 300 * time.Millisecond},
	} {
		for kind, secure := range map[string]bool{"plain": false, "TLS": true} {
			t.Run(name+" "+kind, func(t *testing.T) {
				url := wiretest.Canned(t, -1, strings.Join(streamOf(tokens, tokens), ""))
				if secure {
					url = wiretest.CannedSecure(t, -1, 0, strings.Join(streamOf(tokens, tokens), ""))
				}
				c := wiretest.Config(url)
				c.InsecureSkipVerify = true
				c.Conduct = func(i int) backends.Conduct {
					if i == 0 {
						return k.conduct
					}
					return backends.Conduct{}
				}
				r := contract.Ask(t, c, 3)
				r.ExactlyOnce(t, 3)
				for id, res := range r.Results {
					require.Equal(t, backends.OK, res.Reason, "%v", r.Attempts)
					require.Equal(t, tokens, res.NTokens)
					took := time.Duration(res.LastTokenNS - res.SentNS)
					if id == 1 && !secure { // a TLS record comes as a whole, and its tokens at once
						require.Greater(t, took, k.least)
					}
				}
			})
		}
	}
}

// TestTheServerNoticesASlowReader: the server cannot write more than the buffers of both sides hold.
func TestTheServerNoticesASlowReader(t *testing.T) {
	const size = 64 << 20
	var written atomic.Int64
	c := wiretest.Config(wiretest.Raw(t, func(c net.Conn, _, _ int) bool {
		part := []byte(wiretest.StreamHead)
		for written.Load() < size {
			n, err := c.Write(part)
			if written.Add(int64(n)); err != nil {
				break
			}
			part = []byte(wiretest.Chunks(wiretest.Event("5", "null")))
		}
		return false
	}))
	c.Conduct = func(int) backends.Conduct {
		return backends.Conduct{LeaveAfter: 500 * time.Millisecond, PerRead: 100 * time.Millisecond}
	}
	r := contract.Ask(t, c, 1)
	require.Equal(t, backends.Abandoned, r.Results[1].Reason)
	require.Less(t, r.Results[1].NTokens, 100)
	require.Less(t, written.Load(), int64(size/2))
}

// TestConductsEndOnce mixes conducts with servers that fail in every way, and ends the test while some are in flight.
func TestConductsEndOnce(t *testing.T) {
	var left atomic.Int64
	good := slowly(20, time.Millisecond, &left)
	c := wiretest.Config(wiretest.Raw(t, func(c net.Conn, conn, request int) bool {
		switch (conn + request) % 5 {
		case 0:
			return false
		case 1:
			_, _ = c.Write([]byte(wiretest.Whole(503, "text/plain", "busy")))
			return true
		case 2:
			_, _ = c.Write([]byte(wiretest.StreamHead + wiretest.Chunks(wiretest.Event("5", "null"))))
			return false
		}
		return good(c, conn, request)
	}), "http://127.0.0.1:1")
	c.Concurrency, c.Retries = 20, 2
	c.Conduct = func(i int) (d backends.Conduct) {
		r := rand.New(rand.NewPCG(1, uint64(i)))
		for _, set := range []func(){
			func() { d.LeaveTokens = 1 + r.IntN(25) },
			func() { d.LeaveAfter = time.Duration(r.IntN(40)) * time.Millisecond },
			func() { d.PerRead = time.Duration(r.IntN(10)) * time.Millisecond },
			func() { d.PerToken = time.Duration(r.IntN(4)) * time.Millisecond },
		} {
			if r.IntN(3) == 0 {
				set()
			}
		}
		return d
	}
	for _, limit := range []time.Duration{100 * time.Millisecond, wiretest.Patience} {
		const queries = 400
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		b, err := open(c)
		require.NoError(t, err)
		r := wiretest.NewRecorder()
		require.NoError(t, b.Serve(ctx, wiretest.NewQueries(queries).End(), r))
		cancel()
		r.ExactlyOnce(t, queries)
		seen := map[backends.Reason]int{}
		for _, res := range r.Results {
			seen[res.Reason]++
		}
		if limit == wiretest.Patience {
			require.NotZero(t, seen[backends.Abandoned])
			require.NotZero(t, seen[backends.OK])
			require.NotZero(t, seen["http_503"])
		} else {
			require.NotZero(t, seen[backends.FailCancelled])
		}
	}
}
