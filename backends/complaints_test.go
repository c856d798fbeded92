package backends_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/client"
	registry "github.com/mlperf-go/mlperf-go/models"
)

// grammar is the form of a protocol's answer with the ids 5 and 6. INDEX, ID, FINISH, PROMPT and COUNT are replaced by
// values.
type grammar struct {
	backend, api string
	stream       []string // documents; the first contains a token and no end
	whole        string
	kind         string // of the stream
	ids, index   bool   // whether answers have them
	batch        bool   // whether a request may have several prompts: whole is then an element of the answer
	message      bool   // whether "message" is a part of its answers
}

const (
	choice    = `{"choices":[{"index":INDEX,"text":"a","token_ids":[ID],"finish_reason":null}]}`
	lastOne   = `{"choices":[{"index":INDEX,"text":"b","token_ids":[6],"finish_reason":FINISH}]}`
	usage     = `{"choices":[],"usage":{"prompt_tokens":PROMPT,"completion_tokens":COUNT}}`
	delta     = `{"choices":[{"index":INDEX,"delta":{"content":"a"},"finish_reason":null}]}`
	lastDelta = `{"choices":[{"index":INDEX,"delta":{"content":"b"},"finish_reason":FINISH}]}`
	message   = `{"choices":[{"index":INDEX,"message":{"content":"ab"},"finish_reason":FINISH}],"usage":{"prompt_tokens":PROMPT,"completion_tokens":COUNT}}`
	text      = `{"choices":[{"index":INDEX,"text":"ab","token_ids":[ID,6],"finish_reason":FINISH}],"usage":{"prompt_tokens":PROMPT,"completion_tokens":COUNT}}`
	native    = `{"index":INDEX,"text":"ab","output_ids":[ID,6],"meta_info":{"finish_reason":{"type":FINISH},"prompt_tokens":PROMPT,"completion_tokens":COUNT}}`
	slot      = `{"index":INDEX,"content":"ab","tokens":[ID,6],"stop":true,"stop_type":"eos","tokens_evaluated":PROMPT,"tokens_predicted":COUNT}`
	sse       = "text/event-stream"
	ndjson    = "application/x-ndjson"
)

var grammars = map[string]grammar{
	"vllm completions":   {"vllm", "completions", []string{choice, lastOne, usage}, text, sse, true, true, true, false},
	"vllm chat":          {"vllm", "chat", []string{delta, lastDelta, usage}, message, sse, false, true, false, false},
	"vllm generate":      {"vllm", "generate", []string{choice, lastOne, usage}, text, sse, true, true, false, false},
	"openai completions": {"openai", "completions", []string{choice, lastOne, usage}, text, sse, true, true, true, false},
	"openai chat":        {"openai", "chat", []string{delta, lastDelta, usage}, message, sse, false, true, false, false},
	"trtllm completions": {"trtllm", "completions", []string{choice, lastOne, usage}, text, sse, true, true, true, false},
	"sglang chat":        {"sglang", "chat", []string{delta, lastDelta, usage}, message, sse, false, true, false, false},
	"llamacpp chat": {"llamacpp", "chat", []string{delta, lastDelta, usage}, message, sse, false, true, false,
		false},
	"ollama completions": {"ollama", "completions", []string{choice, lastOne, usage}, text, sse, true, true, false,
		false},
	"sglang generate": {"sglang", "generate",
		[]string{strings.NewReplacer(`"ab"`, `"a"`, "ID,6", "ID", `{"type":FINISH}`, "null", "COUNT", "1").Replace(native),
			native}, native, sse, true, true, true, false},
	"llamacpp completion": {"llamacpp", "", []string{`{"index":INDEX,"content":"a","tokens":[ID],"stop":false}`,
		`{"index":INDEX,"content":"b","tokens":[6],"stop":true,"stop_type":"eos","tokens_evaluated":PROMPT,"tokens_predicted":COUNT}`}, slot, sse, true, true, true, false},
	"ollama generate": {"ollama", "generate",
		[]string{`{"response":"a","done":false}`, `{"response":"b","done":true,"done_reason":FINISH,"prompt_eval_count":PROMPT,"eval_count":COUNT}`}, `{"response":"ab","done":true,"done_reason":FINISH,"prompt_eval_count":PROMPT,"eval_count":COUNT}`, ndjson, false, false, false, true},
	"ollama chat": {"ollama", "chat", []string{`{"message":{"content":"a"},"done":false}`,
		`{"message":{"content":"b"},"done":true,"done_reason":FINISH,"prompt_eval_count":PROMPT,"eval_count":COUNT}`},
		`{"message":{"content":"ab"},"done":true,"done_reason":FINISH,"prompt_eval_count":PROMPT,"eval_count":COUNT}`, ndjson,
		false, false, false, true},
}

