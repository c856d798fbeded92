package batch_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/wiretest"
)

// Each gap of a sample begins at its previous token, so that all gaps together are the time from its first token to its
// last.
func TestGapsOfABatch(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i, finish := range []string{"", "", "stop"} {
			for prompt := range 2 {
				p := wiretest.Piece{Index: prompt, IDs: []int{i}, Finish: finish}
				io.WriteString(w, p.CompletionEvent())
				w.(http.Flusher).Flush()
				time.Sleep(10 * time.Millisecond)
			}
		}
	}))
	defer s.Close()
	c, d := config(t, "vllm", s.URL, 2)
	c.Stream = true
	r := ask(t, c, d, 2)
	span := int64(0)
	for _, res := range r.Results {
		require.Equal(t, backends.OK, res.Reason)
		require.Greater(t, res.LastTokenNS-res.FirstTokenNS, int64(30*time.Millisecond))
		span += res.LastTokenNS - res.FirstTokenNS
	}
	require.Equal(t, 4, r.Gaps)
	require.Equal(t, span, r.GapNS)
}
