package sim

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEmbeddingsAndRankings(t *testing.T) {
	v := serve(t, nil)
	post := func(path, body string) (int, map[string]json.RawMessage) {
		status, _, text, err := v.post(path, body)
		require.NoError(t, err)
		var o map[string]json.RawMessage
		require.NoError(t, json.Unmarshal([]byte(text), &o), "%s", text)
		return status, o
	}
	type vector struct {
		Index     int
		Embedding []float64
	}
	var first, again []vector
	status, o := post("/v1/embeddings", `{"input":["a b","c"],"encoding_format":"float"}`)
	require.Equal(t, 200, status)
	require.NoError(t, json.Unmarshal(o["data"], &first))
	require.Len(t, first, 2)
	require.Len(t, first[1].Embedding, dimensions)
	require.NotEqual(t, first[0].Embedding, first[1].Embedding)
	_, o = post("/v1/embeddings", `{"input":"c"}`)
	require.NoError(t, json.Unmarshal(o["data"], &again))
	require.Equal(t, first[1].Embedding, again[0].Embedding, "a vector depends on its text alone")

	var ranking []struct {
		Index          int
		Document       struct{ Text string }
		RelevanceScore float64 `json:"relevance_score"`
	}
	texts := []string{"x", "y y", "z"}
	status, o = post("/v1/rerank", `{"query":"q","documents":["x","y y","z"]}`)
	require.Equal(t, 200, status)
	require.NoError(t, json.Unmarshal(o["results"], &ranking))
	require.Len(t, ranking, 3)
	for i, r := range ranking {
		require.Equal(t, texts[r.Index], r.Document.Text)
		require.True(t, i == 0 || r.RelevanceScore <= ranking[i-1].RelevanceScore)
	}
	best := ranking[0].Index
	_, o = post("/rerank", `{"query":"q","documents":["x","y y","z"],"top_n":1}`)
	require.NoError(t, json.Unmarshal(o["results"], &ranking))
	require.Len(t, ranking, 1)
	require.Equal(t, best, ranking[0].Index)

	for path, bodies := range map[string][]string{
		"/v1/embeddings": {`{}`, `{"input":[]}`, `{"input":"a","encoding_format":"base64"}`},
		"/v1/rerank":     {`{"documents":["a"]}`, `{"query":"q"}`, `{"query":"q","documents":[]}`},
	} {
		for _, body := range bodies {
			status, _ := post(path, body)
			require.Equal(t, 400, status, body)
		}
	}
}