// usual are the values of a good answer.
var usual = map[string]string{"INDEX": "0", "ID": "5", "FINISH": `"stop"`, "PROMPT": "3", "COUNT": "2"}

// put inserts values into a document.
func put(doc string, values map[string]string) string {
	for name, value := range usual {
		if other, ok := values[name]; ok {
			value = other
		}
		doc = strings.ReplaceAll(doc, name, value)
	}
	return doc
}

// framed writes documents as a stream.
func framed(kind string, docs ...string) string {
	if kind == ndjson {
		return strings.Join(docs, "\n") + "\n"
	}
	return "data: " + strings.Join(docs, "\n\ndata: ") + "\n\ndata: [DONE]\n\n"
}

// reads returns the outcome of a body, read as a whole and in pieces.
func (w *grammar) reads(t *testing.T, stream bool, prompts int, kind, body string) (reason backends.Reason,
	detail string) {
	t.Helper()
	d, err := backends.Lookup(w.backend)
	require.NoError(t, err)
	c := &backends.Config{
		RequestOptions: backends.RequestOptions{API: w.api, Stream: stream, Batch: prompts,
			Sampling: registry.Sampling{MaxTokens: 8}},
		AnswerOptions: backends.AnswerOptions{KeepText: w.api != "generate" || !w.ids, Vocabulary: 100},
	}
	p, err := d.(client.Wire).Protocol(c)
	require.NoError(t, err)
	answer := p.NewAnswer()
	for i, step := range []int{len(body), 1, 7} {
		answer.Begin(kind)
		for at := 0; at < len(body) && !answer.Settled(); at += step {
			for p, n := []byte(body[at:min(at+step, len(body))]), 1; n > 0; {
				n, p = answer.Feed(p)
			}
		}
		var o backends.Outcome
		said := answer.Finish(&o, backends.OK)
		for j := range o.Parts {
			if o.Reason == backends.OK && o.Parts[j].Reason != backends.OK {
				o.Reason, said = o.Parts[j].Reason, o.Parts[j].Detail
			}
		}
		if i > 0 {
			require.Equal(t, reason, o.Reason, "in pieces of %d: %s", step, body)
		}
		reason, detail = o.Reason, said
	}
	return reason, detail
}

// complaints are documents by which servers and gateways report an error, with words from them.
var complaints = map[string]string{
	`{"error":{"message":"engine died","type":"InternalServerError","code":500}}`: "engine died",
	`{"error":"engine died"}`:                                 "engine died",
	`{"object":"error","message":"engine died","code":500}`:   "engine died",
	`{"errors":[{"message":"engine died"}]}`:                  "engine died",
	`{"errors":"engine died"}`:                                "engine died",
	`{"detail":"engine died"}`:                                "engine died",
	`{"detail":[{"loc":["body"],"msg":"engine died"}]}`:       "engine died",
	`{"code":500,"msg":"engine died"}`:                        "engine died",
	`{"title":"t","status":500,"detail":"engine died"}`:       "engine died",
	`{"error_code":500,"error_msg":"engine died"}`:            "engine died",
	`{"exception":"engine died"}`:                             "engine died",
	`{"message":"engine died","code":500}`:                    "engine died",
	`{"error":{"message":"engine died"},"choices":[]}`:        "engine died",
	`{"error":"engine died","error":{"message":"once more"}}`: "once more",
}

