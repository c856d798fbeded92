package openai

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/wire/reader"
)

// feed reads a whole answer.
func feed(c *backends.Config, d *dialect, kind, body string) *backends.Outcome {
	a := newAnswer(d, c)
	a.Begin(kind)
	for n, p := 1, []byte(body); n > 0; {
		n, p = a.Feed(p)
	}
	var o backends.Outcome
	a.Finish(&o, backends.OK)
	return &o
}

func TestIDsInLogprobs(t *testing.T) {
	c := &backends.Config{RequestOptions: backends.RequestOptions{IDsInLogprobs: true},
		AnswerOptions: backends.AnswerOptions{NeedIDs: true, KeepText: true}}
	for body, want := range map[string][]int32{
		`{"choices":[{"index":0,"text":"ab","finish_reason":"stop","logprobs":{"tokens":["token_id:5","token_id:2147483647"],"token_logprobs":[-1,null],"top_logprobs":[{"token_id:5":-1}]}}]}`:         {5, 1<<31 - 1},
		`{"choices":[{"index":0,"message":{"content":"ab"},"finish_reason":"stop","logprobs":{"content":[{"logprob":-1,"token":"token_id:5","bytes":[1],"top_logprobs":[]},{"token":"token_id:6"}]}}]}`: {5, 6},
		`{"choices":[{"index":0,"text":"a","token_ids":[9,9,9],"finish_reason":"stop","logprobs":{"tokens":["token_id:5"]}}]}`:                                                                          {5},
		`{"choices":[{"index":0,"text":"a","finish_reason":"stop","logprobs":{"tokens":["token_\u0069d:5"]}}]}`:                                                                                         {5},
	} {
		o := feed(c, &vllm, "application/json", body)
		require.Equal(t, backends.OK, o.Reason, body)
		require.Equal(t, want, o.Tokens)
		require.Equal(t, backends.TokensFromIDs, o.TokenSource)
	}
	for body, want := range map[string]backends.Reason{
		// texts: no ids
		`{"choices":[{"index":0,"text":"a","finish_reason":"stop","logprobs":{"tokens":["a"]}}],"usage":{"completion_tokens":1}}`:          backends.FailBadEvent,
		`{"choices":[{"index":0,"text":"a","finish_reason":"stop","logprobs":{"tokens":["token_id:-5"]}}]}`:                                backends.FailBadEvent,
		`{"choices":[{"index":0,"text":"a","finish_reason":"stop","logprobs":{"tokens":["token_id:9999999999"]}}]}`:                        backends.FailBadEvent,
		`{"choices":[{"index":0,"text":"a","finish_reason":"stop","logprobs":{"tokens":["token_id:5"]}}],"usage":{"completion_tokens":2}}`: backends.FailTokenCount,
		`{"choices":[{"index":0,"text":"a","finish_reason":"stop","logprobs":{"tokens":7}}]}`:                                              backends.FailBadEvent,
	} {
		require.Equal(t, want, feed(c, &vllm, "application/json", body).Reason, body)
	}
}

// TestLogprobsBothWays requires that the walk and encoding/json find the same ids.
func TestLogprobsBothWays(t *testing.T) {
	for _, doc := range []string{
		`{"choices":[{"logprobs":{"tokens":["token_id:1","token_id:x","b"]}}]}`, `{"choices":[{"logprobs":null}]}`,
		`{"choices":[{"logprobs":{}}]}`,
		`{"choices":[{"logprobs":{"tokens":[]}}]}`, `{"choices":[{"logprobs":{"content":[{}]}}]}`,
		`{"choices":[{"logprobs":{"tokens":null,"content":null}}]}`,
	} {
		w := &walker{Scanner: reader.Scanner{IDsInLogprobs: true}}
		var fast, slow reader.Event
		require.True(t, w.walk([]byte(doc), &fast), doc)
		require.NoError(t, decodeSlow([]byte(doc), &w.Scanner, &slow, nil))
		require.Equal(t, slow.IDs, fast.IDs[:len(fast.IDs):len(fast.IDs)], doc)
		require.Equal(t, []bool{slow.HasIDs, slow.BadID}, []bool{fast.HasIDs, fast.BadID}, doc)
	}
}

