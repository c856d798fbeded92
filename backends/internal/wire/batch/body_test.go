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

// TestABodyIsWrittenOnce joins one batch after another in the same slot. net/http may still read the body of a batch
// that was answered or given up, so no later batch may be written into it.
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

// A batch is dispatched by the key of its first sample, or by its index if samples have no keys.
func TestKeyOfABatch(t *testing.T) {
	b := &Backend{config: &backends.Config{}}
	b.groups.Store(new([]*group))
	slots := []int{b.put([]loadgen.Query{{Index: 5}, {Index: 6}}, nil), b.put([]loadgen.Query{{Index: 9}}, nil)}
	require.Equal(t, []uint64{5, 9}, []uint64{b.key(slots[0]), b.key(slots[1])})
	b.config.Key = func(index int) uint64 { return uint64(100 * index) }
	require.Equal(t, []uint64{500, 900}, []uint64{b.key(slots[0]), b.key(slots[1])})
}

// Requests are joined only if each has the whole frame and a prompt.
func TestFrameOfARequest(t *testing.T) {
	f := frame{prefix: []byte(`{"p":`), suffix: []byte(`,"n":5}`)}
	for body, want := range map[string]string{`{"p":[1,2],"n":5}`: "[1,2]", `{"p":"x","n":5}`: `"x"`, `{"p":,"n":5}`: ""} {
		prompt, ok := f.prompt([]byte(body))
		require.True(t, ok, body)
		require.Equal(t, want, string(prompt))
	}
	for _, body := range []string{"", `{"p":`, `,"n":5}`, `{"q":[1,2],"n":5}`, `{"p":[1,2],"n":6}`, `{"p":[1,2],"n":5} `,
		` {"p":[1,2],"n":5}`, `{"p":"n":5}`} {
		_, ok := f.prompt([]byte(body))
		require.False(t, ok, body)
		_, ok = f.join(nil, [][]byte{[]byte(`{"p":[1],"n":5}`), []byte(body)})
		require.False(t, ok, body)
	}
	short := frame{prefix: []byte(`{"p":"`), suffix: []byte(`"}`)}
	_, ok := short.prompt([]byte(`{"p":"}`)) // one quote is the end of the prefix and the begin of the suffix
	require.False(t, ok)
	for prompt, want := range map[string]int{"": -1, "7": -1, `"a,b"`: -1, "[": -1, "[]": 0, "[7]": 1, "[7,8,9]": 3} {
		require.Equal(t, want, length([]byte(prompt)), prompt)
	}
}
