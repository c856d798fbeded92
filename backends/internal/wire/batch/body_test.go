package batch

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/wire"
	"github.com/mlperf-go/mlperf-go/backends/internal/wiretest"
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

// asText encodes a request with a text in the member prompt.
func asText(dst []byte, s *datasets.Sample, _ *backends.Config) ([]byte, error) {
	return fmt.Appendf(dst, `{"prompt":%q}`, s.Input), nil
}

// inner is the backend of whole batches; only its features are used.
type inner struct {
	backends.Backend
	features backends.Features
}

func (i inner) Features() backends.Features { return i.features }

// opened opens a backend of batches of two around an inner one.
func opened(f Form, body func(int) []byte, in inner) (*Backend, error) {
	c := &backends.Config{Body: body, RequestOptions: backends.RequestOptions{Batch: 2}}
	return New(c, f, func(*backends.Config, func(loadgen.Query, []wire.News, int64)) (backends.Backend, error) {
		return in, nil
	})
}

// Requests without a prompt in their members cannot be joined, which is found before any is sent.
func TestRequestsThatCannotBeJoined(t *testing.T) {
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		form Form
		fits bool
	}{
		"text":          {Form{Keys: []string{"prompt"}, Encode: asText}, true},
		"second member": {Form{Keys: []string{"ids", "prompt"}, Encode: asText}, true},
		"another key":   {Form{Keys: []string{"ids"}, Encode: asText}, false},
		"no key":        {Form{Encode: asText}, false},
		"an error": {Form{Keys: []string{"prompt"}, Encode: func([]byte, *datasets.Sample, *backends.Config) ([]byte, error) {
			return nil, broken
		}}, false},
	} {
		b, err := opened(c.form, nil, inner{})
		require.Equal(t, c.fits, err == nil, name)
		require.Equal(t, c.fits, b != nil, name)
	}
	b, err := opened(Form{Keys: []string{"prompt"}, Encode: asText}, func(i int) []byte {
		return []byte([]string{`{"prompt":"a"}`, `{"n":5,"prompt":"a"}`}[i])
	}, inner{})
	require.NoError(t, err)
	slot := b.put([]loadgen.Query{{Index: 1}, {Index: 0}}, nil)
	require.Equal(t, `{"n":5,"prompt":"a"}`, string(b.request(slot)), "the first alone")
	require.Equal(t, []int{-1, -1}, b.group(slot).lengths, "the lengths of the prompts are unknown")
}

// The warm-up sends batches, too, and a backend without one has none.
func TestWarmUpOfBatches(t *testing.T) {
	form := Form{Keys: []string{"prompt"}, Encode: asText}
	b, err := opened(form, nil, inner{})
	require.NoError(t, err)
	require.Nil(t, b.Features().WarmUp)
	why := errors.New("the end of the warm-up")
	var sizes []int
	b, err = opened(form, nil, inner{features: backends.Features{WarmUp: func(_ context.Context, src loadgen.Source,
		sink backends.Sink) error {
		one := make([]loadgen.Query, 9)
		for src.Pop(one) > 0 {
			sizes = append(sizes, len(b.group(one[0].Index).queries))
			sink.Complete(one[0], &backends.Outcome{Reason: backends.FailTruncated})
		}
		return why
	}}})
	require.NoError(t, err)
	r := wiretest.NewRecorder()
	require.ErrorIs(t, b.Features().WarmUp(t.Context(), wiretest.NewQueries(5).End(), r), why)
	require.Equal(t, []int{2, 2, 1}, sizes)
	r.ExactlyOnce(t, 5)
}

// Prompts are counted if their ids are known and the server counted tokens of all parts.
func TestCountsOfPrompts(t *testing.T) {
	for _, c := range []struct {
		lengths              []int
		input, usage, tokens int
		accepted             bool
	}{
		{[]int{2, 3}, 5, 9, 9, true}, {[]int{2, 3}, 4, 9, 9, false}, {[]int{2, 3}, 6, 9, 9, false},
		{[]int{2, 3}, 0, 9, 9, true}, {[]int{2, 3}, -1, 9, 9, true}, {[]int{2, 3}, 1, 9, 9, false},
		{[]int{2, -1}, 4, 9, 9, true}, {[]int{2, 3}, 4, 8, 9, true}, {[]int{2, 0}, 2, 9, 9, true}, {nil, 1, 9, 9, false},
	} {
		g := &group{lengths: c.lengths}
		why := g.otherPrompts(&backends.Outcome{InputTokens: c.input, UsageTokens: c.usage, NTokens: c.tokens})
		require.Equal(t, c.accepted, why == "", "%+v: %s", c, why)
	}
}

