package batch_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/wiretest"
	_ "github.com/mlperf-go/mlperf-go/backends/openai"
	_ "github.com/mlperf-go/mlperf-go/backends/sglang"
	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/models"
)

type query = loadgen.Query

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// part is one answer of a batch.
type part struct {
	index  int
	prompt int // the id of the prompt that it answers
	finish string
	usage  int // by how much the server's count exceeds the number of tokens
	cut    int // number of tokens that the server has cut from its prompt
}

// request is a request to either kind of server.
type request struct {
	Prompt   [][]int `json:"prompt"`
	InputIDs [][]int `json:"input_ids"`
	Stream   bool
}

// serve answers batches. change may make parts invalid.
func serve(t *testing.T, native bool, change func([]part) []part) (url string, seen *tally) {
	seen = &tally{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked request
		body, _ := io.ReadAll(r.Body)
		if json.Unmarshal(body, &asked) != nil || asked.Stream {
			http.Error(w, "what is this", http.StatusBadRequest)
			return
		}
		prompts := append(asked.Prompt, asked.InputIDs...)
		seen.add(len(prompts)) // before the bytes that let the client continue
		var parts []part
		for i, p := range prompts {
			parts = append(parts, part{index: i, prompt: p[0], finish: "stop"})
		}
		if change != nil {
			parts = change(parts)
		}
		w.Header().Set("Content-Type", "application/json")
		if native {
			io.WriteString(w, nativeAnswer(parts))
		} else {
			io.WriteString(w, completions(parts))
		}
	}))
	t.Cleanup(s.Close)
	return s.URL, seen
}

// tally counts prompts.
type tally struct {
	mu             sync.Mutex
	total, largest int
}

func (y *tally) add(n int) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.total, y.largest = y.total+n, max(y.largest, n)
}

func (y *tally) read() (total, largest int) {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.total, y.largest
}

func completions(parts []part) string {
	var choices []string
	produced, read := 0, 0
	for _, p := range parts {
		read += 2 - p.cut
		choices = append(choices, fmt.Sprintf(`{"index":%d,"text":"t%d","logprobs":null,"finish_reason":%q,"token_ids":[%d,7]}`, p.index, p.prompt, p.finish, p.prompt))
		produced += 2 + p.usage
	}
	return fmt.Sprintf(`{"id":"c","choices":[%s],"usage":{"prompt_tokens":%d,"completion_tokens":%d}}`,
		strings.Join(choices, ","), read, produced)
}

func nativeAnswer(parts []part) string {
	var items []string
	for _, p := range parts {
		items = append(items, fmt.Sprintf(`{"text":"t%d","output_ids":[%d,7],"meta_info":{"finish_reason":{"type":%q},"prompt_tokens":2,"completion_tokens":%d}}`, p.prompt, p.prompt, p.finish, 2+p.usage))
	}
	return "[" + strings.Join(items, ",") + "]"
}

func config(t require.TestingT, backend, url string, batch int) (*backends.Config, backends.Driver) {
	d, err := backends.Lookup(backend)
	require.NoError(t, err)
	c := wiretest.Config(url)
	c.Stream, c.Batch, c.API = false, batch, map[string]string{"vllm": "completions", "sglang": "generate"}[backend]
	c.Sampling = models.Sampling{MaxTokens: 4}
	c.KeepText = true
	c.Body = func(i int) []byte {
		body, err := d.Encode(nil, &datasets.Sample{Index: i, InputIDs: []int32{int32(i), 3}}, c)
		require.NoError(t, err)
		return body
	}
	return c, d
}

func ask(t require.TestingT, c *backends.Config, d backends.Driver, n int) *wiretest.Recorder {
	b, err := d.Open(c)
	require.NoError(t, err)
	r := wiretest.NewRecorder()
	require.NoError(t, b.Serve(context.Background(), wiretest.NewQueries(n).End(), r))
	r.ExactlyOnce(t, n)
	return r
}

