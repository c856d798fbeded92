package wiretest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
)

// Failure is a bad answer with the required result.
type Failure struct {
	Name   string
	Script Script
	Set    func(*backends.Config)
	Want   backends.Reason
	Text   string // part of the attempt's detail
	Body   string // part of the recorded answer
}

// Failures returns the ways in which a server can fail one request.
func Failures() []Failure {
	return slices.Concat(lateAnswers(), brokenAnswers(), malformedAnswers(), wrongAnswers())
}

func notStreamed(c *backends.Config) { c.Stream = false }

func twoTokens() string { return Chunks(Event("5", "null"), Event("6", "null")) }

// lateAnswers returns answers that come too late.
func lateAnswers() []Failure {
	// Long enough for every event before the limit, while other tests run in parallel.
	const limit = 700 * time.Millisecond
	first := func(c *backends.Config) { c.FirstTokenTimeout = limit }
	between := func(c *backends.Config) { c.TokenTimeout = limit }
	request := func(c *backends.Config) { c.RequestTimeout = limit }
	return []Failure{
		{"silence before the header", Silence(""), first, "timeout_first_token", "--first-token-timeout", ""},
		{"silence behind the header", Silence(StreamHead), first, "timeout_first_token", "", ""},
		{"comments are not tokens", Silence(StreamHead + Chunks(": keep-alive\n\n", Usage(0))), first, "timeout_first_token",
			"", "keep-alive"},
		{"silence in the stream", Silence(StreamHead + twoTokens()), between, "timeout_between_tokens", "--token-timeout",
			`"token_ids":[5]`},
		{"comments do not keep a stream alive", Drip(StreamHead+twoTokens(), Chunks(": ping\n\n")), between,
			"timeout_between_tokens", "", ""},
		{"tokens for ever", Drip(StreamHead, Chunks(Event("5", "null"))), request, "timeout_request", "--request-timeout",
			""},
		{"silence, not streamed", Silence(""), func(c *backends.Config) { notStreamed(c); request(c) }, "timeout_request", "",
			""},
	}
}

// brokenAnswers returns answers that are refused or cut off.
func brokenAnswers() []Failure {
	return []Failure{
		{"500", Answers(Whole(500, "application/json", `{"error":{"message":"boom"}}`)), nil, "http_500",
			"HTTP 500: {\"error\":{\"message\":\"boom\"}}", "boom"},
		{"404", Answers(Whole(404, "application/json", `{"detail":"Not Found"}`)), nil, "http_404", "", "Not Found"},
		{"redirect", Answers("HTTP/1.1 302 Found\r\nLocation: http://elsewhere/\r\nContent-Length: 0\r\n\r\n"), nil,
			"http_302", `to "http://elsewhere/", which is not followed`, ""},
		{"reset before the header", Resets(""), nil, "reset", "", ""},
		{"closed before the header", Closes(""), nil, "reset", "", ""},
		{"reset in the stream", Resets(StreamHead + twoTokens()), nil, "reset", "", `"token_ids":[6]`},
		{"closed in the stream", Closes(StreamHead + twoTokens()), nil, "truncated", "", ""},
		{"closed in a body", Closes("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 900\r\n\r\n" +
			Good), notStreamed, "truncated", "", ""},
		{"ended without finish_reason", Answers(StreamHead + Chunked(Event("5", "null"))), nil, "truncated",
			"without a finish_reason", ""},
		{"[DONE] alone proves nothing", Answers(StreamHead + Chunked(Event("5", "null"), Done)), nil, "truncated", "", ""},
		{"ended inside an event", Answers(StreamHead + Chunked(Event("5", "null"), `data: {"choi`)), nil, "truncated",
			"inside an event", ""},
		{"bad chunk", Closes(StreamHead + twoTokens() + "zz\r\nx\r\n"), nil, "bad_chunk", "", ""},
		{"no HTTP", Closes("SSH-2.0-OpenSSH_9.2\r\n\r\n"), nil, "bad_chunk", "", ""},
	}
}

// malformedAnswers returns answers that are not of the protocol.
func malformedAnswers() []Failure {
	return []Failure{
		{"bad JSON in the stream", Answers(StreamHead + Chunked("data: {oops\n\n")), nil, "bad_json", "{oops", ""},
		{"HTML", Answers(Whole(200, "text/html", "<html>front page</html>")), nil, "bad_json", "front page", "<html>"},
		{"HTML, not streamed", Answers(Whole(200, "text/html", "<html>")), notStreamed, "bad_json", "", ""},
		{"gzip unasked", Answers(strings.Replace(Whole(200, "application/json", "\x1f\x8b"), "\r\n",
			"\r\nContent-Encoding: gzip\r\n", 1)), notStreamed, "bad_json", `Content-Encoding "gzip"`, ""},
		{"an unexpected event", Answers(StreamHead + Chunked(`data: {"choices":[{"token_ids":"x"}]}`+"\n\n")), nil,
			"bad_event", "", ""},
		{"a choice that was not requested", Answers(StreamHead +
			Chunked(`data: {"choices":[{"index":1,"token_ids":[5]}]}`+"\n\n")), nil, "bad_event", "index 1", ""},
		{"an id beyond the vocabulary", Answers(StreamHead + Chunked(Event("99", "null"))),
			func(c *backends.Config) { c.Vocabulary = 99 }, "bad_event", "token id 99", ""},
		{"a negative id", Answers(StreamHead + Chunked(Event("-4", "null"))), nil, "bad_event", "negative", ""},
		{"no ids", Answers(StreamHead + Chunked(`data: {"choices":[{"index":0,"text":"w","finish_reason":"stop"}]}`+"\n\n",
			Usage(1))), nil, "bad_event", "return_token_ids, which vLLM >= 0.10.2", ""},
		{"no ids and no usage", Answers(StreamHead +
			Chunked(`data: {"choices":[{"index":0,"text":"w","finish_reason":"stop"}]}`+"\n\n")),
			func(c *backends.Config) { c.NeedIDs = false }, "bad_event", "unknown", ""},
	}
}

