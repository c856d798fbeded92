package openai_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/wire"
	"github.com/mlperf-go/mlperf-go/backends/openai"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func config(api string, stream bool) *backends.Config {
	return &backends.Config{
		Body:           func(int) []byte { return []byte("{}") },
		RequestOptions: backends.RequestOptions{API: api, Stream: stream, ServedModel: "m"},
		AnswerOptions:  backends.AnswerOptions{KeepText: api != "generate"},
	}
}

func protocol(t *testing.T, c *backends.Config) wire.Protocol {
	d, err := backends.Lookup("vllm")
	require.NoError(t, err)
	p, err := d.(*openai.Driver).Protocol(c)
	require.NoError(t, err)
	return p
}

// decode reads a body several times in pieces of random length, and requires the same result each time.
func decode(t *testing.T, c *backends.Config, kind string, body []byte) *backends.Outcome {
	t.Helper()
	p := protocol(t, c)
	answer := p.NewAnswer()
	var first *backends.Outcome
	for range 30 {
		answer.Begin(kind)
		for rest := body; len(rest) > 0; {
			piece := rest[:1+rand.IntN(min(len(rest), 100))]
			rest = rest[len(piece):]
			for n := 1; n > 0; {
				n, piece = answer.Feed(piece)
			}
		}
		var o backends.Outcome
		answer.Finish(&o, backends.OK)
		o.Tokens, o.Text = append([]int32(nil), o.Tokens...), bytes.Clone(o.Text)
		if first == nil {
			first = &o
		}
		require.Equal(t, *first, o)
	}
	return first
}

// firstTokenEvent returns the number of data events before the first one with a token.
func firstTokenEvent(t *testing.T, c *backends.Config, body []byte) int {
	p := protocol(t, c)
	answer := p.NewAnswer()
	answer.Begin("text/event-stream")
	at := -1
	for part := range bytes.SplitSeq(body, []byte("\n\n")) {
		if bytes.Contains(part, []byte("data:")) {
			at++
		}
		if n, _ := answer.Feed(append(part[:len(part):len(part)], "\n\n"...)); n > 0 {
			return at
		}
	}
	return -1
}