func TestEverySampleGetsItsOwnPart(t *testing.T) {
	for _, backend := range []string{"vllm", "sglang"} {
		for _, size := range []int{1, 2, 7, 64} {
			for _, n := range []int{0, 1, 2, 6, 7, 8, 13, 63, 64, 65} {
				url, seen := serve(t, backend == "sglang", nil)
				c, d := config(t, backend, url, size)
				for id, res := range ask(t, c, d, n).Results {
					i := int32(id) - 1
					require.Equal(t, backends.OK, res.Reason)
					require.Equal(t, []int32{i, 7}, res.Tokens)
					require.Equal(t, fmt.Sprintf("t%d", i), string(res.Text))
					require.Equal(t, []int{2, 2}, []int{res.NTokens, res.InputTokens})
					require.Equal(t, "stop", res.FinishReason)
					require.Zero(t, res.FirstCalls)
					require.NotZero(t, res.SentNS)
					require.NotZero(t, res.LastTokenNS)
				}
				total, largest := seen.read()
				require.Equal(t, n, total)
				require.LessOrEqual(t, largest, size)
			}
		}
	}
}

func TestFaults(t *testing.T) {
	for _, c := range []struct {
		name   string
		native bool // whether to test SGLang's own route, too
		change func([]part) []part
		want   backends.Reason
		failed int // of 3 samples
		text   string
	}{
		{"another order", false, func(p []part) []part { slices.Reverse(p); return p }, backends.OK, 0, ""},
		{"one is missing", true, func(p []part) []part { return p[:2] }, backends.FailBatch, 3,
			"has 2 parts and none with index 2"},
		{"the first is missing", false, func(p []part) []part { return p[1:] }, backends.FailBatch, 3, "none with index 0"},
		{"one too many", true, func(p []part) []part { return append(p, part{index: 3, prompt: 1, finish: "stop"}) },
			backends.FailBatch, 3, "one with index 3"},
		{"an index below 0", false, func(p []part) []part { p[1].index = -1; return p }, backends.FailBatch, 3,
			"one with index -1"},
		{"one twice", false, func(p []part) []part { p[2].index = 1; return p }, backends.FailBatch, 3, "index 1 twice"},
		{"none", false, func([]part) []part { return nil }, backends.FailBadEvent, 3, "no choices"},
		{"one aborted", true, func(p []part) []part { p[1].finish = "abort"; return p }, backends.FailAborted, 1, `"abort"`},
		{"the count differs", false, func(p []part) []part { p[1].usage = 1; return p }, backends.FailTokenCount, 3,
			"6 token ids, but usage.completion_tokens is 7"},
		{"a prompt is cut", false, func(p []part) []part { p[1].cut = 1; return p }, backends.FailTokenCount, 3,
			"counted 5 prompt tokens in a batch whose prompts have 6"},
		{"the count is of one prompt alone", false, func(p []part) []part { // as in llama.cpp
			p[1].cut, p[2].cut, p[1].usage, p[2].usage = 2, 2, -2, -2
			return p
		}, backends.FailTokenCount, 3, "6 token ids, but usage.completion_tokens is 2"},
		{"the count of one differs", true, func(p []part) []part { p[1].usage = 1; return p }, backends.FailTokenCount, 1,
			"2 token ids, but meta_info.completion_tokens is 3"},
	} {
		for _, backend := range []string{"vllm", "sglang"} {
			if (backend == "sglang") != c.native && (c.name != "one is missing" && c.name != "one too many" &&
				c.name != "one aborted") {
				continue
			}
			t.Run(c.name+" "+backend, func(t *testing.T) {
				url, _ := serve(t, backend == "sglang", c.change)
				config, d := config(t, backend, url, 3)
				r := ask(t, config, d, 3)
				requireFailed(t, r, c.want, c.failed, c.text)
			})
		}
	}
}

// requireFailed requires that a number of samples of a batch failed for the given reason, and that each of the others
// has its own answer.
func requireFailed(t *testing.T, r *wiretest.Recorder, want backends.Reason, failed int, text string) {
	t.Helper()
	n := 0
	for id, res := range r.Results {
		if res.Reason == backends.OK {
			require.Equal(t, []int32{int32(id) - 1, 7}, res.Tokens, "its own answer")
			continue
		}
		n++
		require.Equal(t, want, res.Reason)
	}
	require.Equal(t, failed, n)
	require.Len(t, r.Attempts, failed, "each failed sample has its record")
	for _, a := range r.Attempts {
		require.Contains(t, a.Detail, text)
	}
}

