package reader

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
)

// given is a decoder that returns the same parts for every document.
type given []Event

func (given) Forget()                     {}
func (given) Decode([]byte, *Event) error { return nil }

func (g given) DecodeBatch(doc []byte, e *Event, clear func(), add func(*Event)) error {
	clear()
	e.Reset()
	for i := range g {
		part := g[i]
		part.Prompt, part.Produced, part.Choices = -1, -1, 1
		add(&part)
	}
	e.Produced = int64(len(doc))
	return nil
}

func parts(t *testing.T, c *backends.Config, g given, body string) (*backends.Outcome, string) {
	b := NewBatch(c, Options{Terms: Terms{Count: "usage", Parts: "choices"}}, g)
	b.Begin("application/json")
	for piece := range strings.SplitSeq(body, "|") {
		b.Feed([]byte(piece))
	}
	var o backends.Outcome
	return &o, b.Finish(&o, backends.OK)
}

func TestBatchJudgesEachPart(t *testing.T) {
	stop, abort := []byte("stop"), []byte("abort")
	g := given{
		{Index: 2, IDs: []int32{1, 2}, HasIDs: true, Finish: stop}, {Index: 0, IDs: []int32{3}, HasIDs: true, Finish: abort},
		{Index: 1, IDs: []int32{4}, HasIDs: true}, {Index: 9, IDs: []int32{200}, HasIDs: true, Finish: stop},
	}
	o, _ := parts(t, &backends.Config{AnswerOptions: backends.AnswerOptions{Vocabulary: 100}}, g, "ab|cd")
	require.Equal(t, backends.OK, o.Reason)
	var reasons []backends.Reason
	var indices []int
	for _, p := range o.Parts {
		reasons, indices = append(reasons, p.Reason), append(indices, p.Index)
	}
	require.Equal(t, []int{2, 0, 1, 9}, indices)
	require.Equal(t, []backends.Reason{backends.OK, backends.FailAborted, backends.FailTruncated, backends.FailBadEvent},
		reasons)
	require.Equal(t, []int32{1, 2}, o.Parts[0].Tokens)
}

// each is a decoder that returns an event by its document.
type each map[string]Event

func (each) Forget()                                                {}
func (each) DecodeBatch([]byte, *Event, func(), func(*Event)) error { return nil }
func (e each) Decode(doc []byte, to *Event) error {
	event, ok := e[string(doc)]
	if !ok {
		return errors.New("unknown")
	}
	event.Choices, event.Prompt, event.Produced = 1, -1, -1
	*to = event
	return nil
}

// The events of a stream belong to the part with their index: each brings news of its own, and the batch is done when
// every part is.
func TestBatchStream(t *testing.T) {
	stop := []byte("stop")
	c := &backends.Config{RequestOptions: backends.RequestOptions{Batch: 2}}
	b := NewBatch(c, Options{Terms: Terms{Count: "usage", Parts: "choices"}}, each{
		"a": {Index: 1, IDs: []int32{7, 8}, HasIDs: true},
		"b": {Index: 0, IDs: []int32{9}, HasIDs: true, Finish: stop},
		"c": {Index: 1, IDs: []int32{6}, HasIDs: true, Finish: stop},
	})
	b.Begin("text/event-stream")
	rest := []byte("data: a\n\ndata: b\n\ndata: c\n\ndata: [DONE]\n\n")
	var news [][2]int
	for len(rest) > 0 {
		var n int
		if n, rest = b.Feed(rest); n == 0 {
			break
		}
		for _, one := range b.News() {
			news = append(news, [2]int{one.Part, one.N})
		}
	}
	require.Equal(t, [][2]int{{1, 2}, {0, 1}, {1, 1}}, news)
	require.True(t, b.Settled())
	var o backends.Outcome
	b.Finish(&o, backends.OK)
	require.Equal(t, backends.OK, o.Reason)
	require.Len(t, o.Parts, 2)
	for _, p := range o.Parts {
		require.Equal(t, backends.OK, p.Reason)
		require.Equal(t, map[int][]int32{0: {9}, 1: {7, 8, 6}}[p.Index], p.Tokens)
	}
}

func TestBatchIsBounded(t *testing.T) {
	b := NewBatch(&backends.Config{AnswerOptions: backends.AnswerOptions{MaxAnswerBytes: 3}}, Options{}, given{})
	b.Begin("")
	b.Feed([]byte("abcd"))
	require.True(t, b.Settled())
	var o backends.Outcome
	b.Finish(&o, backends.OK)
	require.Equal(t, backends.FailTooLarge, o.Reason)
	o2, _ := parts(t, &backends.Config{}, given{}, "{}")
	require.Equal(t, backends.FailBadEvent, o2.Reason)
	o3, _ := parts(t, &backends.Config{}, given{}, "")
	require.Equal(t, backends.FailEmpty, o3.Reason)
}