// The parts of an answer are the batch's, each once and in any order.
func TestPartsOfABatch(t *testing.T) {
	for n := range 4 {
		g := &group{queries: make([]loadgen.Query, n)}
		all := 1
		for range n {
			all *= 5
		}
		for code := range all { // all answers of n parts with indices from -1 to 3
			var parts []backends.Part
			found := map[int]bool{}
			for rest, i := code, 0; i < n; rest, i = rest/5, i+1 {
				at := rest%5 - 1
				parts = append(parts, backends.Part{Index: at})
				if at >= 0 && at < n {
					found[at] = true
				}
			}
			require.Equal(t, len(found) == n, g.mismatch(parts) == "", "%d: %v", n, parts)
			require.NotEmpty(t, g.mismatch(append(parts, backends.Part{Index: n - 1})))
			if n > 0 {
				require.NotEmpty(t, g.mismatch(parts[1:]))
			}
		}
	}
}

// source returns its answers one after the other, and keeps the time limits.
type source struct {
	loadgen.Source
	answers  []int // numbers of queries; the last one ends it
	timeouts []time.Duration
}

func (s *source) Wait(dst []loadgen.Query, timeout time.Duration) (int, bool) {
	s.timeouts = append(s.timeouts, timeout)
	n := s.answers[0]
	s.answers = s.answers[1:]
	for i := range n {
		dst[i] = loadgen.Query{Index: i}
	}
	return n, len(s.answers) > 0
}

// The first sample is waited for as long as the backend requires, and further ones for a short time.
func TestWaitingForABatch(t *testing.T) {
	const long = time.Hour
	for _, c := range []struct {
		answers  []int
		size     int // of the batch; 0: none
		open     bool
		timeouts []time.Duration
	}{
		{[]int{3, 0}, 3, true, []time.Duration{long}},
		{[]int{1, 2, 0}, 3, true, []time.Duration{long, linger}},
		{[]int{1, 1, 1, 0}, 3, true, []time.Duration{long, linger, linger}},
		{[]int{1, 0, 5}, 1, true, []time.Duration{long, linger}},
		{[]int{2, 0}, 2, true, []time.Duration{long, linger}},
		{[]int{0, 5}, 0, true, []time.Duration{long}},
		{[]int{0}, 0, false, []time.Duration{long}},
	} {
		b := &Backend{config: &backends.Config{RequestOptions: backends.RequestOptions{Batch: 3}}}
		b.groups.Store(new([]*group))
		src := &source{answers: c.answers}
		dst := make([]loadgen.Query, 5)
		n, open := b.shard(src, nil).Wait(dst, long)
		require.Equal(t, c.open, open, "%+v", c)
		require.Equal(t, c.timeouts, src.timeouts, "%+v", c)
		require.Equal(t, min(c.size, 1), n, "%+v", c)
		if n > 0 {
			require.Len(t, b.group(dst[0].Index).queries, c.size, "%+v", c)
		}
	}
	n, open := (&shard{}).Wait(nil, long)
	require.Zero(t, n)
	require.True(t, open)
}

// Batches in flight have slots of their own, and a slot is used again after its batch only.
func TestSlotsOfBatches(t *testing.T) {
	b := &Backend{config: &backends.Config{}}
	b.groups.Store(new([]*group))
	used := map[int]int{} // by slot: the batch
	r := rand.New(rand.NewPCG(1, 2))
	for batch := range 500 {
		slot := b.put([]loadgen.Query{{Index: batch}}, nil)
		require.NotContains(t, used, slot)
		used[slot] = batch
		for slot, batch := range used {
			require.Equal(t, batch, b.group(slot).queries[0].Index)
		}
		if len(used) > r.IntN(9) {
			for slot := range used {
				b.free(slot)
				delete(used, slot)
				break
			}
		}
	}
	require.Less(t, len(*b.groups.Load()), 30)
}

// A failed attempt is recorded for each sample, with the server's answer once.
func TestFailedAttemptsOfABatch(t *testing.T) {
	b := &Backend{config: &backends.Config{}}
	b.groups.Store(new([]*group))
	slot := b.put([]loadgen.Query{{ID: 5}, {ID: 6}, {ID: 7}}, nil)
	var seen []string
	sink := attempts(func(a backends.Attempt) {
		seen = append(seen, fmt.Sprintf("%d %s %s", a.Query.ID, a.Body, a.Detail))
	})
	(&shard{backend: b, sink: sink}).Failed(backends.Attempt{Query: loadgen.Query{Index: slot}, Body: []byte("body"),
		Detail: "why"})
	const why = " why (a batch of 3 samples)"
	require.Equal(t, []string{"5 body" + why, "6 " + why, "7 " + why}, seen)
}

// attempts receives failed attempts alone.
type attempts func(backends.Attempt)

func (a attempts) Failed(x backends.Attempt)                   { a(x) }
func (attempts) FirstToken(loadgen.Query, []int32, int64)      {}
func (attempts) Tokens(loadgen.Query, int, int64, int64)       {}
func (attempts) Complete(q loadgen.Query, o *backends.Outcome) {}
