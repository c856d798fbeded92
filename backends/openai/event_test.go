package openai

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends/internal/wire/reader"
)

const vllmEvent = `{"id":"cmpl-9d2f8a7be0","object":"text_completion","created":1795176000,"model":"some/model-of-8B","choices":[{"index":0,"text":" word","logprobs":null,"finish_reason":null,"stop_reason":null,"prompt_token_ids":null,"token_ids":[1097]}]}`

// documents are good and bad documents of all servers. The fuzzers start from them.
var documents = []string{
	vllmEvent,
	`{"choices":[]}`,
	`{"choices":null,"usage":null}`,
	`{"choices":[],"usage":{"prompt_tokens":3,"total_tokens":9,"completion_tokens":6,"prompt_tokens_details":{"cached_tokens":0}}}`,
	`{"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}],"prompt_token_ids":[1,2]}`,
	`{"choices":[{"index":0,"delta":{"content":"Hel"},"finish_reason":"stop","token_ids":[33813,385]}]}`,
	`{"choices":[{"index":0,"delta":{"reasoning":"a","reasoning_content":"a","content":null},"token_ids":[1]}]}`,
	`{"choices":[{"index":0,"message":{"role":"assistant","content":"Hello"},"token_ids":[5],"finish_reason":"stop"}]}`,
	`{"choices":[{"text":"a \"token_ids\":[1,2] \\ \u00e9 \ud83d\ude00 \ud83d","token_ids":[5]}]}`,
	`{"choices":[{"index":1,"text":"b"},{"index":0,"text":"a","token_ids":[]}]}`,
	`{"error":{"message":"m","code":500}}`, `{"error":"text"}`, `{"error":null}`, `{"object":"error","message":"m"}`,
	`{"choices":[{"token_ids":[1,-1]}]}`, `{"choices":[{"token_ids":[2147483648]}]}`, `{"choices":[{"token_ids":[1.0]}]}`,
	`{"choices":[{"token_ids":[1.5]}]}`,
	`{"choices":[{"token_ids":[null]}]}`, `{"choices":[{"token_ids":"x"}]}`, `{"choices":[{"token_ids":[01]}]}`,
	`{"choices":[{"index":0,"token_ids":[1],"token_ids":[2]}]}`, `{"choices":[],"choices":[{"text":"x"}]}`,
	`{"\u0063hoices":[{"text":"x"}]}`, `{"choices":[null]}`, `{"choices":{}}`, `{"choices":[{"text":5}]}`,
	` { "choices" : [ { "index" : 0 , "text" : "a" , "token_ids" : [ 1 , 2 ] } ] , "usage" : { "completion_tokens" : 2 } } `,
	`{"choices":[{"text":"a"}]`, `{"choices":[{"text":"a"}]}x`, `{"a":1,}`, `{,"a":1}`, `{,"id":"x","choices":[]}`, `[]`,
	`null`, `"x"`, ``, `{`,
	"{\"choices\":[{\"text\":\"a\nb\"}]}",
	`{"x":[1,2,{"y":[{}]}],"n":-1.5e+10,"t":true,"f":false,"choices":[{"text":"a","logprobs":{"tokens":["token_id:5"]}}]}`,
	"{\"choices\":[{\"text\":\"\xff\",\"finish_reason\":\"s\xff\"}]}",
	`{"choices":[{"text":"a","delta":{"content":"b"}}]}`,
	`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{"}}]}}]}`,
	`{"choices":[{"message":{"tool_calls":[],"content":""}}]}`, `{"choices":[{"delta":{"tool_calls":null}}]}`,
	`{"choices":[{"message":{"content":"a"},"response_token_ids":[4,5]}]}`,
	`{"choices":[{"response_token_ids":[4],"token_ids":null}]}`,
	`{"choices":[{"response_token_ids":[4],"token_ids":[5]}]}`,
	`{"choices":[{"text":"a","finish_reason":"st\u006fp"}],"usage":{"prompt_tokens":1e2,"completion_tokens":"5"}}`,
	`{"usage":{"prompt_tokens":9,"prompt_tokens_details":{"audio_tokens":null,"cached_tokens":8}}}`,
	`{"usage":{"prompt_tokens":9,"prompt_tokens_details":{"cached_tokens":1.5,"cached_tokens":2}}}`,
	`{"usage":{"prompt_tokens_details":[{"cached_tokens":2}]}}`,
}

