package sglang_test

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

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/wiretest"
	"github.com/mlperf-go/mlperf-go/backends/sglang"
	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/models"
)

// asked is a request as SGLang reads it. It is a batch if the first prompt is a list.
type asked struct {
	RID      string            `json:"rid"`
	InputIDs []json.RawMessage `json:"input_ids"`
	Stream   bool
}

// naming starts a server whose answers carry the id that id returns for a request and, in a batch, the prompt's number.
func naming(t *testing.T, id func(rid string, prompt int) string) string {
	answer := func(id, ids string) string {
		return fmt.Sprintf(`{"text":"w","output_ids":[%s],"meta_info":{"id":%q,"finish_reason":{"type":"stop","matched":6},"prompt_tokens":2,"completion_tokens":2}}`, ids, id)
	}
	events := func(prompts int, rid string) string {
		var all strings.Builder
		for i := range prompts {
			event := strings.TrimSuffix(answer(id(rid, i), "5,6"), "}")
			fmt.Fprintf(&all, "data: %s,\"index\":%d}\n\n", event, i)
		}
		return all.String() + "data: [DONE]\n\n"
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q asked
		body, _ := io.ReadAll(r.Body)
		if json.Unmarshal(body, &q) != nil || len(q.RID) != 32 {
			http.Error(w, "what is this", http.StatusBadRequest)
			return
		}
		batch := strings.HasPrefix(string(q.InputIDs[0]), "[")
		switch {
		case q.Stream && batch:
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, events(len(q.InputIDs), q.RID))
		case q.Stream:
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: "+answer(id(q.RID, -1), "5,6")+"\n\ndata: [DONE]\n\n")
		case batch:
			var all []string
			for i := range q.InputIDs {
				all = append(all, answer(id(q.RID, i), "5,6"))
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, "["+strings.Join(all, ",")+"]")
		default:
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, answer(id(q.RID, -1), "5,6"))
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// own returns the id as SGLang sends it back: in a batch with the number of the prompt behind it.
func own(rid string, prompt int) string {
	if prompt < 0 {
		return rid
	}
	return fmt.Sprintf("%s_%d", rid, prompt)
}

// TestAnswersBelongToTheirRequests checks the ids of streams, whole answers and batches, with both clients.
func TestAnswersBelongToTheirRequests(t *testing.T) {
	var mu sync.Mutex
	last := strings.Repeat("0", 32)
	before := func(rid string, prompt int) string {
		mu.Lock()
		defer mu.Unlock()
		other := last
		last = rid
		return own(other, prompt)
	}
	partly := func(rid string, prompt int) string {
		if prompt == 1 {
			rid = strings.Repeat("0", 32)
		}
		return own(rid, prompt)
	}
	swapped := func(rid string, prompt int) string { return own(rid, []int{0, 2, 1}[max(prompt, 0)]) }
	open := map[string]wiretest.Contract{"batch": {Open: sglang.Driver{}.Open}, "net/http": clients["net/http"],
		"epoll": clients["epoll"]}
	for name, contract := range open {
		for what, c := range map[string]struct {
			id   func(string, int) string
			want backends.Reason
		}{
			"its own":              {own, backends.OK},
			"another's":            {before, backends.FailWrongAnswer},
			"none":                 {func(string, int) string { return "" }, backends.FailWrongAnswer},
			"another's in a batch": {partly, backends.FailWrongAnswer},
			"swapped in a batch":   {swapped, backends.FailWrongAnswer},
		} {
			if name != "batch" && strings.HasSuffix(what, "in a batch") {
				continue
			}
			for _, stream := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, %s, stream %t", name, what, stream), func(t *testing.T) {
					config := wiretest.Config(naming(t, c.id))
					config.Endpoints[0].IDs, config.Stream, config.API = backends.IDsRequired, stream, "generate"
					config.Sampling = models.Sampling{MaxTokens: 4}
					if name == "batch" {
						config.Batch = 3
					}
					config.Body = func(i int) []byte {
						body, err := sglang.Driver{}.Encode(nil, &datasets.Sample{Index: i, InputIDs: []int32{int32(i), 3}}, config)
						require.NoError(t, err)
						return body
					}
					r := contract.Ask(t, config, 6)
					for id, res := range r.Results {
						require.Equal(t, c.want, res.Reason, "query %d: %v", id, r.Attempts)
					}
				})
			}
		}
	}
}
