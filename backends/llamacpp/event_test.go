package llamacpp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/wire/reader"
)

// Events and ends of llama.cpp in October 2026.
const (
	token = `{"index":0,"content":" a","tokens":[10],"stop":false,"id_slot":-1,"tokens_predicted":1,"tokens_evaluated":3}`
	last  = `{"index":0,"content":"","tokens":[],"id_slot":3,"stop":true,"model":"m","tokens_predicted":2,"tokens_evaluated":3,"generation_settings":{"samplers":["top_k"],"stop":[],"temperature":0.0},"prompt":"<s> b","has_new_line":false,"truncated":false,"stop_type":"limit","stopping_word":"","tokens_cached":4,"timings":{"cache_n":2,"prompt_n":1,"prompt_ms":0.5,"predicted_n":2,"predicted_ms":1.5}}`
)

var documents = []string{
	token, last, `{}`, `[]`, `null`, `x`, ``, `{"content":"a"`, `{"content":5}`, `{"tokens":"x"}`, `{"tokens":[-1]}`,
	`{"tokens":[4294967295]}`, `{"tokens":[1.0]}`, `{"tokens":[1.5]}`,
	`{"content":null,"tokens":null,"stop":null,"index":null,"tokens_predicted":null,"timings":null,"stop_type":null,"truncated":null}`,
	`{"content":"\u00e9\"tokens\":[1]","tokens":[7,8],"stop":true,"stop_type":"eos"}`,
	`{"content":"","stop":true,"stop_type":"word"}`, `{"stop":true,"stop_type":"none"}`,
	`{"stop":true,"stopped_eos":true,"stopped_limit":false}`, `{"stop":true,"stopped_limit":true}`, `{"stop":"yes"}`,
	`{"stop":true,"truncated":true,"stop_type":"limit"}`,
	`{"content":"a","timings":{"predicted_n":4,"prompt_n":5}}`,
	`{"content":"a","timings":{"predicted_n":4,"prompt_n":5,"cache_n":2}}`, `{"content":"a","timings":[]}`,
	`{"timings":{"predicted_n":1.5}}`,
	`{"error":{"code":500,"message":"m","type":"server_error"}}`, `{"error":"m"}`, `{"object":"error","message":"m"}`,
	`{"stop":true,"error":{"message":"m"}}`,
	`{"content":"a","content":"b"}`, `{"st\u006fp":true}`, `{"index":2,"content":"a"}`,
	`[{"content":"a","stop":true},{"index":7,"content":"b"}]`,
}

// decode reads a document, and checks the conditions that every event must meet.
func decode(t *testing.T, doc string, keepText bool) (reader.Event, error) {
	t.Helper()
	var e reader.Event
	err := decoder{keepText}.Decode([]byte(doc), &e)
	if err == nil {
		requireSound(t, doc, &e)
	}
	return e, err
}

func requireSound(t *testing.T, doc string, e *reader.Event) {
	t.Helper()
	require.True(t, json.Valid([]byte(doc)), doc)
	require.Equal(t, len(e.IDs) > 0, e.HasIDs, doc)
	require.False(t, e.IsError && e.Last, "an error does not end an answer: %s", doc)
	require.False(t, e.Finish != nil && !e.Last, "only the last document has a finish reason: %s", doc)
	require.GreaterOrEqual(t, min(e.Prompt, e.Produced), int64(-1), doc)
}

