package openai_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/models"
)

// TestTolerance has one row for each peculiarity of servers of OpenAI's family
// (docs/reference/wire-protocols.md#differences-between-servers).
func TestTolerance(t *testing.T) {
	const (
		id    = `data: {"choices":[{"index":0,"token_ids":[5],"text":"a"}]}`
		end   = `data: {"choices":[{"index":0,"token_ids":[6],"text":"b","finish_reason":"stop"}]}`
		usage = `data: {"choices":[],"usage":{"completion_tokens":2}}`
		done  = `data: [DONE]`
	)
	lines := func(events ...string) string { return strings.Join(events, "\n\n") + "\n\n" }
	chat := func(delta, rest string) string { return `data: {"choices":[{"index":0,"delta":` + delta + rest + `}]}` }
	for _, c := range []struct {
		name, api, body string
		want            backends.Reason
		tokens          int
		text, finish    string
		first           int // data events before the first token
	}{
		{"as vLLM does", "", lines(id, end, usage, done), backends.OK, 2, "ab", "stop", 0},
		{"no [DONE]", "", lines(id, end), backends.OK, 2, "ab", "stop", 0},
		{"no blank behind data:", "", strings.ReplaceAll(lines(id, end, done), "data: ", "data:"), backends.OK, 2, "ab",
			"stop", 0},
		{"CRLF and comments", "", strings.ReplaceAll(": hello\n\n"+lines(id, ": ping", end, done), "\n", "\r\n"), backends.OK,
			2, "ab", "stop", 0},
		{"event and id lines", "", strings.ReplaceAll(lines(id, end, done), "data: {", "event: message\nid: 7\ndata: {"),
			backends.OK, 2, "ab", "stop", 0},
		{"null and unknown fields", "", lines(`data: {"choices":[{"index":null,"token_ids":[5],"text":null,"finish_reason":null,"new":{"a":[1,{"token_ids":[9]}]}}],"usage":null,"error":null,"timings":{}}`, end), backends.OK, 2, "b", "stop", 0},
		{"absent fields", "", lines(`data: {"choices":[{"token_ids":[5]}]}`,
			`data: {"choices":[{"token_ids":[6],"finish_reason":"stop"}]}`), backends.OK, 2, "", "stop", 0},
		{"two [DONE]", "", lines(id, end, usage, done, done), backends.OK, 2, "ab", "stop", 0},
		{"choices: [] before, between and behind", "",
			lines(`data: {"choices":[]}`, id, `data: {"choices":[],"usage":null}`, end, `data: {"choices":[]}`, done),
			backends.OK, 2, "ab", "stop", 1},
		{"the end in an event without text, usage null in each", "",
			lines(strings.TrimSuffix(id, "}")+`,"usage":null}`,
				strings.TrimSuffix(strings.Replace(end, `,"finish_reason":"stop"`, "", 1), "}")+`,"usage":null}`,
				`data: {"choices":[{"index":0,"finish_reason":"stop","text":""}],"usage":null}`, usage, done), backends.OK, 2, "ab",
			"stop", 0},
		{"a stray null", "", lines("data: null", id, end), backends.OK, 2, "ab", "stop", 1},
		{"usage in each event, from nothing on", "",
			lines(strings.TrimSuffix(id, "}")+`,"usage":{"completion_tokens":0}}`, end, usage), backends.OK, 2, "ab", "stop", 0},
		{"whole numbers with a fraction", "", lines(`data: {"choices":[{"index":0.0,"token_ids":[5.0,6e0],"text":"ab","finish_reason":"length"}],"usage":{"completion_tokens":2.0}}`), backends.OK, 2, "ab", "length", 0},
		{"an unknown finish_reason", "", lines(id, strings.Replace(end, "stop", "eos", 1)), backends.OK, 2, "ab", "eos", 0},
		{"abort", "", lines(id, strings.Replace(end, "stop", "abort", 1)), backends.FailAborted, 2, "ab", "abort", 0},
		{"error", "", lines(id, strings.Replace(end, "stop", "error", 1)), backends.FailAborted, 2, "ab", "error", 0},
		{"cancelled", "", lines(id, strings.Replace(end, "stop", "cancelled", 1)), backends.FailAborted, 2, "ab", "cancelled",
			0},
		{"content_filter", "", lines(id, strings.Replace(end, "stop", "content_filter", 1)), backends.FailAborted, 2, "ab",
			"content_filter", 0},
		{"ids of more than 31 bits", "", lines(`data: {"choices":[{"token_ids":[4294967295],"finish_reason":"stop"}]}`),
			backends.FailBadEvent, 0, "", "stop", -1},
		{"finish_reason in its own event, fewer events than tokens", "",
			lines(`data: {"choices":[{"text":"ab"}]}`,
				`data: {"choices":[{"text":"","finish_reason":"length"}],"usage":{"completion_tokens":2}}`), backends.OK, 2, "ab",
			"length", 0},
		{"cut shorter than was asked for", "", lines(`data: {"choices":[{"text":"ab"}]}`,
			`data: {"choices":[{"text":"","finish_reason":"length"}],"usage":{"completion_tokens":1}}`), backends.FailTooShort,
			1, "ab", "length", 0},
		{"longer than was allowed", "", lines(id, id, id, strings.Replace(end, "stop", "length", 1)), backends.FailTooLarge,
			4, "aaab", "length", 0},
		{"longer than was allowed, by the count", "",
			lines(`data: {"choices":[{"text":"ab"}]}`,
				`data: {"choices":[{"text":"","finish_reason":"stop"}],"usage":{"completion_tokens":3}}`), backends.FailTooLarge, 3,
			"ab", "stop", 0},
		{"text without ids behind ids, and no count", "",
			lines(id, `data: {"choices":[{"index":0,"text":"b","finish_reason":"stop"}]}`), backends.FailTokenCount, 1, "ab",
			"stop", 0},
		{"a first text without an id is the first token, and its time is not known by ids", "",
			lines(`data: {"choices":[{"index":0,"text":"a"}]}`,
				`data: {"choices":[{"index":0,"token_ids":[5,6],"text":"b","finish_reason":"stop"}]}`, usage, done),
			backends.FailTokenCount, 2, "ab", "stop", 0},
		{"an empty text without an id is none", "", lines(`data: {"choices":[{"index":0,"text":""}]}`, id, end, usage, done),
			backends.OK, 2, "ab", "stop", 1},
		{"nothing but an end", "", lines(`data: {"choices":[{"index":0,"text":"","finish_reason":"stop"}]}`, done),
			backends.FailEmpty, 0, "", "stop", -1},
		{"ended by a deadline of the server", "", lines(id, strings.Replace(end, "stop", "timeout", 1)), backends.FailAborted,
			2, "ab", "timeout", 0},
		{"chat: tokens and no text", "chat", lines(chat(`{"content":""}`, `,"finish_reason":"stop"`), usage),
			backends.FailNoFirstToken, 2, "", "stop", -1},
		{"chat: reasoning alone is an answer without text", "chat",
			lines(chat(`{"reasoning":"hm"}`, `,"finish_reason":"stop"`), usage), backends.OK, 2, "", "stop", 0},
		{"chat: a role is no token", "chat", lines(chat(`{"role":"assistant","content":""}`, ""),
			chat(`{"content":"ab"}`, ""), chat(`{}`, `,"finish_reason":"stop"`), usage, done), backends.OK, 2, "ab", "stop", 1},
		{"chat: role with null content, and again in each event", "chat",
			lines(chat(`{"role":"assistant","content":null}`, ""), chat(`{"role":"assistant","content":"ab"}`, ""),
				chat(`{"role":"assistant"}`, `,"finish_reason":"stop"`), usage), backends.OK, 2, "ab", "stop", 1},
		{"chat: reasoning is the first token, and no text", "chat",
			lines(chat(`{"reasoning_content":"hm"}`, ""), chat(`{"content":"b"}`, `,"finish_reason":"stop"`), usage),
			backends.OK, 2, "b", "stop", 0},
		{"chat: reasoning under both names counts once", "chat",
			lines(chat(`{"reasoning":"h","reasoning_content":"h","content":null}`, `,"token_ids":[5]`),
				chat(`{"content":"b"}`, `,"token_ids":[6],"finish_reason":"stop"`), usage), backends.OK, 2, "b", "stop", 0},
		{"chat: tool calls are tokens", "chat", lines(chat(`{"tool_calls":[]}`, ""),
			chat(`{"tool_calls":[{"index":0,"function":{"name":"f","arguments":""}}]}`, ""),
			chat(`{}`, `,"finish_reason":"tool_calls"`), usage), backends.OK, 2,
			`[{"id":"","type":"function","function":{"name":"f","arguments":""}}]`, "tool_calls", 1},
		{"chat: parts of tool calls are put together by their index, and stand for the text", "chat",
			lines(chat(`{"content":"a","tool_calls":[{"index":0,"id":"x","type":"function","function":{"name":"f","arguments":"{\"a"}}]}`, ""), chat(`{"tool_calls":[{"index":0,"function":{"name":null,"arguments":"<\":1}"}},{"index":1,"id":"y","function":{"name":"g","arguments":{"b":2}}}]}`, `,"finish_reason":"tool_calls"`), usage), backends.OK, 2,
			`[{"id":"x","type":"function","function":{"name":"f","arguments":"{\"a<\":1}"}},{"id":"y","type":"function","function":{"name":"g","arguments":"{\"b\":2}"}}]`, "tool_calls", 0},
		{"chat: tool calls that are none", "chat", lines(chat(`{"tool_calls":"f()"}`, `,"finish_reason":"tool_calls"`),
			usage), backends.FailBadEvent, 0, "", "tool_calls", 0},
		{"generate: the end shows by the count alone", "generate",
			lines(id, strings.Replace(end, `,"finish_reason":"stop"`, "", 1), usage, done), backends.OK, 2, "", "length", 0},
		{"completions: it does not", "", lines(id, strings.Replace(end, `,"finish_reason":"stop"`, "", 1), usage, done),
			backends.FailTruncated, 2, "ab", "", 0},
		{"generate: fewer than asked for", "generate", lines(id, usage, done), backends.FailTruncated, 1, "", "", 0},
		{"error as an object", "", lines(id, `data: {"error":{"message":"m","code":500}}`, done),
			backends.FailServerErrorEvent, 1, "a", "", 0},
		{"error as a text", "", lines(id, `data: {"error":"Model is overloaded","error_type":"overloaded"}`),
			backends.FailServerErrorEvent, 1, "a", "", 0},
		{"an error beside members of other types", "", lines(id, `data: {"error":"m","choices":5}`),
			backends.FailServerErrorEvent, 1, "a", "", 0},
		{"a flat error", "", lines(`data: {"object":"error","message":"m"}`), backends.FailServerErrorEvent, 0, "", "", -1},
		{"a detail is an error", "", lines(id, `data: {"detail":"Internal"}`, done), backends.FailServerErrorEvent, 1, "a",
			"", 0},
		{"no JSON", "", lines(id, "data: upstream timed out"), backends.FailBadJSON, 1, "a", "", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			config := config(c.api, true)
			if c.api == "generate" {
				config.KeepText = false
			}
			config.Sampling = models.Sampling{MaxTokens: 2}
			o := decode(t, config, "text/event-stream", []byte(c.body))
			require.Equal(t, c.want, o.Reason)
			require.Equal(t, c.tokens, o.NTokens)
			require.Equal(t, c.text, string(o.Text))
			require.Equal(t, c.finish, o.FinishReason)
			if !strings.Contains(c.body, "\r") {
				require.Equal(t, c.first, firstTokenEvent(t, config, []byte(c.body)))
			}
		})
	}
}