// TestComplaintsFailAnAnswer inserts each complaint into a good answer of each protocol: alone, in the middle of a
// stream that continues, and in batches. Without it the answer is good.
func TestComplaintsFailAnAnswer(t *testing.T) {
	for name, w := range grammars {
		t.Run(name, func(t *testing.T) {
			stream := make([]string, len(w.stream))
			for i, doc := range w.stream {
				stream[i] = put(doc, nil)
			}
			whole := put(w.whole, nil)
			good := func(stream bool, prompts int, kind, body string) {
				reason, detail := w.reads(t, stream, prompts, kind, body)
				require.Equal(t, backends.OK, reason, "%s\n%s", detail, body)
			}
			good(true, 0, w.kind, framed(w.kind, stream...))
			good(false, 0, "application/json", whole)
			for doc, words := range complaints {
				if w.message && strings.HasPrefix(doc, `{"message"`) {
					continue // it is a part of this protocol's answers, and has no text: bad_event
				}
				fails := func(stream bool, prompts int, kind, body string) {
					t.Helper()
					reason, detail := w.reads(t, stream, prompts, kind, body)
					require.Equal(t, backends.FailServerErrorEvent, reason, "%s\n%s", detail, body)
					require.Contains(t, detail, words, body)
				}
				fails(true, 0, w.kind, framed(w.kind, doc))
				for at := range stream {
					fails(true, 0, w.kind, framed(w.kind, slices.Insert(slices.Clone(stream), at, doc)...))
				}
				fails(false, 0, "application/json", doc)
				if w.batch {
					fails(false, 2, "application/json", doc)
					fails(true, 2, w.kind, framed(w.kind, slices.Insert(slices.Clone(stream), 1, doc)...))
				}
				// beside an answer
				if strings.HasPrefix(doc, `{"error`) && !strings.Contains(doc, "choices") && !strings.Contains(doc, "_") {
					fails(false, 0, "application/json", strings.TrimSuffix(doc, "}")+","+whole[1:])
					fails(true, 0, w.kind, framed(w.kind, slices.Insert(slices.Clone(stream[1:]), 0,
						strings.TrimSuffix(doc, "}")+","+stream[0][1:])...))
				}
			}
			if w.kind == sse {
				for _, event := range []string{"event: error\ndata: {\"message\":\"engine died\"}\n\n",
					"event: error\ndata: engine died\n\n", "error: engine died\n\n"} {
					body := framed(w.kind, stream[0])
					body = strings.Replace(body, "data: [DONE]",
						event+"data: "+strings.Join(stream[1:], "\n\ndata: ")+"\n\ndata: [DONE]", 1)
					reason, detail := w.reads(t, true, 0, w.kind, body)
					require.Equal(t, backends.FailServerErrorEvent, reason)
					require.Contains(t, detail, "engine died")
				}
			}
		})
	}
}

// badValues are values that no server may send, by the place in the answer.
var badValues = map[string][]string{
	"COUNT":  {"-4", "-1", "-0.5", `"2"`, "2.5", "1e300", "9999999999", "[2]", "{}", "true", "99999999999999999999"},
	"PROMPT": {"-3", "-1", `"3"`, "2.5", "1e300", "9999999999", "[3]", "false"},
	"INDEX":  {"-1", `"0"`, "0.5", "1e300", "[0]", "true", "7"},
	"ID":     {`"5"`, "-1", "2147483648", "4294967301", "1e300", "5.5", "[5]", "true", "null", "{}"},
	"FINISH": {"5", "true", "[]", `["stop"]`, `{"reason":"stop"}`},
}

