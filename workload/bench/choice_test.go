package bench_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/internal/simtest"
	"github.com/mlperf-go/mlperf-go/run/runtest"
	"github.com/mlperf-go/mlperf-go/workload/bench"
	"github.com/mlperf-go/mlperf-go/workload/eventlog"
	"github.com/mlperf-go/mlperf-go/workload/measure"
	"github.com/mlperf-go/mlperf-go/workload/profile"
)

// pauses writes the first event of a stream, and the others after a pause.
type pauses struct {
	http.ResponseWriter
	paused bool
}

const firstPause = 40 * time.Millisecond

func (w *pauses) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *pauses) Write(p []byte) (int, error) {
	first := bytes.Index(p, []byte("\n\n"))
	if w.paused || first < 0 {
		return w.ResponseWriter.Write(p)
	}
	w.paused = true
	n, err := w.ResponseWriter.Write(p[:first+2])
	if err != nil {
		return n, err
	}
	if err := http.NewResponseController(w.ResponseWriter).Flush(); err != nil {
		return n, err
	}
	time.Sleep(firstPause)
	more, err := w.ResponseWriter.Write(p[first+2:])
	return n + more, err
}

// TestTheFirstChoiceIsKept sends chats whose first event, with the role, comes long before the first token. vLLM's
// client counts that event.
func TestTheFirstChoiceIsKept(t *testing.T) {
	url, _ := runtest.Simulate(t, time.Millisecond, time.Millisecond)
	forward := simtest.Forward(t, url)
	for name, isHTTP2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				forward.ServeHTTP(&pauses{ResponseWriter: w}, r)
			}))
			if server.EnableHTTP2 = isHTTP2; isHTTP2 {
				server.StartTLS()
			} else {
				server.Start()
			}
			defer server.Close()
			for api, isLater := range map[string]bool{"chat": true, "completions": false} {
				folder := t.TempDir()
				p := prefixed(api)
				p.Data.Kind = profile.Synthetic // chats need text
				r, err := bench.Run(t.Context(), bench.Options{Profile: p, Endpoints: []string{server.URL},
					Folder: folder, Transport: backends.Transport{HTTP2: isHTTP2, InsecureSkipVerify: true}})
				require.NoError(t, err)
				require.Zero(t, r.Measured.Total.Requests.Failed)
				m, err := measure.Log(filepath.Join(folder, eventlog.FileName), measure.Options{Definition: "vllm"})
				require.NoError(t, err)
				own, vllm := r.Measured.Total.Latency["ttft"], m.Total.Latency["ttft"]
				require.Equal(t, own.Count, vllm.Count)
				if !isLater {
					require.Equal(t, own.Mean, vllm.Mean, "the first event of a completion has a token")
					continue
				}
				require.InDelta(t, own.Mean-firstPause.Seconds(), vllm.Mean, 0.02)
				require.Less(t, vllm.Mean+0.9*firstPause.Seconds(), own.Mean)
			}
		})
	}
}