// TestToleranceOfWholeAnswers does the same for answers that are not streamed.
func TestToleranceOfWholeAnswers(t *testing.T) {
	const good = `{"choices":[{"index":0,"text":"ab","token_ids":[5,6],"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2}}`
	for name, c := range map[string]struct {
		body   string
		want   backends.Reason
		tokens int
	}{
		"as vLLM does":               {good, backends.OK, 2},
		"white space and line feeds": {"\r\n " + strings.ReplaceAll(good, ",", " ,\r\n\t") + "\n\n", backends.OK, 2},
		"null fields":                {`{"id":null,"choices":[{"index":null,"text":null,"logprobs":null,"token_ids":[5,6],"finish_reason":"stop","stop_reason":null}],"usage":null,"error":null}`, backends.OK, 2},
		"absent fields":              {`{"choices":[{"token_ids":[5,6],"finish_reason":"stop"}]}`, backends.OK, 2},
		"unknown fields":             {`{"timings":{"choices":[1]},"choices":[{"new":[{"token_ids":[9]}],"text":"ab","token_ids":[5,6],"finish_reason":"stop"}],"nvext":{}}`, backends.OK, 2},
		"no ids, but a count":        {strings.Replace(good, `"token_ids":[5,6],`, "", 1), backends.OK, 2},
		"neither ids nor a count":    {`{"choices":[{"text":"ab","finish_reason":"stop"}]}`, backends.FailBadEvent, 0},
		"whole numbers with a fraction": {strings.NewReplacer("[5,6]", "[5.0,6e0]", `tokens":2`,
			`tokens":2.0`).Replace(good), backends.OK, 2},
		"ids of more than 31 bits":      {strings.Replace(good, "[5,6]", "[5,2147483648]", 1), backends.FailBadEvent, 0},
		"the largest id":                {strings.Replace(good, "[5,6]", "[5,2147483647]", 1), backends.OK, 2},
		"an unknown finish_reason":      {strings.Replace(good, "stop", "eos", 1), backends.OK, 2},
		"finish_reason null":            {strings.Replace(good, `"stop"`, "null", 1), backends.FailTruncated, 2},
		"abort":                         {strings.Replace(good, "stop", "abort", 1), backends.FailAborted, 2},
		"choices: []":                   {`{"choices":[],"usage":{"completion_tokens":0}}`, backends.FailBadEvent, 0},
		"error: an object in an object": {`{"error":{"message":"m","code":500}}`, backends.FailServerErrorEvent, 0},
		"error: a text": {`{"error":"Model is overloaded","error_type":"overloaded"}`,
			backends.FailServerErrorEvent, 0},
		"error: flat":                    {`{"object":"error","message":"m","code":40001}`, backends.FailServerErrorEvent, 0},
		"error: a detail is no answer":   {`{"detail":"Internal"}`, backends.FailServerErrorEvent, 0},
		"error: no JSON":                 {"Internal Server Error", backends.FailBadJSON, 0},
		"an object behind the answer":    {good + `{"choices":[]}`, backends.FailBadJSON, 0},
		"a list is no answer to a query": {"[" + good + "]", backends.FailBadEvent, 0},
	} {
		t.Run(name, func(t *testing.T) {
			o := decode(t, config("", false), "application/json", []byte(c.body))
			require.Equal(t, c.want, o.Reason)
			require.Equal(t, c.tokens, o.NTokens)
		})
	}
}

