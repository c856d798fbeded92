package sim

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"
)

// A token id that does not fit 31 bits is rejected, like other numbers that are not ids.
func TestIDsThatAreRefused(t *testing.T) {
	for id, want := range map[string]string{"2147483648": "more than 31 bits", "99999999999999999999": "more than 31 bits",
		"-1": "negative", "1.5": "whole number"} {
		_, err := decodeRequest([]byte(`{"prompt":[`+id+`]}`), requestFields)
		require.ErrorContains(t, err, want, id)
	}
}

// Random answers are the same on every machine, and contain different ids.
func TestRandomAnswersAreFixed(t *testing.T) {
	v := serve(t, func(c *Config) { c.Seed = 7 })
	m := decode(t, v.mustPost("/v1/completions",
		`{"prompt":[1,2],"max_tokens":50,"min_tokens":12,"return_token_ids":true}`))
	ids := m.Choices[0].TokenIDs
	seen := map[int32]bool{}
	for _, id := range ids[:12] {
		require.GreaterOrEqual(t, id, int32(randomLow))
		seen[id] = true
	}
	require.Greater(t, len(seen), 8)
}

// A server counts the time of a request from its first byte, not from the end of the one before.
func TestTheTimeOfARequestBeginsAtItsFirstByte(t *testing.T) {
	t.Parallel()
	v := serve(t, nil)
	nc, in := v.dial(`{"prompt":[1],"max_tokens":2}`)
	defer nc.Close()
	read := func() {
		resp, err := http.ReadResponse(in, nil)
		require.NoError(t, err)
		_, err = io.ReadAll(resp.Body)
		require.NoError(t, err)
	}
	read()
	time.Sleep(2 * time.Second)
	_, err := io.WriteString(nc, rawRequest("/v1/completions", `{"prompt":[1],"max_tokens":2}`))
	require.NoError(t, err)
	read()
	_, text := v.get("/metrics")
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	require.NoError(t, err)
	h := families["vllm:e2e_request_latency_seconds"].Metric[0].GetHistogram()
	require.EqualValues(t, 2, h.GetSampleCount())
	require.Less(t, h.GetSampleSum(), 1.5)
}

// With a fault before the head, no head is sent, whether the answer would be streamed or not.
func TestFaultsBeforeTheHead(t *testing.T) {
	for _, fields := range []string{`"stream":true`, `"stream":false`} {
		all, _, err := wireOf(t, "stall_header", fields)
		require.Empty(t, all, fields)
		require.True(t, errors.Is(err, os.ErrDeadlineExceeded), "%v", err)
		all, _, _ = wireOf(t, "stall_first", fields)
		head, err := http.ReadResponse(bufio.NewReader(strings.NewReader(all)), nil)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, head.StatusCode)
		require.Equal(t, strings.Contains(fields, "true"),
			strings.HasPrefix(head.Header.Get("Content-Type"), "text/event-stream"), fields)
	}
}
