package llamacpp

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/wire/reader"
)

// The form of events and ends as llama.cpp of October 2026 sends them.
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

// both reads a document by the walk and with encoding/json.
func both(t *testing.T, doc string, keepText bool) {
	t.Helper()
	w := &walker{Scanner: reader.Scanner{KeepText: keepText}}
	var fast, slow reader.Event
	if !w.walk([]byte(doc), &fast) {
		return
	}
	require.NoError(t, decodeSlow([]byte(doc), keepText, &slow), doc)
	same(t, doc, &fast, &slow)
}

func same(t *testing.T, doc string, a, b *reader.Event) {
	t.Helper()
	require.Equal(t, append([]int32{}, a.IDs...), append([]int32{}, b.IDs...), doc)
	require.Equal(t, []any{a.Choices, a.Index, a.HasIDs, a.BadID, a.HasText, a.IsError, a.Last, a.Prompt, a.Produced,
		string(a.Text), string(a.Finish), a.Finish == nil, string(a.Why)},
		[]any{b.Choices, b.Index, b.HasIDs, b.BadID, b.HasText, b.IsError, b.Last, b.Prompt, b.Produced, string(b.Text),
			string(b.Finish), b.Finish == nil, string(b.Why)}, doc)
}

func TestWalkAgainstEncodingJSON(t *testing.T) {
	for _, doc := range documents {
		both(t, doc, true)
		both(t, doc, false)
	}
	var w walker
	var e reader.Event
	require.True(t, w.walk([]byte(token), &e), "the usual event is read by the walk")
	require.True(t, w.walk([]byte(last), &e), "and the usual end")
}

func FuzzEvent(f *testing.F) {
	for _, doc := range documents {
		f.Add(doc, true)
	}
	f.Fuzz(both)
}

// FuzzBatch reads a list of answers both ways.
func FuzzBatch(f *testing.F) {
	for _, doc := range documents {
		f.Add([]byte(doc))
		f.Add([]byte("[" + doc + "," + token + "]"))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		if doc = bytes.TrimSpace(doc); len(doc) == 0 || doc[0] == '{' {
			return // a reader gives neither blanks nor nothing, and one answer is FuzzEvent's
		}
		w := &walker{Scanner: reader.Scanner{KeepText: true}}
		var fast, slow []reader.Event
		keep := func(to *[]reader.Event) func(*reader.Event) {
			return func(e *reader.Event) {
				k := *e
				k.IDs, k.Text = append([]int32{}, e.IDs...), bytes.Clone(e.Text)
				*to = append(*to, k)
			}
		}
		var e, g reader.Event
		err := w.DecodeBatch(doc, &e, func() { fast = fast[:0] }, keep(&fast))
		l := list(w)
		slowErr := l.Decode(doc, &g, func(doc []byte, e *reader.Event) error { return decodeSlow(doc, true, e) }, keep(&slow))
		require.Equal(t, slowErr == nil, err == nil, "%s", doc)
		if err == nil {
			require.Len(t, fast, len(slow), "%s", doc)
			for i := range fast {
				same(t, string(doc), &fast[i], &slow[i])
			}
		}
	})
}

func TestWalkAllocatesNothing(t *testing.T) {
	var w walker
	var e reader.Event
	for _, doc := range []string{token, last} {
		b := []byte(doc)
		w.walk(b, &e)
		require.Zero(t, testing.AllocsPerRun(100, func() { w.walk(b, &e) }))
	}
}

// A whole stream costs no allocation either, from its bytes to its tokens.
func TestStreamAllocatesNothing(t *testing.T) {
	a := newAnswer(&backends.Config{Stream: true, NeedIDs: true})
	stream := []byte(strings.Repeat("data: "+strings.Replace(token, `"tokens_predicted":1`, `"tokens_predicted":9`, 1)+
		"\n\n", 64))
	var o backends.Outcome
	require.Zero(t, testing.AllocsPerRun(50, func() {
		a.Begin("text/event-stream")
		for n, p := 1, stream; n > 0; {
			n, p = a.Feed(p)
		}
		_ = a.Tokens()
	}))
	a.Finish(&o, backends.OK)
}

// read gives what becomes of a body.
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
		{"ids held back, which nobody needs", sse(held, last), true, false, backends.OK, 2, backends.TokensFromUsage,
			"length", " a", ""},
		{"ids held back, which the answer is", sse(held, last), true, true, backends.FailBadEvent, 2,
			backends.TokensFromUsage, "length", " a", "no whole character"},
		{"more ids than were counted", sse(token, second, second, last), true, false, backends.FailTokenCount, 3,
			backends.TokensFromIDs, "length", " a a a", "tokens_predicted says 2"},
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
			o, detail := read(&backends.Config{Stream: c.stream, NeedIDs: c.needIDs, KeepText: true}, kind, c.body)
			require.Equal(t, c.want, o.Reason, detail)
			require.Equal(t, []any{c.tokens, c.source, c.finish, c.text},
				[]any{o.NTokens, o.TokenSource, o.FinishReason, string(o.Text)})
			require.Contains(t, detail, c.detail)
		})
	}
}

// TestBatches reads a list, one answer alone and what is neither.
func TestBatches(t *testing.T) {
	for body, want := range map[string]int{"[" + last + "]": 1, last: 1, "[" + last + "," + last + "]": 2,
		`{"error":{"message":"m"}}`: 0, `[5]`: 0, `{}`: 0} {
		a := newAnswer(&backends.Config{Batch: 2})
		a.Begin("application/json")
		a.Feed([]byte(" " + body))
		var o backends.Outcome
		detail := a.Finish(&o, backends.OK)
		require.Len(t, o.Parts, want, "%s: %s", body, detail)
		require.Equal(t, want == 0, o.Reason != backends.OK, detail)
	}
}

func BenchmarkEvent(b *testing.B) {
	var w walker
	var e reader.Event
	doc := []byte(token)
	b.ReportAllocs()
	for b.Loop() {
		w.walk(doc, &e)
	}
}
