package run

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/run/record"
)

// choiceOf is a good answer to the prompt with the given index in a batch.
func choiceOf(index int) string {
	return fmt.Sprintf(`{"index":%d,"text":" t","token_ids":[10,11,12,13],"finish_reason":"length"}`, index)
}

// serveBatches answers each batch with the result of change for the good choices. Its usage counts perPrompt tokens for
// each prompt (each has three), and the tokens of the choices that it sends.
func serveBatches(t *testing.T, perPrompt int, change func(choices []string) []string) (url string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/completions" {
			_, _ = io.WriteString(w, facts[r.URL.Path]) // empty for routes without facts
			return
		}
		var asked struct{ Prompt [][]int }
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		var choices []string
		for i := range asked.Prompt {
			choices = append(choices, choiceOf(i))
		}
		if change != nil {
			choices = change(choices)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"choices":[%s],"usage":{"prompt_tokens":%d,"completion_tokens":%d}}`,
			strings.Join(choices, ","), perPrompt*len(asked.Prompt), goodTokens*len(choices))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// If a batch lacks a choice, or contains one too many or one twice, all its samples fail. A batch whose choices come in
// another order is valid.
func TestFaultsOfBatches(t *testing.T) {
	program(t)
	for _, c := range []struct {
		name   string
		change func([]string) []string
		bad    bool
	}{
		{"in order", nil, false},
		{"in another order", func(c []string) []string { slices.Reverse(c); return c }, false},
		{"one is missing", func(c []string) []string { return c[:len(c)-1] }, true},
		{"one too many", func(c []string) []string { return append(c, choiceOf(len(c))) }, true},
		{"one more often than once", func(c []string) []string { return append(c, c[0]) }, true},
		{"one in the place of another", func(c []string) []string { c[0] = c[1]; return c }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := faultRun(t, "offline", []string{serveBatches(t, 3, c.change)}, "--offline-strategy", "batch", "--batch-size",
				"8")
			log := requestsOf(t, r)
			r.holdsTogether(t, log)
			if !c.bad {
				r.isValid(t)
				require.EqualValues(t, 32*goodTokens, r.Tokens.Output)
				return
			}
			r.failedBy(t, "batch_mismatch")
			require.EqualValues(t, 32, r.Samples.Failed)
			require.Zero(t, r.Tokens.Output)
		})
	}
}

// A batch has one token count for all its prompts, which cannot be attributed to a sample: each of them fails.
func TestServerThatCutsPromptsOfABatch(t *testing.T) {
	program(t)
	r := faultRun(t, "offline", []string{serveBatches(t, 2, nil)}, "--offline-strategy", "batch", "--batch-size", "8")
	require.EqualValues(t, 32, r.Samples.Completed)
	r.failedBy(t, "token_count_mismatch")
	require.EqualValues(t, 32, r.Samples.Failed)
	require.True(t, r.Has(record.CodeTokenMismatch), r.Reasons)
}
