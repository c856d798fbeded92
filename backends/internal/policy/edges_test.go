package policy

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/wire"
)

func TestFieldsOfARequest(t *testing.T) {
	e, err := NewEndpoint(backends.Endpoint{URL: "http://h:1"}, "/v1")
	require.NoError(t, err)
	plain := []Field{{"Content-Type", "application/json"}, {"Accept-Encoding", "identity"}, {"User-Agent", "mlperf-go"}}
	require.Equal(t, plain, e.Fields())
	e, err = NewEndpoint(backends.Endpoint{URL: "http://h:1", APIKey: "k", Headers: map[string]string{"b": "2", "a": "1"}},
		"/v1")
	require.NoError(t, err)
	require.Equal(t, append(plain, Field{"Authorization", "Bearer k"}, Field{"a", "1"}, Field{"b", "2"}), e.Fields())
	protocol := wire.Protocol{RequestID: wire.RequestIDField{Header: "X-Request-Id"}}
	require.Equal(t, protocol.RequestID, RequestID(&backends.Endpoint{IDs: backends.IDsOff + 1}, protocol))
	require.Zero(t, RequestID(&backends.Endpoint{IDs: backends.IDsOff}, protocol))
}

func TestAddressesThatAreRefused(t *testing.T) {
	for _, c := range [][2]string{{"", "/v1"}, {"ftp://h", "/v1"}, {"http://h:1", "/%zz"}} {
		_, err := NewEndpoint(backends.Endpoint{URL: c[0]}, c[1])
		require.Error(t, err, c)
	}
}

// An id is the random part and the number in twelve hexadecimal digits; a larger number never reaches the random part.
func TestIDsByDefinition(t *testing.T) {
	ids := NewRequestIDs()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Uint64().Draw(t, "number") >> rapid.IntRange(0, 63).Draw(t, "shift")
		require.Equal(t, fmt.Sprintf("%s%012x", ids.run, n&(1<<48-1)), string(ids.Append(nil, n)))
	})
}

// A server is asked again after the failures that may end soon, and after no other.
func TestEveryStatus(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for status := 100; status < 600; status++ {
		r := Response{Status: status, RetryAfter: now.Add(-time.Minute).Format(http.TimeFormat)}
		require.Equal(t, status != 200, r.Refused())
		f := r.Refusal([]byte("text"), now)
		require.Equal(t, status == 429 || status == 502 || status == 503 || status == 504, f.Again, status)
		require.Zero(t, f.Wait, "a date in the past")
		if status != 200 {
			require.Equal(t, fmt.Sprintf("the server answered HTTP %d: text", status), f.Detail, "no Location")
		}
		r.Location = "http://b"
		if f := r.Refusal(nil, now); status != 200 {
			require.Equal(t, status/100 == 3, f.Detail != fmt.Sprintf("the server answered HTTP %d", status), status)
		}
	}
}

func TestWordsOfFailures(t *testing.T) {
	cause := errors.New("cause")
	for reason, want := range map[backends.Reason]string{
		backends.FailCancelled: "the test ended before the answer was complete",
		backends.FailConnect:   "no connection: cause", backends.FailTLS: "the TLS connection failed: cause",
		backends.FailTruncated: "the connection ended inside the answer: cause",
		backends.FailBadChunk:  "the answer is not valid HTTP: cause", backends.FailReset: "the connection broke: cause",
	} {
		require.Equal(t, want, Explain(reason, cause))
	}
	for option, d := range map[string]*Deadline{"--request-timeout": RequestOver, "--first-token-timeout": FirstTokenOver,
		"--token-timeout": TokenOver} {
		require.ErrorContains(t, d, option)
	}
}

// Only what is not set gets a default, which is what the pages promise.
func TestEachDeadlineHasItsDefault(t *testing.T) {
	for _, unset := range []time.Duration{0, -1} {
		c := &backends.Config{Deadlines: backends.Deadlines{ConnectTimeout: unset, RequestTimeout: unset,
			EndpointTimeout: unset, FirstTokenTimeout: unset, TokenTimeout: unset}}
		SetDefaults(c)
		require.Equal(t, backends.Deadlines{ConnectTimeout: 10 * time.Second, RequestTimeout: time.Hour,
			EndpointTimeout: 30 * time.Second, FirstTokenTimeout: time.Hour, TokenTimeout: time.Hour}, c.Deadlines)
	}
	least := backends.Deadlines{ConnectTimeout: 1, RequestTimeout: 2, EndpointTimeout: 1, FirstTokenTimeout: 1,
		TokenTimeout: 1}
	c := &backends.Config{Deadlines: least}
	SetDefaults(c)
	require.Equal(t, least, c.Deadlines)
	require.Equal(t, []time.Duration{4 * time.Second, 100 * time.Millisecond, 50 * time.Millisecond},
		[]time.Duration{IdleTimeout, DrainTime, AskAgain}, "of the page about the protocols")
}

// A server is asked for its model once after each lost connection, when it can be reached again.
func TestReconnectedOnce(t *testing.T) {
	var asked []int
	config := &backends.Config{Endpoints: make([]backends.Endpoint, 2)}
	config.Reconnected = func(endpoint int) { asked = append(asked, endpoint) }
	c := NewCounters(config)
	c.Connected(1)
	require.Empty(t, asked)
	for _, reason := range []backends.Reason{backends.FailConnect, backends.FailReset, backends.FailTruncated} {
		c.Lost(1, reason)
		c.Lost(1, reason)
		c.Connected(0)
		require.Empty(t, asked, reason)
		c.Connected(1)
		c.Connected(1)
		require.Equal(t, []int{1}, asked, reason)
		asked = nil
	}
	c.Lost(0, backends.FailTLS)
	c.Lost(0, backends.FailFirstToken)
	c.Connected(0)
	require.Empty(t, asked)
	require.Equal(t, []int64{4, 7}, c.Traffic().Connections)
	require.Equal(t, []int64{0, 0}, c.Traffic().Exclusions)
	silent := NewCounters(&backends.Config{Endpoints: make([]backends.Endpoint, 1)})
	silent.Lost(0, backends.FailReset)
	silent.Connected(0)
	require.False(t, silent.Unexpected([]byte("1 408 text")))
	require.EqualValues(t, 1, silent.Traffic().Strays, "no answer at all")
}

// Ten connections may leave a request unseen, and no attempt begins at the deadline.
func TestBoundsOfRetries(t *testing.T) {
	r := NewRetries(0)
	for n := range 12 {
		_, again := r.Next(&Failure{Unseen: true}, time.Hour)
		require.Equal(t, n < 10, again, n)
	}
	for left, want := range map[time.Duration]bool{firstPause: false, firstPause + 1: true, firstPause - 1: false} {
		r := NewRetries(1)
		wait, again := r.Next(&Failure{Again: true}, left)
		require.Equal(t, want, again)
		require.Equal(t, want, wait == firstPause)
		require.Equal(t, !want, wait == 0)
	}
	r = NewRetries(9)
	var waits []time.Duration
	for range 9 {
		wait, _ := r.Next(&Failure{Again: true}, time.Hour)
		waits = append(waits, wait/time.Millisecond)
	}
	require.Equal(t, []time.Duration{50, 100, 200, 400, 800, 1600, 2000, 2000, 2000}, waits)
}
