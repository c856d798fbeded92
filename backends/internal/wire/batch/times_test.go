package batch_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/wiretest"
)

// slowServer answers a batch in two pieces with a pause between them, or with an error in place of the second.
func slowServer(t *testing.T, stream, fails bool, pause time.Duration) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked request
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		var parts []part
		for i, p := range asked.Prompt {
			parts = append(parts, part{index: i, prompt: p[0], finish: "stop"})
		}
		text := completions(parts)
		w.Header().Set("Content-Type", "application/json")
		if stream {
			text = good(asked.Prompt, false).text(false)
			w.Header().Set("Content-Type", "text/event-stream")
		}
		half := len(text) / 2
		io.WriteString(w, text[:half])
		w.(http.Flusher).Flush()
		time.Sleep(pause)
		if fails {
			panic(http.ErrAbortHandler)
		}
		io.WriteString(w, text[half:])
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// Every sample of a batch has the times, the endpoint and the attempts of its request, in chronological order. A sample
// of a failed batch has them too, but no token.
func TestEveryPartHasTheTimesOfItsRequest(t *testing.T) {
	const pause = 20 * time.Millisecond
	for _, c := range []struct{ stream, fails bool }{{false, false}, {true, false}, {false, true}, {true, true}} {
		urls := []string{slowServer(t, c.stream, c.fails, pause), slowServer(t, c.stream, c.fails, pause)}
		conf, d := config(t, "vllm", urls[0], 3)
		conf.Endpoints = wiretest.Config(urls...).Endpoints
		conf.Stream, conf.Concurrency = c.stream, 1
		b, err := d.Open(conf)
		require.NoError(t, err)
		r := wiretest.NewRecorder()
		begun := time.Now().UnixNano()
		require.NoError(t, b.Serve(context.Background(), wiretest.NewQueries(6).End(), r))
		ended := time.Now().UnixNano()
		r.ExactlyOnce(t, 6)
		endpoints := map[int]int{}
		for id, res := range r.Results {
			of := r.Results[1+(id-1)/3*3] // the first sample of its batch
			require.Equal(t, []int64{of.DequeuedNS, of.SentNS, of.FirstByteNS, int64(of.Endpoint), int64(of.Retries)},
				[]int64{res.DequeuedNS, res.SentNS, res.FirstByteNS, int64(res.Endpoint), int64(res.Retries)})
			require.Equal(t, of.TriedNS, res.TriedNS)
			times := []int64{begun, res.DequeuedNS, res.SentNS, res.FirstByteNS}
			if c.fails {
				require.Equal(t, backends.FailTruncated, res.Reason)
				require.Equal(t, []int64{0, 0, 0, 0, 0, -1, -1}, []int64{res.FirstTokenNS, res.LastTokenNS, int64(res.Events),
					int64(res.Merged), int64(res.NTokens), int64(res.UsageTokens), int64(res.InputTokens)})
				require.Empty(t, res.Tokens)
				require.Empty(t, res.Text)
			} else {
				require.Equal(t, backends.OK, res.Reason)
				require.GreaterOrEqual(t, res.LastTokenNS-res.FirstByteNS, int64(pause/2), "it came after the pause")
				require.Positive(t, res.ReadableNS)
				require.GreaterOrEqual(t, res.ReadableNS, res.FirstByteNS)
				times = append(times, max(res.ReadableNS, res.FirstByteNS), res.LastTokenNS)
			}
			requireOrdered(t, append(times, ended))
			endpoints[res.Endpoint]++
		}
		require.Equal(t, map[int]int{0: 3, 1: 3}, endpoints)
	}
}

// requireOrdered requires that times are set and in order.
func requireOrdered(t *testing.T, times []int64) {
	t.Helper()
	for i := range times[1:] {
		require.LessOrEqual(t, times[i], times[i+1], "time %d of %v", i, times)
	}
}