func newWalker(keepText bool) walker { return walker{Scanner: reader.Scanner{KeepText: keepText}} }

// same requires that two readers have read the same event.
func same(t *testing.T, doc string, a, b *reader.Event) {
	t.Helper()
	require.Equal(t, a.Choices, b.Choices, doc)
	require.Equal(t, a.Index, b.Index, doc)
	require.True(t, slices.Equal(a.IDs, b.IDs), "%v %v: %s", a.IDs, b.IDs, doc)
	require.Equal(t, []bool{a.HasIDs, a.BadID, a.HasText, a.IsError, a.Finish == nil},
		[]bool{b.HasIDs, b.BadID, b.HasText, b.IsError, b.Finish == nil}, doc)
	require.Equal(t, string(a.Text), string(b.Text), doc)
	require.Equal(t, string(a.Finish), string(b.Finish), doc)
	require.Equal(t, string(a.Calls), string(b.Calls), doc)
	require.Equal(t, []int64{a.Prompt, a.Cached, a.Produced}, []int64{b.Prompt, b.Cached, b.Produced}, doc)
}

// checkWalk compares the walk with encoding/json, with and without a learned prefix. It reports whether the walk read
// the document.
func checkWalk(t *testing.T, doc string, keepText bool) (sure bool) {
	t.Helper()
	var slow, fast, again reader.Event
	w := newWalker(keepText)
	sure = w.walk([]byte(doc), &fast)
	err := decodeSlow([]byte(doc), &reader.Scanner{KeepText: keepText}, &slow, nil)
	if sure && strings.Contains(doc, "prompt_token_ids") && !json.Valid([]byte(doc)) {
		return sure // the walk does not check the numbers of this list
	}
	if sure {
		require.NoError(t, err, doc)
		same(t, doc, &fast, &slow)
	}
	require.Equal(t, sure, w.walk([]byte(doc), &again), doc)
	if sure {
		same(t, doc, &again, &slow)
	}
	return sure
}

func TestWalkAgainstEncodingJSON(t *testing.T) {
	for _, doc := range documents {
		checkWalk(t, doc, true)
		checkWalk(t, doc, false)
	}
	require.True(t, checkWalk(t, vllmEvent, false), "the walk reads the usual event")
}

func TestLearnedPrefixNeedsEqualBytes(t *testing.T) {
	w := newWalker(true)
	var e reader.Event
	require.True(t, w.walk([]byte(vllmEvent), &e))
	require.NotEmpty(t, w.prefix)
	for _, doc := range []string{
		strings.Replace(vllmEvent, "1097", "7,8", 1),
		strings.Replace(vllmEvent, `"model"`, `"usage":{"completion_tokens":4},"model"`, 1),
		`{"usage":null,"choices":[{"text":"z","token_ids":[3]}]}`,
		`{"error":{"code":1},"choices":[]}`,
	} {
		var slow reader.Event
		require.NoError(t, decodeSlow([]byte(doc), &reader.Scanner{KeepText: true}, &slow, nil))
		require.True(t, w.walk([]byte(doc), &e))
		same(t, doc, &e, &slow)
	}
	require.False(t, w.walk([]byte(strings.TrimSuffix(vllmEvent, "}")+`,"choices":[]}`), &e), "a second list of choices")
}

