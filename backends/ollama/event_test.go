package ollama

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/wire/reader"
)

// Documents and ends of Ollama 0.17.4.
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

// decode reads a document, and checks the conditions that every event must meet.
func decode(t *testing.T, doc string, keepText bool) (reader.Event, error) {
	t.Helper()
	var e reader.Event
	err := decoder{keepText}.Decode([]byte(doc), &e)
	if err == nil {
		require.True(t, json.Valid([]byte(doc)), doc)
		require.False(t, e.HasIDs, doc)
		require.Equal(t, e.Last, e.Finish != nil, "the last document has a finish reason, and no other: %s", doc)
		require.False(t, e.IsError && e.Last, "an error does not end an answer: %s", doc)
		require.GreaterOrEqual(t, min(e.Prompt, e.Produced), int64(-1), doc)
	}
	return e, err
}

func TestEvents(t *testing.T) {
	for doc, want := range map[string]string{
		part:                              `1 "c" true false "" -1 -1`,
		last:                              `1 "" false false "length" 3 3`,
		message:                           `1 "c" true false "" -1 -1`,
		`{}`:                              `0 "" false false "" -1 -1`,
		`{"response":"a","response":"b"}`: `1 "b" true false "" -1 -1`,
		`{"resp\u006fnse":"a"}`:           `1 "a" true false "" -1 -1`,
		`{"Response":"a"}`:                `0 "" false false "" -1 -1`,
		`{"response":"","thinking":"hm","done":false}`:             `1 "" true true "" -1 -1`,
		`{"response":"","done":true,"eval_count":2.0}`:             `1 "" false false "stop" -1 2`,
		`{"response":"a","message":{"content":"b"}}`:               `1 "ab" true false "" -1 -1`,
		`{"response":"","done":true,"context":[1,2],"model":5}`:    `1 "" false false "stop" -1 -1`,
		`{"message":{"content":"","tool_calls":[{"id":"x"}]}}`:     `1 "" true true "" -1 -1`,
		`{"message":{"tool_calls":[],"content":null},"done":null}`: `1 "" false false "" -1 -1`,
	} {
		e, err := decode(t, doc, true)
		require.NoError(t, err, doc)
		require.Equal(t, want, fmt.Sprintf("%d %q %v %v %q %d %d", e.Choices, e.Text, e.HasText, e.Aside, e.Finish, e.Prompt,
			e.Produced), doc)
	}
	for doc, want := range map[string]string{
		`{"eval_count":"5"}`:               `"eval_count" has the wrong type`,
		`{"eval_count":2.5}`:               `"eval_count" has 2.5 where a whole number was expected`,
		`{"eval_count":-1}`:                "a count of tokens is not negative",
		`{"eval_count":99999999999999999}`: "more tokens than any answer has",
		`{"eval_count":NaN}`:               "invalid character",
		`{"done":"yes"}`:                   `"done" has the wrong type`,
		`{"message":"x"}`:                  `"message" has the wrong type`,
		`{"response":5}`:                   `"response" has the wrong type`,
		`[]`:                               "an object was expected",
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
		{"thinking is output but not text", "application/x-ndjson",
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
		{"no count", "application/x-ndjson", lines(part, with(last, `"eval_count":3,`, "")), true, backends.FailBadEvent,
			0, "length", "c", "eval_count"},
		{"something else", "application/json", `{"choices":[]}`, false, backends.FailBadEvent, 0, "", "",
			"no response, message or done"},
		{"no stream", "application/json", with(last, `"response":""`, `"response":"cc"`), true, backends.FailNoFirstToken, 3,
			"length", "cc", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			o, detail := read(&backends.Config{RequestOptions: backends.RequestOptions{Stream: c.stream},
				AnswerOptions: backends.AnswerOptions{KeepText: true}}, c.kind, c.body)
			require.Equal(t, c.want, o.Reason, detail)
			require.Equal(t, []any{c.tokens, c.finish, c.text}, []any{o.NTokens, o.FinishReason, string(o.Text)})
			require.Contains(t, detail, c.detail)
			require.Nil(t, o.Tokens)
		})
	}
	o, detail := read(&backends.Config{RequestOptions: backends.RequestOptions{Stream: true},
		AnswerOptions: backends.AnswerOptions{NeedIDs: true}}, "application/x-ndjson", lines(part, last))
	require.Equal(t, backends.FailBadEvent, o.Reason)
	require.Contains(t, detail, "Ollama sends none on any route")
}

func BenchmarkEvent(b *testing.B) {
	var e reader.Event
	doc := []byte(part)
	b.ReportAllocs()
	for b.Loop() {
		_ = decoder{}.Decode(doc, &e)
	}
}
