package ollama

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/wire/reader"
)

// The form of documents and ends as Ollama 0.17.4 sends them.
const (
	part = `{"model":"m","created_at":"2026-11-21T00:25:41.608079315Z","response":"c","done":false}`
	last = `{"model":"m","created_at":"2026-11-21T00:25:41.61417689Z","response":"","done":true,"done_reason":"length","total_duration":9379728,"load_duration":1837248,"prompt_eval_count":3,"prompt_eval_duration":315262,"eval_count":3,"eval_duration":6292072}`

	message = `{"model":"m","created_at":"t","message":{"role":"assistant","content":"c"},"done":false}`
)

var documents = []string{
	part, last, message, `{}`, `[]`, `null`, `x`, ``, `{"response":"a"`, `{"response":5}`,
	`{"response":null,"done":null,"done_reason":null,"eval_count":null,"message":null}`,
	`{"response":"\u00e9\"done\":true","done":false}`, `{"response":"","thinking":"hm","done":false}`,
	`{"message":{"role":"assistant","content":"","thinking":"hm"},"done":false}`,
	`{"message":{"content":"","tool_calls":[{"function":{"name":"f","arguments":{"a":1}}}]},"done":false}`,
	`{"message":{"tool_calls":[]},"done":false}`, `{"message":"x"}`,
	`{"response":"","done":true}`, `{"response":"","done":true,"done_reason":""}`,
	`{"response":"","done":true,"done_reason":"load"}`, `{"done":"yes"}`, `{"done":true,"eval_count":2.0}`,
	`{"done":true,"eval_count":2.5}`,
	`{"response":"","done":true,"context":[1,2,3],"done_reason":"stop","eval_count":2}`,
	`{"error":"model runner has unexpectedly stopped"}`, `{"error":{"message":"m"}}`, `{"error":"m","done":true}`,
	`{"response":"a","response":"b"}`, `{"resp\u006fnse":"a"}`, `{"response":"a","message":{"content":"b"}}`,
	`{"object":"error","message":"m"}`, `{"done_reason":"st\u006fp","done":true}`,
}

// both reads a document by the walk and with encoding/json.
func both(t *testing.T, doc string, keepText bool) {
	t.Helper()
	w := &walker{reader.Scanner{KeepText: keepText}}
	var a, b reader.Event
	if !w.walk([]byte(doc), &a) {
		return
	}
	err := decodeSlow([]byte(doc), keepText, &b)
	if err != nil && strings.Contains(doc, "context") {
		return // the one list whose numbers are not checked
	}
	require.NoError(t, err, doc)
	require.Equal(t, []any{a.Choices, a.HasText, a.Aside, a.IsError, a.Last, a.Prompt, a.Produced, string(a.Text),
		string(a.Finish), a.Finish == nil, string(a.Calls)},
		[]any{b.Choices, b.HasText, b.Aside, b.IsError, b.Last, b.Prompt, b.Produced, string(b.Text), string(b.Finish),
			b.Finish == nil, string(b.Calls)}, doc)
}

func TestWalkAgainstEncodingJSON(t *testing.T) {
	for _, doc := range documents {
		both(t, doc, true)
		both(t, doc, false)
	}
	var w walker
	var e reader.Event
	for _, doc := range []string{part, last, message} {
		require.True(t, w.walk([]byte(doc), &e), "the usual documents are read by the walk")
	}
}

func FuzzEvent(f *testing.F) {
	for _, doc := range documents {
		f.Add(doc, true)
	}
	f.Fuzz(both)
}

func TestWalkAllocatesNothing(t *testing.T) {
	var w walker
	var e reader.Event
	for _, doc := range []string{part, last, message} {
		b := []byte(doc)
		w.walk(b, &e)
		require.Zero(t, testing.AllocsPerRun(100, func() { w.walk(b, &e) }))
	}
}

