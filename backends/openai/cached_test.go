package openai_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
)

// cachedTokens are usages with 20 prompt tokens. want is the number of cached ones; -1: not reported.
var cachedTokens = []struct {
	name, details string
	want          int
}{
	{"absent", ``, -1},
	{"vLLM without --enable-prompt-tokens-details", `,"prompt_tokens_details":null`, -1},
	{"nothing cached", `,"prompt_tokens_details":{"cached_tokens":0}`, 0},
	{"some", `,"prompt_tokens_details":{"cached_tokens":16}`, 16},
	{"all", `,"prompt_tokens_details":{"cached_tokens":20}`, 20},
	{"OpenAI", `,"prompt_tokens_details":{"audio_tokens":0,"cached_tokens":16}`, 16},
	{"blanks", `, "prompt_tokens_details" : { "cached_tokens" : 16 } `, 16},
	{"an exponent", `,"prompt_tokens_details":{"cached_tokens":1.6e1}`, 16},
	{"an escaped key", `,"prompt_tokens_details":{"cached\u005ftokens":16}`, 16},
	{"empty", `,"prompt_tokens_details":{}`, -1},
	{"null", `,"prompt_tokens_details":{"cached_tokens":null}`, -1},
	{"the last one counts", `,"prompt_tokens_details":{"cached_tokens":3,"cached_tokens":5}`, 5},
	{"more than the prompt", `,"prompt_tokens_details":{"cached_tokens":21}`, -1},
	{"negative", `,"prompt_tokens_details":{"cached_tokens":-16}`, -1},
	{"minus zero", `,"prompt_tokens_details":{"cached_tokens":-0}`, 0},
	{"a fraction", `,"prompt_tokens_details":{"cached_tokens":1.5}`, -1},
	{"above 31 bits", `,"prompt_tokens_details":{"cached_tokens":2147483648}`, -1},
	{"above 64 bits", `,"prompt_tokens_details":{"cached_tokens":18446744073709551617}`, -1},
	{"above a float", `,"prompt_tokens_details":{"cached_tokens":1e999}`, -1},
	{"text", `,"prompt_tokens_details":{"cached_tokens":"16"}`, -1},
	{"a bool", `,"prompt_tokens_details":{"cached_tokens":true}`, -1},
	{"a list", `,"prompt_tokens_details":{"cached_tokens":[16]}`, -1},
	{"an object", `,"prompt_tokens_details":{"cached_tokens":{"cached_tokens":16}}`, -1},
	{"details are a list", `,"prompt_tokens_details":[16]`, -1},
	{"details are a number", `,"prompt_tokens_details":16`, -1},
	{"beside the details", `,"cached_tokens":16`, -1},
}

// usages are the ways in which an answer of one token reports the counts of %s.
var usages = []struct{ name, kind, body string }{
	{"the end of a stream", "text/event-stream", "data: {\"choices\":[{\"index\":0,\"text\":\"a\",\"token_ids\":[5]," +
		"\"finish_reason\":\"stop\"}]}\n\ndata: {\"choices\":[],\"usage\":%s}\n\ndata: [DONE]\n\n"},
	{"the last of several usages", "text/event-stream", "data: {\"choices\":[{\"index\":0,\"text\":\"a\"," +
		"\"token_ids\":[5],\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":20,\"completion_tokens\":1," +
		"\"prompt_tokens_details\":{\"cached_tokens\":9}}}\n\ndata: {\"choices\":[],\"usage\":%s}\n\ndata: [DONE]\n\n"},
	{"a whole answer", "application/json", `{"choices":[{"index":0,"text":"a","token_ids":[5],` +
		`"finish_reason":"stop"}],"usage":%s}`},
	{"read with encoding/json", "application/json", `{"choices":[{"index":0,"text":"a","token_ids":[5],` +
		`"finish_reason":"st\u006fp"}],"usage":%s}`},
}

// TestCachedTokens: an impossible number is no number, and fails no request.
func TestCachedTokens(t *testing.T) {
	for _, u := range usages {
		for _, c := range cachedTokens {
			usage := `{"prompt_tokens":20,"total_tokens":21,"completion_tokens":1` + c.details + `}`
			o := decode(t, config("completions", u.kind != "application/json"), u.kind, fmt.Appendf(nil, u.body, usage))
			require.Equal(t, backends.OK, o.Reason, "%s, %s", u.name, c.name)
			require.Equal(t, []int{20, c.want}, []int{o.InputTokens, o.CachedTokens}, "%s, %s", u.name, c.name)
		}
	}
}

// TestCachedTokensWithoutAPrompt: without the length of the prompt there is no hit rate.
func TestCachedTokensWithoutAPrompt(t *testing.T) {
	for _, u := range usages[1:] { // the second kind has an earlier usage, whose counts go together
		o := decode(t, config("completions", u.kind != "application/json"), u.kind,
			fmt.Appendf(nil, u.body, `{"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":3}}`))
		want := []int{-1, -1}
		if u.name == "the last of several usages" {
			want = []int{20, 9}
		}
		require.Equal(t, want, []int{o.InputTokens, o.CachedTokens}, u.name)
	}
}

// TestCachedTokensOfOtherRoutes reads the counts where the other APIs have them.
func TestCachedTokensOfOtherRoutes(t *testing.T) {
	for api, body := range map[string]string{
		"messages": `{"type":"message","content":[{"type":"text","text":"a"}],"stop_reason":"end_turn",` +
			`"usage":{"input_tokens":4,"cache_read_input_tokens":16,"output_tokens":1}}`,
		"responses": `{"output":[{"type":"message","content":[{"type":"output_text","text":"a"}]}],"status":"completed",` +
			`"usage":{"input_tokens":20,"output_tokens":1,"input_tokens_details":{"cached_tokens":16}}}`,
	} {
		o := decode(t, config(api, false), "application/json", []byte(body))
		require.Equal(t, backends.OK, o.Reason, api)
		require.Equal(t, []int{20, 16}, []int{o.InputTokens, o.CachedTokens}, api)
	}
}