func TestEvents(t *testing.T) {
	for doc, want := range map[string]string{
		token:                           `1 [10] " a" false "" 3 1`,
		last:                            `1 [] "" true "length" 3 2`,
		`{}`:                            `0 [] "" false "" -1 -1`,
		`{"content":"a","content":"b"}`: `1 [] "b" false "" -1 -1`,
		`{"st\u006fp":true}`:            `1 [] "" true "stop" -1 -1`,
		`{"Content":"a"}`:               `0 [] "" false "" -1 -1`,
		`{"tokens":[1.0]}`:              `1 [1] "" false "" -1 -1`,
		`{"content":"a","timings":{"predicted_n":4,"prompt_n":5,"cache_n":2}}`: `1 [] "a" false "" 7 4`,
	} {
		e, err := decode(t, doc, true)
		require.NoError(t, err, doc)
		require.Equal(t, want, fmt.Sprintf("%d %v %q %v %q %d %d", e.Choices, e.IDs, e.Text, e.Last, e.Finish, e.Prompt,
			e.Produced), doc)
		require.Equal(t, strings.Contains(doc, `"model":"m"`), string(e.Model) == "m", doc)
	}
	for doc, want := range map[string]string{
		`{"tokens":["1"]}`:           `"tokens" has the wrong type`,
		`{"tokens":[1.5]}`:           `"tokens" has 1.5 where a whole number was expected`,
		`{"tokens_predicted":"5"}`:   `"tokens_predicted" has the wrong type`,
		`{"tokens_predicted":-1}`:    "a count of tokens is not negative",
		`{"tokens_predicted":1e300}`: "where a whole number was expected",
		`{"tokens_predicted":NaN}`:   "invalid character",
		`{"stop":"yes"}`:             `"stop" has the wrong type`,
		`{"timings":[]}`:             `"timings" has the wrong type`,
		`[]`:                         "an object was expected",
	} {
		_, err := decode(t, doc, true)
		require.ErrorContains(t, err, want, doc)
	}
}

func FuzzEvent(f *testing.F) {
	for _, doc := range documents {
		f.Add(doc, true)
	}
	f.Fuzz(func(t *testing.T, doc string, keepText bool) { _, _ = decode(t, doc, keepText) })
}

// FuzzBatch compares a list of answers with its elements read one by one.
func FuzzBatch(f *testing.F) {
	for _, doc := range documents {
		f.Add([]byte(doc))
		f.Add([]byte("[" + doc + "," + token + "]"))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		if doc = bytes.TrimSpace(doc); len(doc) == 0 || doc[0] == '{' {
			return // a reader passes no empty document, and FuzzEvent reads single answers
		}
		var e reader.Event
		var texts []string
		err := decoder{keepText: true}.DecodeBatch(doc, &e, func() { texts = nil }, func(e *reader.Event) {
			texts = append(texts, fmt.Sprintf("%v %q %q %v", e.IDs, e.Text, e.Finish, e.IsError))
		})
		if err != nil {
			return
		}
		var list []json.RawMessage
		require.NoError(t, json.Unmarshal(doc, &list))
		require.Len(t, texts, len(list))
		for i, item := range list {
			one, err := decode(t, string(item), true)
			require.NoError(t, err)
			require.Equal(t, fmt.Sprintf("%v %q %q %v", one.IDs, one.Text, one.Finish, one.IsError), texts[i])
		}
	})
}

// read returns the outcome of a body.
func read(c *backends.Config, kind string, body string) (*backends.Outcome, string) {
	a := newAnswer(c)
	a.Begin(kind)
	for n, p := 1, []byte(body); n > 0; {
		n, p = a.Feed(p)
	}
	var o backends.Outcome
	detail := a.Finish(&o, backends.OK)
	return &o, detail
}