// A whole stream costs no allocation either, from its bytes to its end.
func TestStreamAllocatesNothing(t *testing.T) {
	a := newAnswer(&backends.Config{Stream: true})
	stream := []byte(strings.Repeat(part+"\n", 64) + last + "\n")
	require.Zero(t, testing.AllocsPerRun(50, func() {
		a.Begin("application/x-ndjson")
		for n, p := 1, stream; n > 0; {
			n, p = a.Feed(p)
		}
	}))
	require.True(t, a.Settled())
}

func read(c *backends.Config, kind, body string) (*backends.Outcome, string) {
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
	lines := func(docs ...string) string { return strings.Join(docs, "\n") + "\n" }
	with := func(doc, from, to string) string { return strings.Replace(doc, from, to, 1) }
	for _, c := range []struct {
		name, kind, body string
		stream           bool
		want             backends.Reason
		tokens           int
		finish, text     string
		detail           string
	}{
		{"stream", "application/x-ndjson", lines(part, part, last), true, backends.OK, 3, "length", "cc", ""},
		{"CRLF, blank lines, no line end", "application/x-ndjson",
			strings.TrimSuffix(strings.ReplaceAll(lines(part, "", part, last), "\n", "\r\n"), "\r\n"), true, backends.OK, 3,
			"length", "cc", ""},
		{"a gateway calls it JSON", "application/json", lines(part, part, last), true, backends.OK, 3, "length", "cc", ""},
		{"chat", "application/x-ndjson", lines(message,
			with(last, `"response":""`, `"message":{"role":"assistant","content":""}`)), true, backends.OK, 3, "length", "c",
			""},
		{"thinking is output and no text", "application/x-ndjson",
			lines(with(part, `"response":"c"`, `"response":"","thinking":"hm"`), part, last), true, backends.OK, 3, "length",
			"c", ""},
		{"whole", "application/json; charset=utf-8", with(last, `"response":""`, `"response":"cc"`), false, backends.OK, 3,
			"length", "cc", ""},
		{"no reason", "application/x-ndjson", lines(part, with(last, `"done_reason":"length",`, "")), true, backends.OK, 3,
			"stop", "c", ""},
		{"no end", "application/x-ndjson", lines(part, part), true, backends.FailTruncated, 0, "", "cc",
			"without a finish_reason"},
		{"an error in the stream", "application/x-ndjson", lines(part, `{"error":"model runner has unexpectedly stopped"}`),
			true, backends.FailServerErrorEvent, 0, "", "c", "unexpectedly stopped"},
		{"cut in a line", "application/x-ndjson", lines(part) + part[:20], true, backends.FailTruncated, 0, "", "c",
			"inside an event"},
		{"nothing was generated", "application/x-ndjson",
			lines(with(with(last, `"eval_count":3`, `"eval_count":0`), "length", "load")), true, backends.FailEmpty, 0, "load",
			"", ""},
		{"nobody counts", "application/x-ndjson", lines(part, with(last, `"eval_count":3,`, "")), true, backends.FailBadEvent,
			0, "length", "c", "eval_count"},
		{"something else", "application/json", `{"choices":[]}`, false, backends.FailBadEvent, 0, "", "",
			"no response, message or done"},
		{"no stream", "application/json", with(last, `"response":""`, `"response":"cc"`), true, backends.FailNoFirstToken, 3,
			"length", "cc", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			o, detail := read(&backends.Config{Stream: c.stream, KeepText: true}, c.kind, c.body)
			require.Equal(t, c.want, o.Reason, detail)
			require.Equal(t, []any{c.tokens, c.finish, c.text}, []any{o.NTokens, o.FinishReason, string(o.Text)})
			require.Contains(t, detail, c.detail)
			require.Nil(t, o.Tokens)
		})
	}
	o, detail := read(&backends.Config{Stream: true, NeedIDs: true}, "application/x-ndjson", lines(part, last))
	require.Equal(t, backends.FailBadEvent, o.Reason)
	require.Contains(t, detail, "Ollama sends none on any route")
}

func BenchmarkEvent(b *testing.B) {
	var w walker
	var e reader.Event
	doc := []byte(part)
	b.ReportAllocs()
	for b.Loop() {
		w.walk(doc, &e)
	}
}
