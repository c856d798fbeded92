package http1_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/wiretest"
)

// Answers of 15,000 tokens to prompts of 40,000 ids, several at once: more than a socket's buffers hold in either
// direction.
func TestLongPromptsAndAnswers(t *testing.T) {
	const tokens, requests = 15000, 12
	prompt := []byte(`{"prompt":[` + strings.Repeat("128255,", 39999) + `128255]}`)
	for name, perSegment := range map[string]int{"16 tokens a segment": 16, "1000 tokens a segment": 1000} {
		t.Run(name, func(t *testing.T) {
			c := wiretest.Config(wiretest.Canned(t, -1, streamOf(tokens, perSegment)...))
			c.Body = func(int) []byte { return prompt }
			c.Concurrency = 5
			c.RequestTimeout, c.FirstTokenTimeout, c.TokenTimeout = 2*time.Minute, time.Minute, time.Minute
			b, err := open(c)
			require.NoError(t, err)
			r := wiretest.NewRecorder()
			require.NoError(t, b.Serve(context.Background(), wiretest.NewQueries(requests).End(), r))
			r.ExactlyOnce(t, requests)
			for _, res := range r.Results {
				require.Equal(t, backends.OK, res.Reason)
				require.Equal(t, tokens, res.NTokens)
				for i, id := range res.Tokens {
					require.EqualValues(t, i, id)
				}
			}
		})
	}
}