func TestLearnedShape(t *testing.T) {
	chat := `{"id":"x","choices":[{"index":0,"delta":{"content":"Hel"},"logprobs":null,"finish_reason":null,"token_ids":[33813,385]}],"usage":null}`
	for _, ordinary := range []string{vllmEvent, chat} {
		w := newWalker(true)
		var e reader.Event
		require.True(t, w.walk([]byte(ordinary), &e))
		require.NotEmpty(t, w.shape.before, "the shape is learned")
		for _, change := range [][2]string{
			{"1097", "7,8"}, {" word", ""}, {" word", `a\"]}\u00e9`}, {"[1097]", "[]"}, {"[1097]", "null"}, {"1097", "-1"},
			{"1097", "01"}, {"[1097]", "[1097"},
			{" word", `"`}, {`"finish_reason":null`, `"finish_reason":"stop"`}, {`[1097]}]`, `[1097]},{"text":"b"}]`},
			{"[1097]", `[1097],"usage":{"completion_tokens":3}`},
			{"33813,385", "5"}, {"Hel", "lo\n"}, {"Hel", "lo\\n"}, {`"usage":null`, `"usage":{"completion_tokens":3}`},
			{"[33813,385]", "null"},
		} {
			doc := strings.Replace(ordinary, change[0], change[1], 1)
			alone, slow := newWalker(true), reader.Event{}
			var want reader.Event
			sure := alone.walk([]byte(doc), &want)
			require.Equal(t, sure, w.walk([]byte(doc), &e), doc)
			if sure {
				same(t, doc, &e, &want)
				require.NoError(t, decodeSlow([]byte(doc), &reader.Scanner{KeepText: true}, &slow, nil), doc)
				same(t, doc, &e, &slow)
			}
		}
	}
}

func FuzzEvent(f *testing.F) {
	for _, doc := range documents {
		f.Add(doc, true)
	}
	f.Fuzz(func(t *testing.T, doc string, keepText bool) { checkWalk(t, doc, keepText) })
}

// FuzzWalkers feeds two documents to one walker: what it learned from the first must not change the second.
func FuzzWalkers(f *testing.F) {
	f.Add(vllmEvent, strings.Replace(vllmEvent, "null", "5", 1))
	f.Add(`{"usage":null,"choices":[]}`, `{"choices":[]}`)
	f.Fuzz(func(t *testing.T, first, second string) {
		var w, alone walker
		var a, b reader.Event
		w.walk([]byte(first), &a)
		sure := w.walk([]byte(second), &a)
		require.Equal(t, alone.walk([]byte(second), &b), sure)
		if sure {
			same(t, second, &a, &b)
		}
	})
}

func TestWalkAllocatesNothing(t *testing.T) {
	var w walker
	var e reader.Event
	doc := []byte(vllmEvent)
	w.walk(doc, &e)
	require.Zero(t, testing.AllocsPerRun(100, func() { w.walk(doc, &e) }))
}

func BenchmarkEvent(b *testing.B) {
	doc := []byte(vllmEvent)
	b.Run("walk", func(b *testing.B) {
		var w walker
		var e reader.Event
		b.ReportAllocs()
		for b.Loop() {
			w.walk(doc, &e)
		}
	})
	b.Run("walk without prefix", func(b *testing.B) {
		var w walker
		var e reader.Event
		for b.Loop() {
			w.Forget()
			w.walk(doc, &e)
		}
	})
	b.Run("encoding-json", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var v struct {
				Choices []struct {
					Index        int     `json:"index"`
					Text         string  `json:"text"`
					TokenIDs     []int32 `json:"token_ids"`
					FinishReason *string `json:"finish_reason"`
				} `json:"choices"`
				Usage *struct {
					Completion int `json:"completion_tokens"`
				} `json:"usage"`
				Error json.RawMessage `json:"error"`
			}
			if err := json.Unmarshal(doc, &v); err != nil {
				b.Fatal(err)
			}
		}
	})
}