// TestSGLangNamesItsIDs reads a whole chat answer of SGLang.
func TestSGLangNamesItsIDs(t *testing.T) {
	body := `{"choices":[{"index":0,"message":{"role":"assistant","content":"ab","reasoning_content":null,"tool_calls":null},"finish_reason":"stop","matched_stop":2,"response_token_ids":[5,2]}],"usage":{"prompt_tokens":3,"completion_tokens":2}}`
	o := decode(t, config("chat", false), "application/json", []byte(body))
	require.Equal(t, backends.OK, o.Reason)
	require.Equal(t, []int32{5, 2}, o.Tokens)
}

func TestMostTokens(t *testing.T) {
	const answer = `{"choices":[{"index":0,"text":"ab","token_ids":[5,6],"finish_reason":"stop"}],"usage":{"completion_tokens":2}}`
	wants := map[int]backends.Reason{0: backends.OK, 1: backends.FailTooLarge, 2: backends.OK, 3: backends.OK}
	for most, want := range wants {
		c := config("", false)
		c.Sampling.MaxTokens = most
		require.Equal(t, want, decode(t, c, "application/json", []byte(answer)).Reason, most)
	}
}

func TestFewestTokens(t *testing.T) {
	const answer = `{"choices":[{"index":0,"text":"ab","token_ids":[5,6],"finish_reason":"stop"}],"usage":{"completion_tokens":2}}`
	for fewest, want := range map[int]backends.Reason{0: backends.OK, 2: backends.OK, 3: backends.FailTooShort} {
		c := config("", false)
		c.MinTokens = fewest
		require.Equal(t, want, decode(t, c, "application/json", []byte(answer)).Reason, fewest)
	}
}

