package sim

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// spoken is what a client reads from an answer on the chat route, streamed or whole.
type spoken struct {
	content, reasoning, function, arguments, finish string
	begun                                           bool // content or a call has come
}

// read adds the events of a stream or the one document of a whole answer.
func (a *spoken) read(t *testing.T, documents ...string) {
	t.Helper()
	type part struct {
		Content          string `json:"content"`
		Reasoning        string `json:"reasoning"`
		ReasoningContent string `json:"reasoning_content"`
		Calls            []struct {
			Function functionCall `json:"function"`
		} `json:"tool_calls"`
	}
	for _, text := range documents {
		var doc struct {
			Choices []struct {
				Delta, Message part
				Finish         *string `json:"finish_reason"`
			}
		}
		if text == "[DONE]" {
			continue
		}
		require.NoError(t, json.Unmarshal([]byte(text), &doc), text)
		for _, c := range doc.Choices {
			for _, p := range []part{c.Delta, c.Message} {
				thought := p.Reasoning + p.ReasoningContent
				require.False(t, a.begun && thought != "", "reasoning comes first: %s", text)
				a.begun = a.begun || len(c.Delta.Content)+len(c.Delta.Calls) > 0
				a.content, a.reasoning = a.content+p.Content, a.reasoning+thought
				for _, call := range p.Calls {
					a.function, a.arguments = a.function+call.Function.Name, a.arguments+call.Function.Arguments
				}
			}
			if c.Finish != nil {
				a.finish = *c.Finish
			}
		}
	}
}

// answerTo sends a request to the chat route, streamed and whole, and returns the one answer that both must bring.
func (v *served) answerTo(t *testing.T, members string) spoken {
	t.Helper()
	body := `{"model":"toy","messages":[{"role":"user","content":"hello"}],"max_tokens":12,"ignore_eos":true` + members
	var streamed, whole spoken
	streamed.read(t, events(t, v.mustPost("/v1/chat/completions", body+`,"stream":true}`))...)
	whole.read(t, v.mustPost("/v1/chat/completions", body+`}`))
	streamed.begun = false
	require.Equal(t, whole, streamed)
	return whole
}

const offered = `,"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","required":["n","s","e","o"],` +
	`"properties":{"n":{"type":"integer"},"s":{"type":"string"},"e":{"enum":["x","y"]},"free":{"type":"string"},` +
	`"o":{"type":"object","required":["b"],"properties":{"b":{"type":"boolean"}}}}}}},` +
	`{"type":"function","function":{"name":"g"}}]`

// A request that requires a call gets one with the required arguments, in every dialect.
func TestRequiredCalls(t *testing.T) {
	for _, dialect := range Dialects() {
		for _, reasoning := range []int{0, 5} {
			s := serve(t, func(c *Config) { c.Dialect, c.ReasoningTokens = dialect, reasoning })
			a := s.answerTo(t, offered+`,"tool_choice":{"type":"function","function":{"name":"f"}}`)
			require.Equal(t, "f", a.function)
			require.JSONEq(t, `{"n":1,"s":"text","e":"x","o":{"b":true}}`, a.arguments)
			require.Equal(t, "tool_calls", a.finish)
			require.Empty(t, a.content)
			require.Equal(t, reasoning > 0, a.reasoning != "")
			a = s.answerTo(t, offered+`,"tool_choice":"required"`)
			require.Contains(t, []string{"f", "g"}, a.function)
			require.Equal(t, "tool_calls", a.finish)
			for _, free := range []string{"", `,"tool_choice":"auto"`, `,"tool_choice":"none"`} {
				a = s.answerTo(t, offered+free)
				require.Empty(t, a.function)
				require.NotEmpty(t, a.content)
			}
		}
	}
}

func TestCallsThatNoToolAllows(t *testing.T) {
	s := serve(t, nil)
	for members, want := range map[string]string{
		`,"tool_choice":"required"`:                                            "needs tools",
		`,"tools":[],"tool_choice":"required"`:                                 "needs tools",
		`,"tools":7,"tool_choice":"required"`:                                  "a list of functions",
		`,"tools":[{}],"tool_choice":"required"`:                               "needs a name",
		offered + `,"tool_choice":"perhaps"`:                                   "required or a function",
		offered + `,"tool_choice":{"type":"function","function":{"name":"h"}}`: "not one of the tools",
	} {
		status, _, text, err := s.post("/v1/chat/completions", `{"messages":[{"role":"user","content":"a"}]`+members+`}`)
		require.NoError(t, err)
		require.Equal(t, http.StatusBadRequest, status, text)
		require.Contains(t, text, want)
	}
}

// The first tokens of a chat answer are reasoning. No event has both kinds, whatever its size.
func TestReasoning(t *testing.T) {
	for _, dialect := range Dialects() {
		for _, size := range []int{1, 3} {
			s := serve(t, func(c *Config) { c.Dialect, c.TokensPerEvent = dialect, size })
			plain := s.answerTo(t, "")
			require.Empty(t, plain.reasoning)
			for _, reasoning := range []int{5, 12, 50} {
				s := serve(t, func(c *Config) { c.Dialect, c.TokensPerEvent, c.ReasoningTokens = dialect, size, reasoning })
				a := s.answerTo(t, "")
				require.Equal(t, plain.content, a.reasoning+a.content)
				require.NotEmpty(t, a.reasoning)
				require.Equal(t, reasoning >= 12, a.content == "")
			}
		}
	}
}

func TestDeepSchemas(t *testing.T) {
	schema := `{"type":"integer"}`
	for range 50 {
		schema = `{"type":"object","required":["a","a"],"properties":{"a":` + schema + `}}`
	}
	text, err := json.Marshal(sampleOf(json.RawMessage(schema), "object", 0))
	require.NoError(t, err)
	require.Less(t, len(text), 100)
	require.Equal(t, map[string]any{}, sampleOf(json.RawMessage(`{"type":["object"]}`), "object", 0))
}
