package backends_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/wirecase"
	"github.com/mlperf-go/mlperf-go/backends/internal/wiretest"
	"github.com/mlperf-go/mlperf-go/datasets"
)

// answered reads the reply to a prompt.
func answered(t *testing.T, c *wirecase.Case) {
	d, name, api := driverOf(t, c)
	k := config(c, name, api)
	if c.Status != http.StatusOK {
		refusedBy(t, c, d, k)
		return
	}
	want := c.Meant
	if want == nil || (want.Outcome == "ok" && len(want.Choices) == 0) { // the expected answer is in the body
		want = reread(t, c, k.Stream)
	}
	if want.Outcome == "ok" && len(want.Choices) > 1 {
		batch(t, c, d, k, want)
		return
	}
	o, attempt := both(t, d, k, c.Response)
	checkMeaning(t, o, attempt, want)
	direct, detail := decoded(t, d, k, c)
	attempt.Detail = detail
	checkMeaning(t, direct, attempt, want)
	if want.FirstToken != nil {
		checkEvents(t, d, k, c, want)
	}
}

// refused reads the reply to a request for a route that the server lacks, or with another method.
func refused(t *testing.T, c *wirecase.Case) {
	d, err := backends.Lookup("vllm")
	require.NoError(t, err)
	require.NotEqual(t, http.StatusOK, c.Status)
	refusedBy(t, c, d, config(c, "vllm", "completions"))
}

func refusedBy(t *testing.T, c *wirecase.Case, d backends.Driver, k *backends.Config) {
	o, attempt := both(t, d, k, c.Response)
	require.Equal(t, backends.Reason("http_"+strconv.Itoa(c.Status)), o.Reason)
	require.Equal(t, string(c.Body[:min(len(c.Body), 1024)]), string(attempt.Body),
		"the record keeps what the server said")
	require.Zero(t, o.NTokens)
	if c.Meant != nil {
		said := c.Meant.Message
		if json.Valid(c.Body) {
			quoted, err := json.Marshal(said)
			require.NoError(t, err)
			said = string(quoted[1 : len(quoted)-1])
		}
		require.Contains(t, string(c.Body), said)
		require.Contains(t, attempt.Detail, strings.TrimSpace(string(c.Body[:min(len(c.Body), 200)])))
	}
}

// checkMeaning compares an outcome with what the server meant.
func checkMeaning(t *testing.T, o *backends.Outcome, attempt backends.Attempt, want *wirecase.Meant) {
	t.Helper()
	if want.Outcome == "stream_error" {
		reason := backends.FailServerErrorEvent
		if want.Kind == "aborted" {
			reason = backends.FailAborted
		}
		require.Equal(t, reason, o.Reason)
		require.Contains(t, attempt.Detail, want.Message)
		if len(want.Partial) == 1 {
			require.Equal(t, append([]int32{}, want.Partial[0].IDs...), append([]int32{}, o.Tokens...))
			require.Equal(t, *want.Partial[0].Text, string(o.Text))
		}
		return
	}
	require.Len(t, want.Choices, 1)
	checkChoice(t, o, &want.Choices[0])
	for key, got := range map[string]int{"prompt_tokens": o.InputTokens, "completion_tokens": o.UsageTokens} {
		if sent, ok := want.Usage[key].(float64); ok {
			require.Equal(t, int(sent), got, key)
		} else {
			require.Equal(t, -1, got, key)
		}
	}
	require.Equal(t, meant(o), o.Reason, attempt.Detail)
}

// meant returns the expected reason for an answer that ended normally. The answer fails if two counts of its tokens
// differ or if it has no count; the number of events is never used as a count.
func meant(o *backends.Outcome) backends.Reason {
	switch {
	case len(o.Tokens) > 0 && o.UsageTokens >= 0 && len(o.Tokens) != o.UsageTokens:
		return backends.FailTokenCount
	case len(o.Tokens) == 0 && o.UsageTokens < 0:
		return backends.FailBadEvent
	}
	return backends.OK
}

func checkChoice(t *testing.T, o *backends.Outcome, want *wirecase.Choice) {
	t.Helper()
	if want.Text != nil {
		require.Equal(t, *want.Text, string(o.Text))
	}
	if want.Finish != nil {
		require.Equal(t, *want.Finish, o.FinishReason)
	}
	require.Equal(t, append([]int32{}, want.IDs...), append([]int32{}, o.Tokens...))
}

// batch reads the answers to several prompts, each of which must reach its own sample.
func batch(t *testing.T, c *wirecase.Case, d backends.Driver, k *backends.Config, want *wirecase.Meant) {
	n := c.Prompts()
	require.Len(t, want.Choices, n)
	k.Batch, k.Sampling.MaxTokens = n, max(1, k.Sampling.MaxTokens)
	k.Endpoints = []backends.Endpoint{{URL: wiretest.Raw(t, pieces(c.Response))}}
	bodies := make([][]byte, n)
	for i, ids := range promptIDs(c, n) { // the server has counted their lengths
		var err error
		bodies[i], err = d.Encode(nil, &datasets.Sample{Index: i, InputIDs: ids}, k)
		require.NoError(t, err)
	}
	k.Body = func(i int) []byte { return bodies[i] }
	contract := wiretest.Contract{Open: d.Open}
	r := contract.Ask(t, k, n)
	for id, got := range r.Results {
		checkChoice(t, &got.Outcome, &want.Choices[int(id)-1])
		require.Equal(t, meant(&got.Outcome), got.Reason, r.Attempts)
	}
}