// TestMissingText rejects a count without a text if the benchmark scores the text. Ids without a text, and
// reasoning that was cut, are valid answers.
func TestMissingText(t *testing.T) {
	answer := func(choice string) []byte {
		return []byte(`{"choices":[{"index":0,"finish_reason":"stop",` + choice + `}],"usage":{"completion_tokens":2}}`)
	}
	for _, c := range []struct {
		name, choice string
		want         backends.Reason
	}{
		{"no content", `"message":{"role":"assistant","content":""}`, backends.FailEmpty},
		{"null", `"message":{"role":"assistant","content":null}`, backends.FailEmpty},
		{"the end at once, as an id", `"message":{"content":""},"token_ids":[2,2]`, backends.OK},
		{"reasoning alone", `"message":{"content":null,"reasoning":"hm"}`, backends.OK},
		{"a call alone", `"message":{"content":null,"tool_calls":[{"function":{"name":"f","arguments":"{}"}}]}`, backends.OK},
	} {
		t.Run(c.name, func(t *testing.T) {
			keep := config("chat", false)
			keep.KeepText, keep.NeedIDs = true, false
			o := decode(t, keep, "application/json", answer(c.choice))
			require.Equal(t, c.want, o.Reason)
			if c.want == backends.OK {
				require.NotNil(t, o.Text, "LoadGen gets a text, be it empty, and no ids")
			}
		})
	}
}
