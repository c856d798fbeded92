package openai

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/wire/reader"
	"github.com/mlperf-go/mlperf-go/backends/internal/wiretest"
)

// kept is one part of a batch as a decoder reports it.
type kept struct {
	Index           int64
	IDs             []int32
	HasIDs, HasText bool
	Text, Finish    string
	Produced        int64
}

func collect(parts *[]kept) (clear func(), add func(*reader.Event)) {
	return func() { *parts = (*parts)[:0] }, func(e *reader.Event) {
		*parts = append(*parts, kept{e.Index, append([]int32{}, e.IDs...), e.HasIDs, e.HasText, string(e.Text),
			string(e.Finish), e.Produced})
	}
}

// bothWays requires that the walk and encoding/json read a document alike.
func bothWays(t *testing.T, doc []byte) {
	w := &walker{Scanner: reader.Scanner{KeepText: true}}
	var fast, slow []kept
	var e, f reader.Event
	clear, add := collect(&fast)
	err := w.DecodeBatch(doc, &e, clear, add)
	_, add = collect(&slow)
	slowErr := decodeSlow(doc, &w.Scanner, &f, add)
	require.Equal(t, slowErr == nil, err == nil, "%s", doc)
	if err != nil {
		return
	}
	require.Equal(t, slow, fast, "%s", doc)
	require.Equal(t, []any{f.Prompt, f.Produced, f.IsError}, []any{e.Prompt, e.Produced, e.IsError}, "%s", doc)
}

var batches = []string{
	`{"choices":[{"index":0,"text":"a","token_ids":[1,2],"finish_reason":"stop"},{"index":1,"text":"b","token_ids":[3],"finish_reason":"length"}],"usage":{"prompt_tokens":4,"completion_tokens":3}}`,
	`{"usage":{"prompt_tokens":4,"completion_tokens":3},"choices":[{"index":1,"text":"","token_ids":null,"finish_reason":null},{"index":0}]}`,
	`{"choices":[{"index":1.0,"text":"\u00e9"},{"text":"x","text":"y"}]}`,
	`{"choices":[]}`, `{"choices":null}`, `{"error":{"message":"no"}}`, `{"choices":[null]}`, `{"choices":[1]}`, `[]`,
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
	(&wiretest.Piece{Index: 1, IDs: []int{5}}).CompletionEvent() +
		(&wiretest.Piece{Index: 0, IDs: []int{5, 6}, Finish: "stop"}).CompletionEvent() +
		(&wiretest.Piece{Index: 1, IDs: []int{5, 8}, Finish: "length"}).CompletionEvent() + "data: [DONE]\n\n",
	(&wiretest.Piece{Index: 1, IDs: []int{5}, Finish: "stop"}).CompletionEvent() +
		(&wiretest.Piece{Index: 1, IDs: []int{5}}).CompletionEvent(),
	(&wiretest.Piece{Index: 7, IDs: []int{5}}).CompletionEvent(), (&wiretest.Piece{Index: -1}).CompletionEvent(),
	"data: null\n\n: ping\n\ndata: [DONE]",
	"data: {\"choices\":[{\"index\":0,\"text\":\"a\",\"token_ids\":[1,2]},{\"index\":2,\"text\":\"b\"," +
		"\"finish_reason\":\"stop\"}],\"usage\":{\"completion_tokens\":3}}\n\n",
	"data: {\"error\":{\"message\":\"no\"}}\n\n", "data: {\"usage\":{\"prompt_tokens\":4,\"completion_tokens\":9}}\n\n",
	"data:[DONE]\n\ndata:{\"choices\":[{\"finish_reason\":\"0\"}]}\n\ndata:0", // bytes behind the end of all parts
}

func streamed(t *testing.T, body []byte) { readStreamed(t, body) }

func readStreamed(t *testing.T, body []byte) wiretest.Read {
	return wiretest.SameInPieces(t, newAnswer(&vllm, &backends.Config{
		RequestOptions: backends.RequestOptions{Batch: 3, Stream: true, API: "completions"},
		AnswerOptions:  backends.AnswerOptions{KeepText: true},
	}), 3, body)
}

func TestStreamedBatchesInPieces(t *testing.T) {
	for _, body := range streams {
		read := readStreamed(t, []byte(body))
		for _, p := range read.Parts {
			if p.Reason == backends.OK && len(p.Tokens) > 0 {
				require.Equal(t, len(p.Tokens), read.News[p.Index], "each token is reported once: %s", body)
			}
		}
	}
}

func FuzzBatchStream(f *testing.F) {
	for _, body := range streams {
		f.Add([]byte(body))
	}
	f.Fuzz(streamed)
}

// TestCountOfABatch compares the server's count with the ids of the whole batch.
func TestCountOfABatch(t *testing.T) {
	for counted, want := range map[string]backends.Reason{"3": backends.OK, "2": backends.FailTokenCount,
		"4": backends.FailTokenCount, "0": backends.FailTokenCount, "null": backends.OK} {
		a := newAnswer(&vllm, &backends.Config{RequestOptions: backends.RequestOptions{Batch: 2, API: "completions"}})
		a.Begin("application/json")
		a.Feed([]byte(`{"choices":[{"index":0,"text":"a","token_ids":[1,2],"finish_reason":"stop"},{"index":1,"text":"b","token_ids":[3],"finish_reason":"stop"}],"usage":{"prompt_tokens":4,"completion_tokens":` + counted + `}}`))
		var o backends.Outcome
		a.Finish(&o, backends.OK)
		require.Len(t, o.Parts, 2)
		for i := range o.Parts {
			require.Equal(t, want, o.Parts[i].Reason, "%s counted", counted)
		}
	}
}
