package sim

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDecodeRequest(t *testing.T) {
	for in, want := range map[string][]wirePrompt{
		`{"prompt":"a\u00e4\n"}`:                 {{Text: "aä\n"}},
		`{"prompt":["a","]"]}`:                   {{Text: "a"}, {Text: "]"}},
		` { "prompt" : [ 1 , 20 ] } `:            {{IDs: []int32{1, 20}}},
		`{"prompt":[[1],[2,3]],"x":{"a":"\"}"}}`: {{IDs: []int32{1}}, {IDs: []int32{2, 3}}},
		`{"pr\u006fmpt":[2147483647]}`:           {{IDs: []int32{2147483647}}},
		`{"prompt":[1],"prompt":[2]}`:            {{IDs: []int32{2}}},
		`{"prompt":null}`:                        nil,
		`{}`:                                     nil,
	} {
		q, err := decodeRequest([]byte(in), requestFields)
		require.NoError(t, err, in)
		require.Equal(t, want, q.Prompts, in)
	}
	q, err := decodeRequest([]byte(`{"max_tokens":3,"stream":true,"stream_options":{"include_usage":true},"stop_token_ids":[4,5],"model":null}`), requestFields)
	require.NoError(t, err)
	require.Equal(t, 3, *q.MaxTokens)
	require.True(t, *q.Stream && *q.StreamOptions.IncludeUsage)
	require.Equal(t, []int32{4, 5}, q.StopTokenIDs)
	require.Nil(t, q.Model)
}

// FuzzDecodeRequest: the decoder fails only with its two errors, rejects as JSON exactly what encoding/json rejects,
// and reads ids like encoding/json.
func FuzzDecodeRequest(f *testing.F) {
	for _, s := range []string{`{"prompt":[1,2,3],"max_tokens":16}`, `{"prompt":[[1],[-2]]}`, `{"prompt":["a",1]}`,
		`{"prompt":"x","a":[{},"\\"]}`,
		`{"prompt":[01]}`, `{"prompt":[1e3]}`, `{"prompt":[1,]}`, `{"prompt":[99999999999]}`, `{"a":{"b":[}]}}`, `[]`,
		`{"a":1}}`, `{"n":"\ud800"}`, `{"stream":"yes"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		q, err := decodeRequest(body, requestFields)
		isObject := json.Valid(body) && bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("{"))
		var field *fieldError
		switch {
		case err == nil && !isObject:
			t.Fatalf("%q was accepted", body)
		case errors.Is(err, errNotJSON) && isObject:
			t.Fatalf("%q was rejected as JSON", body)
		case err != nil && !errors.Is(err, errNotJSON) && !errors.As(err, &field):
			t.Fatalf("%q: another error: %v", body, err)
		}
		if err != nil {
			return
		}
		var want struct {
			Prompt json.RawMessage `json:"prompt"`
		}
		var ids []int32
		dup := bytes.Count(bytes.ToLower(body), []byte("prompt")) > 1 || bytes.Contains(body, []byte(`\u`))
		if !dup && json.Unmarshal(body, &want) == nil && json.Unmarshal(want.Prompt, &ids) == nil && len(ids) > 0 &&
			!bytes.Contains(want.Prompt, []byte("null")) {
			if len(q.Prompts) != 1 || !slices.Equal(q.Prompts[0].IDs, ids) {
				t.Fatalf("%q gave %v", body, q.Prompts)
			}
		}
	})
}

func BenchmarkDecodeRequest(b *testing.B) {
	ids := make([]int, 1000)
	for i := range ids {
		ids[i] = 1000 + i
	}
	body, err := json.Marshal(map[string]any{"model": "toy", "prompt": ids, "max_tokens": 128, "stream": true,
		"temperature": 0})
	require.NoError(b, err)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := decodeRequest(body, requestFields); err != nil {
			b.Fatal(err)
		}
	}
}