// A failure of a request is a failure of each of its samples.
func TestARequestThatFails(t *testing.T) {
	for want, script := range map[backends.Reason]wiretest.Script{
		"http_500":             wiretest.Answers(wiretest.Whole(500, "text/plain", "no")),
		backends.FailTruncated: wiretest.Closes("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"),
		backends.FailBadJSON:   wiretest.Answers(wiretest.Whole(200, "application/json", "{oops")),
		backends.FailEmpty:     wiretest.Answers(wiretest.Whole(200, "application/json", "")),
		backends.FailServerErrorEvent: wiretest.Answers(wiretest.Whole(200, "application/json",
			`{"error":{"message":"full"}}`)),
		backends.FailReset: wiretest.Closes(""),
	} {
		for _, backend := range []string{"vllm", "sglang"} {
			c, d := config(t, backend, wiretest.Raw(t, script), 4)
			r := ask(t, c, d, 6)
			for _, res := range r.Results {
				require.Equal(t, want, res.Reason, backend)
				require.Empty(t, res.Tokens)
			}
			require.Len(t, r.Attempts, 6)
			seen := map[int]bool{}
			for _, a := range r.Attempts {
				seen[a.Query.Index] = true
				require.Contains(t, a.Detail, "(a batch of ")
			}
			require.Len(t, seen, 6, "each sample by its own index")
		}
	}
}

// Batches in flight are bounded and repeated like requests.
func TestBatchesAreRequests(t *testing.T) {
	var now, most, tries atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := now.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		var asked request
		json.NewDecoder(r.Body).Decode(&asked)
		var parts []part
		for i, p := range asked.Prompt {
			parts = append(parts, part{index: i, prompt: p[0], finish: "stop"})
		}
		now.Add(-1) // before the bytes that let the client continue
		if tries.Add(1)%2 == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, completions(parts))
	}))
	defer s.Close()
	c, d := config(t, "vllm", s.URL, 5)
	c.Concurrency, c.Retries = 1, 1
	for id, res := range ask(t, c, d, 18).Results {
		require.Equal(t, backends.OK, res.Reason)
		require.Equal(t, 1, res.Retries)
		require.Equal(t, []int32{int32(id) - 1, 7}, res.Tokens)
	}
	require.EqualValues(t, 1, most.Load())
	require.EqualValues(t, 8, tries.Load(), "18 samples are 4 batches")
}

func TestTextPrompts(t *testing.T) {
	bodies := make(chan []byte, 1)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies <- body
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, completions([]part{{index: 1, prompt: 1, finish: "stop"}, {index: 0, finish: "stop"}}))
	}))
	defer s.Close()
	c, d := config(t, "openai", s.URL, 2)
	c.Body = func(i int) []byte {
		b, err := d.Encode(nil, &datasets.Sample{Input: fmt.Sprintf("say \"%d\", [0]", i)}, c)
		require.NoError(t, err)
		return b
	}
	ask(t, c, d, 2)
	var sent struct{ Prompt []string }
	require.NoError(t, json.Unmarshal(<-bodies, &sent))
	require.Equal(t, []string{`say "0", [0]`, `say "1", [0]`}, sent.Prompt)
}

func TestInvalidBatches(t *testing.T) {
	for _, x := range []struct {
		backend, api string
		stream       bool
		text         string
	}{
		{"vllm", "chat", false, "on its completions route only, not on /v1/chat/completions"},
		{"vllm", "generate", false, "not on /inference/v1/generate"},
		{"vllm", "chat", true, "on its completions route only"},
		{"sglang", "chat", false, "on its completions route only"},
	} {
		c, d := config(t, x.backend, "http://127.0.0.1:1", 2)
		c.API, c.Stream = x.api, x.stream
		if x.api == "generate" {
			c.KeepText = false
		}
		_, err := d.Open(c)
		require.ErrorContains(t, err, x.text)
	}
}
