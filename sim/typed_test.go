package sim

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// namedEvents returns the names of a stream's events, repeated ones once, and its documents.
func namedEvents(t *testing.T, stream string) (names []string, docs []map[string]json.RawMessage) {
	t.Helper()
	for _, event := range strings.Split(strings.TrimSpace(stream), "\n\n") {
		name, data, ok := strings.Cut(strings.TrimPrefix(event, "event: "), "\ndata: ")
		require.True(t, ok, event)
		var doc map[string]json.RawMessage
		require.NoError(t, json.Unmarshal([]byte(data), &doc), data)
		require.Equal(t, `"`+name+`"`, string(doc["type"]))
		if len(names) == 0 || names[len(names)-1] != name {
			names = append(names, name)
		}
		docs = append(docs, doc)
	}
	return names, docs
}

func TestMessages(t *testing.T) {
	v := serve(t, nil)
	ask := func(body string) (int, string) {
		status, _, text, err := v.post("/v1/messages", body)
		require.NoError(t, err)
		return status, text
	}
	status, text := ask(`{"model":"` + v.cfg.Model + `","system":"be brief","messages":[{"role":"user","content":[` +
		`{"type":"text","text":"a b"}]}],"max_tokens":3,"stream":true}`)
	require.Equal(t, 200, status, text)
	names, docs := namedEvents(t, text)
	require.Equal(t, []string{"message_start", "content_block_start", "content_block_delta", "content_block_stop",
		"message_delta", "message_stop"}, names)
	require.Contains(t, string(docs[len(docs)-2]["usage"]), `"output_tokens":3`)
	require.Contains(t, string(docs[len(docs)-2]["delta"]), `"max_tokens"`)

	status, text = ask(`{"messages":[{"role":"user","content":"a b"}],"max_tokens":3}`)
	require.Equal(t, 200, status)
	require.Contains(t, text, `"content":[{"type":"text","text":"`)
	for _, body := range []string{`{"messages":[{"role":"user","content":"a"}]}`, `{"max_tokens":3}`,
		`{"max_tokens":3,"messages":[{"role":"user","content":[{"type":"audio"}]}]}`} {
		status, text = ask(body)
		require.Equal(t, 400, status, body)
		require.Contains(t, text, `{"type":"error","error":{"type":"invalid_request_error"`)
	}
}

func TestResponses(t *testing.T) {
	v := serve(t, nil)
	ask := func(body string) (int, string) {
		status, _, text, err := v.post("/v1/responses", body)
		require.NoError(t, err)
		return status, text
	}
	status, text := ask(`{"input":[{"role":"user","content":[{"type":"input_text","text":"a b"}]}],"max_output_tokens":3,` +
		`"ignore_eos":true,"stream":true}`)
	require.Equal(t, 200, status, text)
	names, docs := namedEvents(t, text)
	require.Equal(t, []string{"response.created", "response.in_progress", "response.output_item.added",
		"response.content_part.added", "response.output_text.delta", "response.output_text.done", "response.completed"},
		names)
	for i, doc := range docs {
		require.JSONEq(t, string(doc["sequence_number"]), string([]byte{'0' + byte(i)}), "events are numbered")
	}
	last := string(docs[len(docs)-1]["response"])
	require.Contains(t, last, `"status":"incomplete"`)
	require.Contains(t, last, `"output_tokens":3`)

	status, text = ask(`{"input":"a b","instructions":"be brief","max_output_tokens":3}`)
	require.Equal(t, 200, status)
	require.True(t, json.Valid([]byte(text)), text)
	status, _ = ask(`{"input":3}`)
	require.Equal(t, 400, status)
}
