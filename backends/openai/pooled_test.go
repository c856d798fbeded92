package openai

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/datasets"
)

func pooledConfig(api string) *backends.Config {
	return &backends.Config{RequestOptions: backends.RequestOptions{API: api, ServedModel: "m"},
		AnswerOptions: backends.AnswerOptions{Vocabulary: 100}}
}

func TestPooledRequests(t *testing.T) {
	d := &Driver{name: "vllm", dialect: vllm}
	for _, c := range []struct {
		api, want, fails string
		sample           datasets.Sample
	}{
		{api: embeddings, sample: datasets.Sample{Input: `a "b"`},
			want: `{"model":"m","input":"a \"b\"","encoding_format":"float"}`},
		{api: embeddings, sample: datasets.Sample{InputIDs: []int32{1, 2}},
			want: `{"model":"m","input":[1,2],"encoding_format":"float"}`},
		{api: rerank, sample: datasets.Sample{Input: "q", Documents: []string{"x", "y"}},
			want: `{"model":"m","query":"q","documents":["x","y"]}`},
		{api: embeddings, fails: "neither prompt ids nor text"},
		{api: embeddings, sample: datasets.Sample{InputIDs: []int32{100}}, fails: "prompt id 100"},
		{api: rerank, sample: datasets.Sample{Input: "q"}, fails: "lacks a query or passages"},
	} {
		body, err := d.Encode(nil, &c.sample, pooledConfig(c.api))
		if c.fails != "" {
			require.ErrorContains(t, err, c.fails)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, c.want, string(body))
	}
}

func TestPooledAnswers(t *testing.T) {
	for _, c := range []struct {
		api, body, detail string
		reason            backends.Reason
		input, passages   int
	}{
		{api: embeddings, body: `{"model":"m","data":[{"index":0,"embedding":[0.5,-1e-3]}],"usage":{"prompt_tokens":7,"total_tokens":7}}`,
			input: 7},
		{api: rerank, body: `{"results":[{"index":1,"relevance_score":0.9},{"index":0,"relevance_score":0}],"usage":{"total_tokens":56}}`,
			input: 56},
		{api: rerank, body: `{"results":[{"index":1,"relevance_score":0.9}]}`, input: -1},
		{api: rerank, passages: 2, body: `{"results":[{"index":1,"relevance_score":2},{"index":0,"relevance_score":1}]}`,
			input: -1},
		{api: rerank, passages: 1, body: `{"results":[{"relevance_score":2}]}`, input: -1},
		{api: rerank, passages: 2, body: `{"results":[{"index":1,"relevance_score":0.9}]}`, reason: backends.FailBadEvent,
			detail: "results has 1 entries, and the request has 2 texts"},
		{api: rerank, passages: 2, body: `{"results":[{"index":1,"relevance_score":2},{"index":1,"relevance_score":1}]}`,
			reason: backends.FailBadEvent, detail: "entry 1 of results has the index 1"},
		{api: rerank, passages: 2, body: `{"results":[{"index":1,"relevance_score":2},{"index":2,"relevance_score":1}]}`,
			reason: backends.FailBadEvent, detail: "entry 1 of results has the index 2"},
		{api: rerank, passages: 2, body: `{"results":[{"relevance_score":2},{"index":1,"relevance_score":1}]}`,
			reason: backends.FailBadEvent, detail: "entry 0 of results has the index -1"},
		{api: embeddings, body: `{"data":[{"index":0,"embedding":[1]},{"index":1,"embedding":[1]}]}`,
			reason: backends.FailBadEvent, detail: "data has 2 entries, and the request has 1 texts"},
		{api: embeddings, body: `{"data":[{"index":3,"embedding":[1]}]}`, reason: backends.FailBadEvent, detail: "index 3"},
		{api: embeddings, body: `{"data":[{"embedding":[1,null]}]}`, reason: backends.FailBadEvent, detail: "no embedding"},
		{api: embeddings, body: `{"data":[],"usage":{"prompt_tokens":7}}`, reason: backends.FailBadEvent, detail: "no data"},
		{api: embeddings, body: `{"data":[{"embedding":[]}]}`, reason: backends.FailBadEvent, detail: "no embedding"},
		{api: embeddings, body: `{"data":[{"embedding":[1,"x"]}]}`, reason: backends.FailBadEvent, detail: "no embedding"},
		{api: rerank, body: `{"results":[{"index":0}]}`, reason: backends.FailBadEvent, detail: "no relevance_score"},
		{api: rerank, body: `{"error":{"message":"boom"}}`, reason: backends.FailServerErrorEvent, detail: "boom"},
		{api: rerank, body: `{"results":[{"ind`, reason: backends.FailBadJSON, detail: "invalid JSON"},
		{api: embeddings, body: ``, reason: backends.FailEmpty, detail: "empty body"},
	} {
		of := pooledConfig(c.api)
		of.Passages = c.passages
		a := newPooled(of)
		a.Begin("application/json")
		a.Feed([]byte(c.body))
		var o backends.Outcome
		detail := a.Finish(&o, backends.OK)
		require.Equal(t, c.reason, o.Reason, "%s: %s", c.body, detail)
		require.Contains(t, detail, c.detail)
		require.Zero(t, o.NTokens)
		if c.reason == backends.OK {
			require.Equal(t, c.input, o.InputTokens)
		}
	}
}

func TestServersWithoutPooledRoutes(t *testing.T) {
	for _, d := range []*Driver{SGLang, Ollama, {name: "trtllm", dialect: trtllm}} {
		_, err := d.Protocol(pooledConfig(rerank))
		require.ErrorContains(t, err, `no supported route for the API "rerank"`)
	}
	p, err := SGLang.Protocol(pooledConfig(embeddings))
	require.NoError(t, err)
	require.Equal(t, "/v1/embeddings", p.Path)
}

func FuzzPooledAnswer(f *testing.F) {
	f.Add([]byte(`{"data":[{"index":0,"embedding":[0.5]}],"usage":{"prompt_tokens":7}}`), true)
	f.Add([]byte(`{"results":[{"index":1,"relevance_score":0.9}],"usage":{"total_tokens":56}}`), false)
	f.Fuzz(func(t *testing.T, body []byte, isEmbedding bool) {
		api, part := rerank, `results`
		if isEmbedding {
			api, part = embeddings, `data`
		}
		a := newPooled(pooledConfig(api))
		a.Begin("application/json")
		a.Feed(body)
		var o backends.Outcome
		detail := a.Finish(&o, backends.OK)
		require.Equal(t, o.Reason == backends.OK, detail == "")
		if o.Reason == backends.OK && !strings.Contains(string(body), `\u`) {
			require.Contains(t, string(body), part)
		}
	})
}
