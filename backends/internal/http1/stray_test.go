package http1_test

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/policy"
	"github.com/mlperf-go/mlperf-go/backends/internal/wiretest"
)

// stray is a whole, unrequested answer. Its tokens are in no other answer of these tests.
var stray = wiretest.StreamHead + wiretest.Chunked(wiretest.Event("77", "null"), wiretest.Event("78", `"stop"`),
	wiretest.Usage(2), wiretest.Done)

// TestStrayBytesBetweenRequests: what comes on a connection that waits for its next request ends the connection, and is
// in no answer. An answer among it is counted.
func TestStrayBytesBetweenRequests(t *testing.T) {
	for name, c := range map[string]struct {
		bytes   string
		unasked int64
	}{
		"an answer":         {stray, 1},
		"half an answer":    {stray[:len(stray)/2], 1},
		"a refusal":         {"HTTP/1.0 503 Service Unavailable\r\n\r\n", 1},
		"a parting":         {"HTTP/1.1 408 Request Timeout\r\n\r\n", 0},
		"a byte":            {"\n", 0},
		"an empty line":     {"\r\n", 0},
		"the last chunk":    {"0\r\n\r\n", 0},
		"an interim answer": {"HTTP/1.1 100 Continue\r\n\r\n", 0},
	} {
		t.Run(name, func(t *testing.T) {
			// A connection that stays open is closed after 4 s without traffic. On a busy machine the early close may take
			// as long, but not three times in a row.
			for attempt := 0; ; attempt++ {
				require.Less(t, attempt, 3, "the connection was closed for its idleness only")
				if took, unasked := askTwice(t, c.bytes); took < policy.IdleTimeout/2 {
					require.Equal(t, c.unasked, unasked)
					break
				}
			}
		})
	}
}

// askTwice sends a query, and another when the first connection is closed, which gets an answer and then bytes. It
// returns how long the client took to close the connection, and how many unasked answers it counted.
func askTwice(t *testing.T, bytes string) (took time.Duration, unasked int64) {
	source, r := wiretest.NewQueries(1), wiretest.NewRecorder()
	closed := make(chan time.Duration, 1)
	url := wiretest.Raw(t, func(c net.Conn, conn, _ int) bool {
		c.Write([]byte(wiretest.Streamed))
		if conn > 0 {
			return true
		}
		for deadline := time.Now().Add(wiretest.Patience); r.Completed() == 0 && time.Now().Before(deadline); {
			time.Sleep(time.Millisecond)
		}
		began := time.Now()
		c.Write([]byte(bytes))
		c.Read(make([]byte, 1))
		closed <- time.Since(began)
		return false
	})
	b, err := open(wiretest.Config(url))
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- b.Serve(context.Background(), source, r) }()
	took = <-closed
	source.Issue(1).End()
	require.NoError(t, <-served)
	r.ExactlyOnce(t, 2)
	requireOwnTokens(t, r)
	require.Empty(t, r.Attempts, "the second request was not sent where nothing could answer it")
	did := b.Features().Loop()
	return took, did.Unasked
}

// TestStrayBytesBehindAnAnswer: what comes in one segment with the end of an answer ends the connection too.
func TestStrayBytesBehindAnAnswer(t *testing.T) {
	whole := wiretest.Whole(200, "application/json", wiretest.Good)
	for name, c := range map[string]struct {
		answer string
		stream bool
	}{
		"Content-Length": {whole, false},
		"chunks": {strings.ReplaceAll(wiretest.StreamHead, "text/event-stream", "application/json") +
			wiretest.Chunked(wiretest.Good), false},
		"a stream":  {wiretest.Streamed, true},
		"a trailer": {strings.TrimSuffix(wiretest.Streamed, "\r\n") + "X: y\r\n\r\n", true},
	} {
		for what, surplus := range map[string]string{"an answer": stray, "half an answer": stray[:len(stray)/2],
			"a byte": "x", "an empty line": "\r\n"} {
			t.Run(name+", "+what, func(t *testing.T) {
				reused := make(chan int, 100)
				config := wiretest.Config(wiretest.Raw(t, func(conn net.Conn, _, request int) bool {
					reused <- request
					_, err := conn.Write([]byte(c.answer + surplus))
					return err == nil
				}))
				config.Stream, config.Concurrency = c.stream, 1
				r := contract.Ask(t, config, 5)
				requireOwnTokens(t, r)
				close(reused)
				for request := range reused {
					require.Zero(t, request, "no second request goes out on such a connection")
				}
			})
		}
	}
}

func requireOwnTokens(t *testing.T, r *wiretest.Recorder) {
	t.Helper()
	for id, res := range r.Results {
		require.Equal(t, backends.OK, res.Reason, "query %d: %v", id, r.Attempts)
		require.Equal(t, []int32{5, 6}, res.Tokens, "query %d", id)
		require.Zero(t, res.Retries)
	}
}

// TestNothingIsReportedAfterAFailure requires that a failed answer stays failed, even if good events follow in the same
// segment.
func TestNothingIsReportedAfterAFailure(t *testing.T) {
	event := wiretest.Event
	for name, c := range map[string]struct {
		bad, more string
		want      backends.Reason
	}{
		"malformed JSON": {wiretest.Chunks("data: {\"choices\":[}\n\n"),
			wiretest.Chunked(event("7", "null"), event("8", `"stop"`), wiretest.Usage(4), wiretest.Done), "bad_json"},
		"JSON of another shape": {wiretest.Chunks("data: {\"choices\":7}\n\n"),
			wiretest.Chunked(event("7", `"stop"`), wiretest.Done), "bad_event"},
		"an error event": {wiretest.Chunks(`data: {"error":{"message":"gone"}}` + "\n\n"),
			wiretest.Chunked(event("7", `"stop"`), wiretest.Done), "server_error_event"},
		"a malformed chunk":       {"x\r\n", wiretest.Chunked(event("7", `"stop"`), wiretest.Done), "bad_chunk"},
		"a chunk without its end": {"3\r\n: \n;", wiretest.Chunked(event("7", `"stop"`), wiretest.Done), "bad_chunk"},
	} {
		t.Run(name, func(t *testing.T) {
			text := wiretest.StreamHead + wiretest.Chunks(event("5", "null"), event("6", "null")) + c.bad + c.more +
				wiretest.Streamed
			config := wiretest.Config(wiretest.Raw(t, wiretest.Answers(text)))
			config.Concurrency = 1
			r := contract.Ask(t, config, 3)
			require.Equal(t, 3, r.Gaps, "one between the two tokens of each answer")
			require.Len(t, r.Attempts, 3, "one record for each failure")
			for _, res := range r.Results {
				require.Equal(t, c.want, res.Reason)
				require.Equal(t, 1, res.FirstCalls)
				require.Equal(t, []int32{5}, res.First)
				require.Equal(t, 2, res.NTokens)
			}
		})
	}
}
