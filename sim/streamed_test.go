package sim

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestStreamsAreReported: OnStreamed receives the time of each token of whole streams, and no other answers.
func TestStreamsAreReported(t *testing.T) {
	reported := make(chan *Streamed, 10)
	s := serve(t, func(c *Config) {
		c.TTFT, c.TPOT = time.Millisecond, time.Millisecond
		c.OnStreamed = func(s *Streamed) { reported <- s }
	})
	ask := func(rest string) {
		status, _, text, err := s.post("/v1/completions", `{"model":"toy","prompt":[1,2],"max_tokens":5,"ignore_eos":true`+
			rest+`}`, "X-Request-Id: mine")
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, status, text)
	}
	began := time.Now()
	ask("")
	ask(`,"stream":true`)
	require.NoError(t, s.stop())
	close(reported)
	got := <-reported
	require.Equal(t, "mine", got.ID)
	require.GreaterOrEqual(t, got.ArrivalNS, began.UnixNano())
	tokens, last := 0, got.ArrivalNS+int64(time.Millisecond)
	for _, w := range got.Writes {
		require.GreaterOrEqual(t, w.AtNS, last)
		tokens, last = tokens+w.Tokens, w.AtNS
	}
	require.Equal(t, 5, tokens)
	require.LessOrEqual(t, last, time.Now().UnixNano())
	require.Nil(t, <-reported, "whole answers are left out")
}
