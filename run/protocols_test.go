package run

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// spoken is the form of one route's answers.
type spoken struct {
	route string
	event func(id int, last bool, so, of int) string // one token; so is the number of tokens so far, of their total
	whole func(ids string, n int) string             // all of them
	wants []string                                   // parts of every request
	lacks []string
}

// speaker is a server of one route. It answers every request with the requested number of tokens.
type speaker struct {
	spoken
	mu    sync.Mutex
	wrong []string
}

// asked contains the fields in which the routes' requests state the number of tokens.
type asked struct {
	MaxTokens           int `json:"max_tokens"`
	MaxCompletionTokens int `json:"max_completion_tokens"`
	Stream              *bool
	Options             struct {
		NumPredict int `json:"num_predict"`
	}
	Params struct {
		MaxTokens    int `json:"max_tokens"`
		MaxNewTokens int `json:"max_new_tokens"`
	} `json:"sampling_params"`
}

func (s *speaker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != s.route {
		if text, ok := facts[r.URL.Path]; ok {
			_, _ = io.WriteString(w, text)
		} else {
			http.NotFound(w, r)
		}
		return
	}
	body, _ := io.ReadAll(r.Body) // a truncated body does not parse
	var q asked
	if err := json.Unmarshal(body, &q); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.check(string(body))
	n := max(q.MaxTokens, q.MaxCompletionTokens, q.Params.MaxTokens, q.Params.MaxNewTokens, q.Options.NumPredict)
	var ids []string
	for i := range n {
		ids = append(ids, fmt.Sprint(10+i))
	}
	if q.Stream == nil || !*q.Stream {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, s.whole(strings.Join(ids, ","), n))
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for i := range n {
		_, _ = io.WriteString(w, "data: "+s.event(10+i, i == n-1, i+1, n)+"\n\n")
		w.(http.Flusher).Flush()
	}
	_, _ = io.WriteString(w, "data: [DONE]\n\n")
}

func (s *speaker) check(body string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, part := range s.wants {
		if !strings.Contains(body, part) {
			s.wrong = append(s.wrong, "no "+part+" in "+body)
		}
	}
	for _, part := range s.lacks {
		if strings.Contains(body, part) {
			s.wrong = append(s.wrong, part+" in "+body)
		}
	}
}

// ending is a finish reason: null before the last token.
func ending(last bool) string {
	if last {
		return `"length"`
	}
	return "null"
}

// countOf is the server's token count, which comes with the last token.
func countOf(last bool, n int) string {
	if last {
		return fmt.Sprintf(`,"usage":{"prompt_tokens":3,"completion_tokens":%d}`, n)
	}
	return ""
}

// Each protocol supports whole runs, from the preflight's short request to the verdict, streamed and not: vLLM's own
// generate route, TensorRT-LLM's ids without text, SGLang's own route, chat with ids.
func TestProtocolsCarryWholeRuns(t *testing.T) {
	program(t)
	completion := func(text string) (func(int, bool, int, int) string, func(string, int) string) {
		return func(id int, last bool, _, of int) string {
				return fmt.Sprintf(`{"choices":[{"index":0,%s"token_ids":[%d],"finish_reason":%s}]%s}`, text, id, ending(last),
					countOf(last, of))
			}, func(ids string, n int) string {
				return fmt.Sprintf(`{"choices":[{"index":0,%s"token_ids":[%s],"finish_reason":"length"}]%s}`, text, ids,
					countOf(true, n))
			}
	}
	chat := spoken{route: "/v1/chat/completions", wants: []string{`"messages":[`, `row 1`},
		event: func(_ int, last bool, _, of int) string {
			return fmt.Sprintf(`{"choices":[{"index":0,"delta":{"content":" t"},"finish_reason":%s}]%s}`, ending(last),
				countOf(last, of))
		}, whole: func(_ string, n int) string {
			return fmt.Sprintf(`{"choices":[{"index":0,"message":{"role":"assistant","content":" t"},"finish_reason":"length"}]%s}`, countOf(true, n))
		}}
	for _, c := range []struct {
		backend, api, kind, text string
		spoken
	}{
		{"vllm", "generate", "", "", spoken{route: "/inference/v1/generate",
			wants: []string{`"token_ids":[`, `"sampling_params":{`}, lacks: []string{`"prompt"`}}},
		{"trtllm", "completions", "", `"text":"",`,
			spoken{route: "/v1/completions", wants: []string{`"detokenize":false`, `"prompt":[`},
				lacks: []string{"return_token_ids"}}},
		{"vllm", "completions", "", `"text":" t",`,
			spoken{route: "/v1/completions", wants: []string{`"return_token_ids":true`, `"prompt":[`}}},
		{"openai", "chat", "chat", "", chat},
		{"openai", "chat", "both", "", chat},
		{"ollama", "generate", "both", "", spoken{route: "/api/generate", wants: []string{`"prompt":"row 1`},
			event: func(_ int, last bool, _, of int) string {
				return fmt.Sprintf(`{"response":" t","done":%t,"done_reason":"length","prompt_eval_count":3,"eval_count":%d}`, last,
					of)
			}, whole: func(_ string, n int) string {
				return fmt.Sprintf(`{"response":" t","done":true,"done_reason":"length","prompt_eval_count":3,"eval_count":%d}`, n)
			}}},
		{"sglang", "generate", "", "", spoken{route: "/generate", wants: []string{`"input_ids":[`},
			event: func(id int, last bool, so, of int) string { // only the new ids
				finish := "null"
				if last {
					finish = fmt.Sprintf(`{"type":"length","length":%d}`, of)
				}
				return fmt.Sprintf(`{"text":" t","output_ids":[%d],"meta_info":{"finish_reason":%s,"prompt_tokens":3,"completion_tokens":%d}}`, id, finish, so)
			}, whole: func(ids string, n int) string {
				return fmt.Sprintf(`{"text":" t","output_ids":[%s],"meta_info":{"finish_reason":{"type":"length","length":%d},"prompt_tokens":3,"completion_tokens":%d}}`, ids, n, n)
			}}},
	} {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s %s %s stream=%v", c.backend, c.api, c.kind, stream), func(t *testing.T) {
				t.Parallel()
				s := &speaker{spoken: c.spoken}
				if s.event == nil {
					s.event, s.whole = completion(c.text)
				}
				server := httptest.NewServer(s)
				defer server.Close()
				model, source := "llama3.1-8b", "ids"
				if c.kind != "" {
					model, source = "generic", "usage"
				}
				r := start(t, "--model", model, "--min-tokens", "1", "--backend", c.backend, "--api", c.api, "--scenario",
					"Offline", fmt.Sprintf("--stream=%v", stream), "--served-model", "m",
					"--dataset", faultSet(t, c.kind, 16), "--endpoint", server.URL, "--min-queries", "32", "--min-duration", "0",
					"--max-tokens", "12")
				r.isValid(t)
				require.EqualValues(t, 32, r.Samples.Completed)
				require.EqualValues(t, 32*12, r.Tokens.Output)
				require.EqualValues(t, source, r.Tokens.Source)
				if stream {
					require.EqualValues(t, 32, r.Samples.FirstTokens)
				}
				s.mu.Lock()
				defer s.mu.Unlock()
				require.Empty(t, s.wrong)
			})
		}
	}
}