func TestAnswers(t *testing.T) {
	sse := func(docs ...string) string { return "data: " + strings.Join(docs, "\n\ndata: ") + "\n\n" }
	with := func(doc, from, to string) string { return strings.Replace(doc, from, to, 1) }
	second := with(with(token, "[10]", "[11]"), `predicted":1`, `predicted":2`)
	held := with(token, `predicted":1`, `predicted":2`) // two tokens, and the id of one
	for _, c := range []struct {
		name, body string
		stream     bool
		needIDs    bool
		want       backends.Reason
		tokens     int
		source     backends.TokenSource
		finish     string
		text       string
		detail     string
	}{
		{"stream", sse(token, second, last), true, true, backends.OK, 2, backends.TokensFromIDs, "length", " a a", ""},
		{"stream with [DONE]", sse(token, second, last, "[DONE]"), true, true, backends.OK, 2, backends.TokensFromIDs,
			"length", " a a", ""},
		{"ids held back and not needed", sse(held, last), true, false, backends.OK, 2, backends.TokensFromUsage,
			"length", " a", ""},
		{"ids held back and needed", sse(held, last), true, true, backends.FailBadEvent, 2,
			backends.TokensFromUsage, "length", " a", "not a whole character"},
		{"more ids than were counted", sse(token, second, second, last), true, false, backends.FailTokenCount, 3,
			backends.TokensFromIDs, "length", " a a a", "tokens_predicted is 2"},
		{"no stop", sse(token, second), true, true, backends.FailTruncated, 2, backends.TokensFromIDs, "", " a a",
			"without a finish_reason"},
		{"an end of unknown kind", sse(token, second, with(last, "limit", "cancelled")), true, true, backends.FailAborted, 2,
			backends.TokensFromIDs, "cancelled", " a a", ""},
		{"cut by the context", sse(token, second, with(last, `"truncated":false`, `"truncated":true`)), true, true,
			backends.FailAborted, 2, backends.TokensFromIDs, "truncated", " a a", "larger -c"},
		{"error event", sse(token, `{"error":{"code":500,"message":"slot died","type":"server_error"}}`), true, true,
			backends.FailServerErrorEvent, 1, backends.TokensFromIDs, "", " a", "slot died"},
		{"error line of old servers", sse(token) + "error: {\"code\":500,\"message\":\"slot died\"}\n\n", true, true,
			backends.FailServerErrorEvent, 1, backends.TokensFromIDs, "", " a", "slot died"},
		{"old server without ids", sse(`{"content":"a","stop":false}`,
			`{"content":"","stop":true,"stopped_eos":true,"tokens_predicted":3,"tokens_evaluated":5}`), true, false, backends.OK,
			3, backends.TokensFromUsage, "stop", "a", ""},
		{"whole", with(with(last, `"tokens":[]`, `"tokens":[10,11]`), `"content":""`, `"content":" a b"`), false, true,
			backends.OK, 2, backends.TokensFromIDs, "length", " a b", ""},
		{"whole, ids not known", with(last, `"content":""`, `"content":" a b"`), false, false, backends.OK, 2,
			backends.TokensFromUsage, "length", " a b", ""},
		{"whole, no tokens", with(last, `predicted":2`, `predicted":0`), false, true, backends.FailEmpty, 0,
			backends.TokensFromUsage, "length", "", ""},
		{"another answer", `{"choices":[]}`, false, true, backends.FailBadEvent, 0, "", "", "", "no content, tokens or stop"},
		{"another index", with(last, `"index":0`, `"index":3`), false, true, backends.FailBadEvent, 2,
			backends.TokensFromUsage, "", "", "index 3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			kind := "application/json"
			if c.stream {
				kind = "text/event-stream"
			}
			o, detail := read(&backends.Config{RequestOptions: backends.RequestOptions{Stream: c.stream},
				AnswerOptions: backends.AnswerOptions{NeedIDs: c.needIDs, KeepText: true}}, kind, c.body)
			require.Equal(t, c.want, o.Reason, detail)
			require.Equal(t, []any{c.tokens, c.source, c.finish, c.text},
				[]any{o.NTokens, o.TokenSource, o.FinishReason, string(o.Text)})
			require.Contains(t, detail, c.detail)
		})
	}
}

// TestBatches reads a list, a single answer, and documents that are neither.
func TestBatches(t *testing.T) {
	for body, want := range map[string]int{"[" + last + "]": 1, last: 1, "[" + last + "," + last + "]": 2,
		`{"error":{"message":"m"}}`: 0, `[5]`: 0, `{}`: 0} {
		a := newAnswer(&backends.Config{RequestOptions: backends.RequestOptions{Batch: 2}})
		a.Begin("application/json")
		a.Feed([]byte(" " + body))
		var o backends.Outcome
		detail := a.Finish(&o, backends.OK)
		require.Len(t, o.Parts, want, "%s: %s", body, detail)
		require.Equal(t, want == 0, o.Reason != backends.OK, detail)
	}
}

func BenchmarkEvent(b *testing.B) {
	var e reader.Event
	doc := []byte(token)
	b.ReportAllocs()
	for b.Loop() {
		_ = decoder{}.Decode(doc, &e)
	}
}
