package sglang

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/wire/reader"
	"github.com/mlperf-go/mlperf-go/backends/internal/wiretest"
)

// kept is one part of a batch as a decoder reports it.
type kept struct {
	Index            int64
	IDs              []int32
	Text, Finish     string
	Prompt, Produced int64
	IsError          bool
}

// bothWays requires that the walk and encoding/json read a document alike.
func bothWays(t *testing.T, doc []byte) {
	w := &walker{Scanner: reader.Scanner{KeepText: true}}
	var fast, slow []kept
	keep := func(parts *[]kept) func(*reader.Event) {
		return func(e *reader.Event) {
			*parts = append(*parts, kept{e.Index, append([]int32{}, e.IDs...), string(e.Text), string(e.Finish), e.Prompt,
				e.Produced, e.IsError})
		}
	}
	var e, f reader.Event
	err := w.DecodeBatch(doc, &e, func() { fast = fast[:0] }, keep(&fast))
	slowErr := reader.DecodeList(doc, &f, parts, w.slowAnswer, keep(&slow))
	require.Equal(t, slowErr == nil, err == nil, "%s", doc)
	if err == nil {
		require.Equal(t, slow, fast, "%s", doc)
		require.Equal(t, f.IsError, e.IsError)
	}
}

var batches = []string{
	`[{"text":"a","output_ids":[1,2],"meta_info":{"finish_reason":{"type":"stop"},"prompt_tokens":1,"completion_tokens":2}},{"text":"b","output_ids":[1,2,3],"meta_info":{"completion_tokens":3}}]`,
	`[{"index":1,"text":"a"},{"index":0,"text":"ab"}]`, `[{"error":{"message":"no"}}]`, `{"error":{"message":"no"}}`,
	`{"text":"alone"}`, `[]`, `[{}]`, `[1]`, `null`,
}

func TestBatchesBothWays(t *testing.T) {
	for _, doc := range batches {
		bothWays(t, []byte(doc))
	}
}

func FuzzBatch(f *testing.F) {
	for _, doc := range batches {
		f.Add([]byte(doc))
	}
	f.Fuzz(bothWays)
}

var streams = []string{
	(&wiretest.Piece{Index: 1, IDs: []int{5}}).NativeEvent() +
		(&wiretest.Piece{Index: 0, IDs: []int{5, 6}, Finish: "stop"}).NativeEvent() +
		(&wiretest.Piece{Index: 1, IDs: []int{5, 8}, Finish: "length"}).NativeEvent() + "data: [DONE]\n\n",
	(&wiretest.Piece{Index: 1, IDs: []int{5}, Finish: "stop"}).NativeEvent() +
		(&wiretest.Piece{Index: 1, IDs: []int{5}}).NativeEvent(),
	(&wiretest.Piece{Index: 7, IDs: []int{5}}).NativeEvent(), (&wiretest.Piece{Index: -1}).NativeEvent(),
	"data: null\n\n: ping\n\ndata: [DONE]",
	"data: [{\"text\":\"a\",\"output_ids\":[1]},{\"text\":\"b\",\"output_ids\":[1,2],\"index\":1}]\n\n",
	"data: {\"error\":{\"message\":\"no\"}}\n\n", "data: {\"usage\":{\"prompt_tokens\":4,\"completion_tokens\":9}}\n\n",
}

func streamed(t *testing.T, body []byte) {
	wiretest.SameInPieces(t, newAnswer(&backends.Config{RequestOptions: backends.RequestOptions{Batch: 3, Stream: true},
		AnswerOptions: backends.AnswerOptions{KeepText: true}}), 3, body)
}

func TestStreamedBatchesInPieces(t *testing.T) {
	for _, body := range streams {
		streamed(t, []byte(body))
	}
}

func FuzzBatchStream(f *testing.F) {
	for _, body := range streams {
		f.Add([]byte(body))
	}
	f.Fuzz(streamed)
}