// promptIDs returns the prompts of a request. One of text is represented by an id.
func promptIDs(c *wirecase.Case, n int) [][]int32 {
	var sent struct {
		Prompt   json.RawMessage
		InputIDs json.RawMessage `json:"input_ids"`
	}
	_ = json.Unmarshal(c.Request, &sent) // the caller has counted the prompts in it
	for _, raw := range []json.RawMessage{sent.Prompt, sent.InputIDs} {
		var ids [][]int32
		if json.Unmarshal(raw, &ids) == nil && len(ids) == n {
			return ids
		}
	}
	ids := make([][]int32, n)
	for i := range ids {
		ids[i] = []int32{int32(i)}
	}
	return ids
}

// decoded reads a body several times in pieces of random length, and requires the same result each time.
func decoded(t *testing.T, d backends.Driver, k *backends.Config, c *wirecase.Case) (*backends.Outcome, string) {
	t.Helper()
	answer := protocol(t, d, k).NewAnswer()
	var first *backends.Outcome
	var detail string
	for range 30 {
		answer.Begin(c.ContentType)
		for rest := c.Body; len(rest) > 0; {
			piece := rest[:1+rand.IntN(min(len(rest), 100))]
			rest = rest[len(piece):]
			for n := 1; n > 0; {
				n, piece = answer.Feed(piece)
			}
		}
		var o backends.Outcome
		detail = answer.Finish(&o, backends.OK)
		o.Tokens, o.Text = append([]int32(nil), o.Tokens...), bytes.Clone(o.Text)
		if first == nil {
			first = &o
		}
		require.Equal(t, *first, o)
	}
	return first, detail
}

// checkEvents counts the data events up to the first one with a token, and the tokens of each if the case contains
// them.
func checkEvents(t *testing.T, d backends.Driver, k *backends.Config, c *wirecase.Case, want *wirecase.Meant) {
	answer := protocol(t, d, k).NewAnswer()
	answer.Begin("text/event-stream")
	first, at := -1, -1
	var counts []int
	for part := range bytes.SplitSeq(c.Body, []byte("\n\n")) {
		if !bytes.Contains(part, []byte("data:")) {
			continue
		}
		at++
		n, _ := answer.Feed(append(part[:len(part):len(part)], "\n\n"...))
		if n > 0 && first < 0 {
			first = at
		}
		if counts = append(counts, n); len(counts) > len(want.Counts) {
			counts = counts[:len(want.Counts)]
		}
	}
	require.Equal(t, *want.FirstToken, first)
	if want.Counts != nil {
		require.Equal(t, want.Counts, counts)
	}
}

// document is an answer, or an event of one, in OpenAI's form and in Ollama's.
type document struct {
	Choices []struct {
		wirecase.Choice
		Index    int
		Logprobs struct{ Tokens []string }
		Message  struct{ Content *string }
		Delta    struct{ Content *string }
	}
	Usage map[string]any

	Response *string
	Done     bool
	Reason   *string  `json:"done_reason"`
	Prompt   *float64 `json:"prompt_eval_count"`
	Produced *float64 `json:"eval_count"`
}

// reread reads an answer in the simplest way.
func reread(t *testing.T, c *wirecase.Case, stream bool) *wirecase.Meant {
	want := &wirecase.Meant{Outcome: "ok"}
	docs := []string{string(c.Body)}
	if stream {
		docs = nil
		for line := range strings.SplitSeq(string(c.Body), "\n") {
			doc := strings.TrimPrefix(strings.TrimSpace(line), "data: ")
			if doc != "" && doc != "[DONE]" && doc != "null" {
				docs = append(docs, doc)
			}
		}
	}
	for _, doc := range docs {
		var v document
		require.NoError(t, json.Unmarshal([]byte(doc), &v))
		if v.Usage != nil {
			want.Usage = v.Usage
		}
		for _, part := range v.Choices {
			whole := choiceOf(want, part.Index)
			for _, text := range []*string{part.Text, part.Message.Content, part.Delta.Content} {
				if text != nil {
					*whole.Text += *text
				}
			}
			whole.IDs = append(whole.IDs, part.IDs...)
			if c.NamesIDs() {
				whole.IDs = append(whole.IDs, named(t, part.Logprobs.Tokens)...)
			}
			if part.Finish != nil {
				whole.Finish = part.Finish
			}
		}
		if v.Response != nil {
			whole := choiceOf(want, 0)
			*whole.Text += *v.Response
			if v.Done {
				whole.Finish, want.Usage = v.Reason, map[string]any{"prompt_tokens": *v.Prompt, "completion_tokens": *v.Produced}
			}
		}
	}
	require.NotEmpty(t, want.Choices)
	return want
}

// named are ids in place of tokens' texts.
func named(t *testing.T, tokens []string) (ids []int32) {
	for _, token := range tokens {
		id, err := strconv.Atoi(strings.TrimPrefix(token, "token_id:"))
		require.NoError(t, err)
		ids = append(ids, int32(id))
	}
	return ids
}

func choiceOf(want *wirecase.Meant, index int) *wirecase.Choice {
	for len(want.Choices) <= index {
		want.Choices = append(want.Choices, wirecase.Choice{Text: new(string)})
	}
	return &want.Choices[index]
}