// TestBadValuesFailAnAnswer inserts each bad value into a good answer of each protocol, streamed and whole, and into
// batches.
func TestBadValuesFailAnAnswer(t *testing.T) {
	for name, w := range grammars {
		t.Run(name, func(t *testing.T) {
			for _, place := range slices.Sorted(maps.Keys(badValues)) {
				for _, value := range badValues[place] {
					bad := map[string]string{place: value}
					var stream []string
					for _, doc := range w.stream {
						stream = append(stream, put(doc, bad))
					}
					whole := put(w.whole, bad)
					if whole == put(w.whole, nil) {
						continue // the protocol has no such place
					}
					fails := func(stream bool, prompts int, kind, body string) {
						t.Helper()
						reason, detail := w.reads(t, stream, prompts, kind, body)
						require.Contains(t, []backends.Reason{backends.FailBadEvent, backends.FailBadJSON, backends.FailBatch}, reason,
							"%s\n%s", detail, body)
						require.NotEmpty(t, detail)
					}
					fails(true, 0, w.kind, framed(w.kind, stream...))
					fails(false, 0, "application/json", whole)
					if !w.batch {
						continue
					}
					fails(true, 2, w.kind, framed(w.kind, stream...))
					if w.backend == "sglang" || w.backend == "llamacpp" {
						if place != "INDEX" || value != "7" && value != "-1" { // the batch counts its parts when all are there
							fails(false, 2, "application/json", "["+whole+","+put(w.whole, map[string]string{"INDEX": "1"})+"]")
						}
					} else if place != "INDEX" || value != "7" && value != "-1" {
						fails(false, 2, "application/json", whole)
					}
				}
			}
		})
	}
}

// TestAnAnswerEndsOnce reads finish reasons that contradict each other, in both orders, and output behind an end.
func TestAnAnswerEndsOnce(t *testing.T) {
	for name, w := range grammars {
		if w.kind == ndjson || w.backend == "llamacpp" && w.api == "" {
			continue // its "done" and "stop" end the stream
		}
		t.Run(name, func(t *testing.T) {
			ends := func(reasons ...string) []string {
				docs := []string{put(w.stream[0], nil)}
				for _, r := range reasons {
					docs = append(docs, put(w.stream[1], map[string]string{"FINISH": `"` + r + `"`}))
					if w.backend != "sglang" || w.api != "generate" { // its events repeat earlier output
						docs[len(docs)-1] = strings.NewReplacer(`"b"`, `""`, `"token_ids":[6],`, "").Replace(docs[len(docs)-1])
					}
				}
				return append(docs, put(strings.Join(w.stream[2:], ""), map[string]string{"COUNT": "1"}))
			}
			for _, c := range []struct {
				docs []string
				want backends.Reason
			}{
				{ends("stop"), backends.OK},
				{ends("stop", "stop"), backends.OK},
				{ends("abort", "stop"), backends.FailAborted},
				{ends("stop", "abort"), backends.FailAborted},
				{ends("error", "length"), backends.FailAborted},
				{ends("stop", "length"), backends.FailBadEvent},
				{append(ends("stop")[:2], put(w.stream[0], nil)), backends.FailBadEvent},
			} {
				if c.want == backends.FailBadEvent && len(c.docs) == 3 && w.backend == "sglang" && w.api == "generate" {
					c.docs[2] = strings.NewReplacer("[5]", "[5,6,7]", `"completion_tokens":1`,
						`"completion_tokens":3`).Replace(c.docs[2])
				}
				docs := slices.DeleteFunc(c.docs, func(doc string) bool { return doc == "" })
				reason, detail := w.reads(t, true, 0, w.kind, framed(w.kind, docs...))
				require.Equal(t, c.want, reason, "%s\n%s", detail, framed(w.kind, docs...))
			}
		})
	}
}
