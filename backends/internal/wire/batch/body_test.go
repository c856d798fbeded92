package batch

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/wire"
	"github.com/mlperf-go/mlperf-go/datasets"
)

// TestABodyIsWrittenOnce joins one batch after another in the same slot: net/http may still read the body of a batch
// that has its answer, or was given up, so no later batch may be written into it.
func TestABodyIsWrittenOnce(t *testing.T) {
	encode := func(dst []byte, s *datasets.Sample, _ *backends.Config) ([]byte, error) {
		return append(append(append(dst, `{"prompt":"`...), s.Input...), `"}`...), nil
	}
	c := &backends.Config{
		Body: func(i int) []byte {
			b, err := encode(nil, &datasets.Sample{Input: strings.Repeat(string(rune('a'+i)), 1+5*(i%2))}, nil)
			require.NoError(t, err)
			return b
		},
		RequestOptions: backends.RequestOptions{Batch: 2},
	}
	b, err := New(c, Form{Keys: []string{"prompt"}, Encode: encode},
		func(*backends.Config, func(loadgen.Query, []wire.News, int64)) (backends.Backend, error) {
			return nil, nil
		})
	require.NoError(t, err)
	var bodies []string
	var kept [][]byte
	for i := range 6 {
		slot := b.put([]loadgen.Query{{Index: i}, {Index: i + 1}}, nil)
		require.Zero(t, slot, "the slot of the batch before is used again")
		body := b.request(slot)
		require.Equal(t, body, b.request(slot), "a repeated attempt sends the same")
		bodies, kept = append(bodies, string(body)), append(kept, body)
		b.free(slot)
	}
	require.Equal(t, `{"prompt":["a","bbbbbb"]}`, bodies[0])
	for i := range kept {
		require.Equal(t, bodies[i], string(kept[i]), "batch %d", i)
	}
}
