package reader

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/models"
)

// TestEndlessAnswers requires that a server which never stops sending costs no more memory than the requested answer,
// in one body, one event or one line, streamed or not.
func TestEndlessAnswers(t *testing.T) {
	for _, c := range []struct {
		kind, begin string
		stream      bool
	}{
		{"application/json", `{"choices":[{"text":"`, false},
		{"application/json", `{"choices":[{"text":"`, true},
		{"text/html", "<html>", false},
		{"text/event-stream", "data: ", true},
		{"text/event-stream", ": ", true},
		{"application/x-ndjson", `{"response":"`, true},
	} {
		a := New(&backends.Config{RequestOptions: backends.RequestOptions{Stream: c.stream,
			Sampling: models.Sampling{MaxTokens: 100}}}, Options{Decoder: given{}})
		a.Begin(c.kind)
		a.Feed([]byte(c.begin))
		piece, sent := bytes.Repeat([]byte("x"), 64<<10), 0
		for ; !a.Settled() && sent < 64<<20; sent += len(piece) {
			a.Feed(piece)
		}
		require.True(t, a.Settled(), c.kind)
		require.LessOrEqual(t, sent, 18<<20, c.kind)
		require.LessOrEqual(t, cap(a.body), 40<<20, c.kind)
		var o backends.Outcome
		a.Finish(&o, backends.OK)
		require.Equal(t, backends.FailTooLarge, o.Reason, c.kind)
	}
}