// wrongAnswers returns answers of the protocol that report or contain a fault.
func wrongAnswers() []Failure {
	return []Failure{
		{"error event, then [DONE]", Answers(StreamHead + Chunked(Event("5", "null"),
			`data: {"error":{"message":"engine died","code":500}}`+"\n\n", Done)), nil, "server_error_event", "engine died", ""},
		{"error in a body", Answers(Whole(200, "application/json", `{"error":"out of memory"}`)), notStreamed,
			"server_error_event", "out of memory", ""},
		{"abort", Answers(StreamHead + Chunked(Event("5", `"abort"`), Done)), nil, "aborted", `"abort"`, ""},
		{"no token", Answers(StreamHead + Chunked(Event("", `"stop"`), Usage(0), Done)), nil, "empty", "", ""},
		{"no body", Answers(Whole(200, "application/json", "")), notStreamed, "empty", "", ""},
		{"too short", Answers(StreamHead + Chunked(Event("5", `"stop"`), Done)), func(c *backends.Config) { c.MinTokens = 2 },
			"too_short", "at least 2", ""},
		{"too large", Answers(StreamHead + Chunked(strings.Repeat(": comment\n", 200), Event("5", `"stop"`))),
			func(c *backends.Config) { c.MaxAnswerBytes = 1000 }, "too_large", "1000 bytes", ""},
		{"too large, not streamed", Answers(Whole(200, "application/json", strings.Repeat(" ", 1200)+Good)),
			func(c *backends.Config) { notStreamed(c); c.MaxAnswerBytes = 1000 }, "too_large", "", ""},
		{"ids and usage differ", Answers(StreamHead + Chunked(Event("5,6", `"stop"`), Usage(3), Done)), nil,
			"token_count_mismatch", "2 token ids, but usage.completion_tokens is 3", ""},
		{"not streamed although requested", Answers(Whole(200, "application/json", Good)), nil, "no_first_token", "", ""},
	}
}

func (k *Contract) failureCodes(t *testing.T) {
	for _, c := range Failures() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			config := Config(k.Raw(t, c.Script))
			if c.Set != nil {
				c.Set(config)
			}
			r := k.Ask(t, config, 1)
			require.Equal(t, c.Want, r.Results[1].Reason)
			require.Len(t, r.Attempts, 1)
			a := r.Attempts[0]
			require.Equal(t, c.Want, a.Reason)
			require.False(t, a.Retried)
			require.Contains(t, a.Detail, k.url("POST http://127.0.0.1:"))
			require.Contains(t, a.Detail, c.Text)
			require.Contains(t, string(a.Body), c.Body)
		})
	}
}

// Goods returns the ways in which a server can send an answer of the tokens 5 and 6.
func Goods() map[string]Script {
	return map[string]Script{
		"whole": Answers(StreamHead + Chunked(Event("5", "null"), Event("6", `"stop"`), Usage(2),
			Done)),
		"two [DONE]": Answers(StreamHead + Chunked(Event("5", "null"), Event("6", `"stop"`), Done,
			Done)),
		"no [DONE]":                         Answers(StreamHead + Chunked(Event("5", "null"), Event("6", `"stop"`))),
		"nothing after [DONE], not its end": Silence(StreamHead + Chunks(Event("5", "null"), Event("6", `"stop"`), Done)),
		"cut after [DONE]":                  Closes(StreamHead + Chunks(Event("5", "null"), Event("6", `"stop"`), Done)),
		"until the connection ends": Closes("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" +
			Event("5,6", `"length"`)),
		"CRLF and comments": Answers(StreamHead + Chunked(": hi\r\n\r\n",
			strings.ReplaceAll(Event("5,6", `"stop"`), "\n", "\r\n"))),
	}
}

func (k *Contract) goodAnswers(t *testing.T) {
	for name, script := range Goods() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := k.Ask(t, Config(k.Raw(t, script)), 1)
			require.Empty(t, r.Attempts)
			o := r.Results[1]
			require.Equal(t, backends.OK, o.Reason)
			require.Equal(t, []int32{5, 6}, o.Tokens)
			require.Equal(t, 1, o.FirstCalls)
			require.Equal(t, int32(5), o.First[0])
			times := []int64{1, o.DequeuedNS, o.SentNS, o.FirstByteNS, o.FirstTokenNS, o.LastTokenNS}
			require.IsNonDecreasing(t, times)
		})
	}
}