func TestTokenizerCountsIfTheServerDoesNot(t *testing.T) {
	count := func(text []byte) (int, error) { return len(text), nil }
	bare := `{"choices":[{"index":0,"text":"abc","finish_reason":"stop"}]}`
	c := &backends.Config{AnswerOptions: backends.AnswerOptions{CountText: count}}
	o := feed(c, &generic, "application/json", bare)
	require.Equal(t, []any{backends.OK, 3, backends.TokensFromTokenizer}, []any{o.Reason, o.NTokens, o.TokenSource})
	require.Nil(t, o.Text, "only counted")
	o = feed(c, &generic, "application/json", `{"choices":[{"index":0,"text":"abc","finish_reason":"stop"}],"usage":{"completion_tokens":2}}`)
	require.Equal(t, []any{2, backends.TokensFromUsage}, []any{o.NTokens, o.TokenSource}, "the server's count comes first")
	o = feed(c, &generic, "application/json", `{"choices":[{"index":0,"message":{"reasoning":"hm","content":"abc"},"finish_reason":"stop"}]}`)
	require.Equal(t, backends.FailBadEvent, o.Reason, "the text is not all of the output")
	stream := "data: {\"choices\":[{\"delta\":{\"reasoning\":\"hm\"}}]}\n\ndata: " +
		"{\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\n"
	s := &backends.Config{RequestOptions: backends.RequestOptions{Stream: true},
		AnswerOptions: backends.AnswerOptions{CountText: count}}
	require.Equal(t, backends.FailBadEvent, feed(s, &generic, "text/event-stream", stream).Reason,
		"what is not text cannot be counted as text")
	c.CountText = func([]byte) (int, error) { return 0, errors.New("no tokenizer") }
	require.Equal(t, backends.FailBadEvent, feed(c, &generic, "application/json", bare).Reason)
	require.Equal(t, backends.FailBadEvent, feed(&backends.Config{}, &generic, "application/json", bare).Reason)
}

// FuzzLogprobs compares the walk with encoding/json on documents with ids in the log probabilities.
func FuzzLogprobs(f *testing.F) {
	for _, logprobs := range []string{
		`{"tokens":["token_id:1","token_id:x","b",""],"top_logprobs":[{"token_id:1":-1}]}`,
		`{"tokens":["token_id:2147483648","token_id:-1","token_id:"]}`, `null`, `{}`, `7`,
		`{"content":[{"token":"token_id:5","bytes":[1]},{}]}`, `{"content":[{"token":"a","token":"token_id:5"}]}`,
		`{"tokens":["token_\u0069d:5"]}`, `{"tokens":null,"content":[null]}`,
		`{"tokens":["token_id:1"],"tokens":["token_id:2"]}`, `{"Tokens":["token_id:3"]}`, `{"tokens":[5]}`,
		`{"tokens":["token_id:1"],"content":[{"token":"token_id:2"}]}`, `{"tokens":["token_id:1"],"tokens":null}`,
		`{"tokens":["token_id:1"]},"logprobs":null`,
	} {
		f.Add(`{"choices":[{"index":0,"text":"a","logprobs":` + logprobs + `,"finish_reason":null}]}`)
	}
	f.Fuzz(func(t *testing.T, doc string) {
		w := &walker{Scanner: reader.Scanner{IDsInLogprobs: true, KeepText: true}}
		var fast, slow reader.Event
		if !w.walk([]byte(doc), &fast) {
			return
		}
		if err := decodeSlow([]byte(doc), &w.Scanner, &slow, nil); err != nil {
			require.Contains(t, doc, "prompt_token_ids", "the one list whose numbers are not checked: %v", err)
			return
		}
		same(t, doc, &fast, &slow)
	})
}
