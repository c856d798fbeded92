package sglang_test

import (
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/client"
	"github.com/mlperf-go/mlperf-go/backends/internal/http1"
	"github.com/mlperf-go/mlperf-go/backends/internal/nethttp"
	"github.com/mlperf-go/mlperf-go/backends/internal/wiretest"
	"github.com/mlperf-go/mlperf-go/backends/sglang"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// clients are the two HTTP clients.
var clients = map[string]wiretest.Contract{
	nethttp.Name: on(nethttp.Name),
	http1.Name:   on(http1.Name),
}

// on sends queries through one of the clients.
func on(name string) wiretest.Contract {
	return wiretest.Contract{Open: func(c *backends.Config) (backends.Backend, error) {
		return client.OpenOn(name, c, sglang.Driver{})
	}}
}

const head = wiretest.StreamHead

// event returns an event of a cumulative stream.
func event(ids string, count int, finish string) string {
	return fmt.Sprintf(`data: {"text":"w","output_ids":[%s],"meta_info":{"id":"r","finish_reason":%s,"prompt_tokens":4,"completion_tokens":%d}}`+"\n\n", ids, finish, count)
}

const (
	running = "null"
	length  = `{"type":"length","length":2}`
)

// TestFaults has the ways in which SGLang fails one request, with both clients.
func TestFaults(t *testing.T) {
	offline := func(c *backends.Config) { c.Stream = false }
	for _, c := range []struct {
		name   string
		script wiretest.Script
		set    func(*backends.Config)
		want   backends.Reason
		text   string
	}{
		{"validation inside a 200", wiretest.Answers(head +
			wiretest.Chunked(`data: {"error":{"message":"too long","code":400}}`+"\n\n", wiretest.Done)), nil,
			backends.FailServerErrorEvent, "too long"},
		{"flat error inside a 200", wiretest.Answers(wiretest.Whole(200, "application/json",
			`{"object":"error","message":"bad","code":503}`)), offline, backends.FailServerErrorEvent, "bad"},
		{"abort in the stream", wiretest.Answers(head + wiretest.Chunked(event("5", 1, running),
			event("5", 1, `{"type":"abort","message":"Abort in waiting queue","status_code":503}`), wiretest.Done)), nil,
			backends.FailAborted, "Abort in waiting queue"},
		{"abort of a whole answer", wiretest.Answers(wiretest.Whole(200, "application/json",
			`{"output_ids":[],"meta_info":{"finish_reason":{"type":"abort"},"completion_tokens":0}}`)), offline,
			backends.FailAborted, `"abort"`},
		{"queue full", wiretest.Answers(wiretest.Whole(503, "application/json",
			`{"object":"error","message":"The request queue is full."}`)), offline, "http_503", "queue is full"},
		{"the server dies", wiretest.Closes(head + wiretest.Chunks(event("5", 1, running))), nil, backends.FailTruncated, ""},
		{"the server is dead before a byte", wiretest.Closes(""), nil, backends.FailReset, ""},
		{"no finish reason, [DONE]", wiretest.Answers(head + wiretest.Chunked(event("5", 1, running), wiretest.Done)), nil,
			backends.FailTruncated, "without a finish_reason"},
		{"an unexpected batch", wiretest.Answers(wiretest.Whole(200, "application/json",
			`[{"output_ids":[1]},{"output_ids":[2]}]`)), offline, backends.FailBadEvent, "got 2"},
		{"something else", wiretest.Answers(wiretest.Whole(200, "application/json", `{"choices":[]}`)), offline,
			backends.FailBadEvent, "no output_ids, text or meta_info"},
		{"no JSON", wiretest.Answers(head + wiretest.Chunked("data: {oops\n\n")), nil, backends.FailBadJSON, "{oops"},
		{"ids and count differ", wiretest.Answers(head + wiretest.Chunked(event("5", 1, running), event("6", 3, length),
			wiretest.Done)), nil, backends.FailTokenCount, "meta_info.completion_tokens is 3"},
		{"no stream", wiretest.Answers(wiretest.Whole(200, "application/json",
			strings.TrimPrefix(event("5,6", 2, length), "data: "))), nil, backends.FailNoFirstToken, ""},
		{"silence in the stream", wiretest.Silence(head + wiretest.Chunks(event("5", 1, running))),
			func(c *backends.Config) { c.TokenTimeout = 100 * time.Millisecond }, backends.FailBetweenTokens, ""},
		{"the same tokens for ever", wiretest.Drip(head, wiretest.Chunks(event("5", 1, running))),
			func(c *backends.Config) { c.TokenTimeout = 100 * time.Millisecond }, backends.FailBetweenTokens, ""},
	} {
		for name, client := range clients {
			t.Run(c.name+", "+name, func(t *testing.T) {
				t.Parallel()
				config := wiretest.Config(wiretest.Raw(t, c.script))
				if c.set != nil {
					c.set(config)
				}
				r := client.Ask(t, config, 1)
				require.Equal(t, c.want, r.Results[1].Reason)
				require.Len(t, r.Attempts, 1)
				require.Contains(t, r.Attempts[0].Detail, c.text)
				require.Contains(t, r.Attempts[0].Detail, "/generate")
			})
		}
	}
}

// TestTimesOfAStream requires that each token of a cumulative stream is reported once, when its event comes.
func TestTimesOfAStream(t *testing.T) {
	for name, client := range clients {
		t.Run(name, func(t *testing.T) {
			r := client.Ask(t, wiretest.Config(wiretest.Raw(t, func(c net.Conn, _, _ int) bool {
				for _, part := range []string{head + wiretest.Chunks(event("1,2", 2, running)),
					wiretest.Chunks(event("1,2,3", 3, running)), wiretest.Chunked(event("1,2,3,4,5", 5, length), wiretest.Done)} {
					c.Write([]byte(part))
					time.Sleep(30 * time.Millisecond)
				}
				return true
			})), 1)
			res := r.Results[1]
			require.Equal(t, backends.OK, res.Reason, r.Attempts)
			require.Equal(t, []int32{1, 2}, res.First)
			require.Equal(t, []int32{1, 2, 3, 4, 5}, res.Tokens)
			require.Equal(t, []int{3, 5, 5, 4}, []int{r.Gaps, res.NTokens, res.UsageTokens, res.InputTokens},
				"the second token of the first event has a gap too: none")
			require.Equal(t, []int{3, 2}, []int{res.Events, res.Merged})
			require.Greater(t, res.LastTokenNS-res.FirstTokenNS, int64(40*time.Millisecond))
		})
	}
}

// TestEachEndpointHasItsMode compares the streams of each endpoint with the mode of its own server.
func TestEachEndpointHasItsMode(t *testing.T) {
	answers := func(second string) string {
		return wiretest.Raw(t, wiretest.Answers(head+wiretest.Chunked(event("1", 1, running), event(second, 2, length),
			wiretest.Done)))
	}
	whole, pieces := answers("1,2"), answers("2")
	for name, client := range clients {
		t.Run(name, func(t *testing.T) {
			c := wiretest.Config(whole, pieces)
			c.Endpoints[0].StreamMode, c.Endpoints[1].StreamMode = backends.StreamCumulative, backends.StreamIncremental
			r := client.Ask(t, c, 20)
			require.Empty(t, r.Attempts)
			c = wiretest.Config(whole, pieces)
			c.Endpoints[0].StreamMode, c.Endpoints[1].StreamMode = backends.StreamIncremental, backends.StreamIncremental
			failed := map[int]int{}
			for _, res := range client.Ask(t, c, 20).Results {
				if res.Reason == backends.FailBadEvent {
					failed[res.Endpoint]++
				}
			}
			require.Positive(t, failed[0])
			require.Zero(t, failed[1])
		})
	}
}

// TestManyStreams reads 300 streams on 32 connections, half of them cumulative.
func TestManyStreams(t *testing.T) {
	var served atomic.Int32
	url := wiretest.Raw(t, func(c net.Conn, _, _ int) bool {
		second := "1,2"
		if served.Add(1)%2 == 0 {
			second = "2"
		}
		c.Write([]byte(head + wiretest.Chunked(event("1", 1, running), event(second, 2, length), wiretest.Done)))
		return true
	})
	for name, client := range clients {
		t.Run(name, func(t *testing.T) {
			c := wiretest.Config(url)
			c.Concurrency = 32
			r := client.Ask(t, c, 300)
			require.Empty(t, r.Attempts)
			for _, res := range r.Results {
				require.Equal(t, []int32{1, 2}, res.Tokens)
				require.Equal(t, "length", res.FinishReason)
			}
		})
	}
}
