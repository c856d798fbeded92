package sim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/golden"
)

// shape returns the keys of a JSON value in their order and the types of its leaves. It does not distinguish numbers,
// or the lengths of lists of numbers or strings; other lists keep their members.
func shape(t *testing.T, payload string) string {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(payload))
	var b strings.Builder
	var value func()
	value = func() {
		tok, err := d.Token()
		require.NoError(t, err, payload)
		switch v := tok.(type) {
		case json.Delim:
			b.WriteString(v.String())
			kind := ""
			for d.More() {
				if v == '{' {
					key, err := d.Token()
					require.NoError(t, err)
					fmt.Fprintf(&b, "%s:", key)
					value()
					b.WriteByte(' ')
					continue
				}
				before := b.Len()
				value()
				if now := b.String()[before:]; now == kind && (now == "number" || now == "string") {
					keep := b.String()[:before]
					b.Reset()
					b.WriteString(keep)
				} else {
					kind = now
				}
			}
			end, err := d.Token()
			require.NoError(t, err)
			b.WriteString(end.(json.Delim).String())
		case nil:
			b.WriteString("null")
		case string:
			b.WriteString("string")
		case float64:
			b.WriteString("number")
		case bool:
			b.WriteString("bool")
		}
	}
	value()
	return b.String()
}

// TestGoldenRecordedShapes sends the request of every recorded case that the simulator can answer. It compares status,
// headers and, key by key, the shape of each event with vLLM's recorded answer.
func TestGoldenRecordedShapes(t *testing.T) {
	dir := golden.Dir(t, "wire-real")
	files, err := filepath.Glob(filepath.Join(dir, "vllm-*.txt"))
	require.NoError(t, err)
	// The simulator lacks log-probabilities, stop strings, the token-in route and the router's own answer. TestMetrics
	// covers the metrics page.
	without := []string{"vllm-comp-logprobs", "vllm-comp-stream-logprobs", "vllm-chat-stream-logprobs",
		"vllm-comp-stop-id", "vllm-generate",
		"vllm-router-comp-stream", "vllm-metrics"}
	v := serve(t, func(c *Config) {
		c.Model, c.MaxModelLen, c.OutputTokens, c.Vocabulary = "tiny", 2048, 40, 20000
		c.EOS = 2
	})
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		if slices.Contains(without, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			raw, err := os.ReadFile(file)
			require.NoError(t, err)
			sent, reply, ok := bytes.Cut(raw, []byte("###\nHTTP/1.1 "))
			require.True(t, ok)
			lines := strings.SplitN(strings.TrimSuffix(string(sent), "\n"), "\n", 2)
			method, path, _ := strings.Cut(strings.TrimPrefix(lines[0], "### "), " ")
			head, want, _ := strings.Cut(strings.ReplaceAll(string(reply), "\r\n", "\n"), "\n\n")
			var body string
			if len(lines) > 1 {
				body = strings.TrimPrefix(lines[1], "### ")
			}
			status, header, got := v.ask(t, method, path, body)
			require.Equal(t, head[:3], fmt.Sprint(status), got)
			for _, h := range []string{"content-type", "allow"} {
				for _, l := range strings.Split(head, "\n") {
					if value, ok := strings.CutPrefix(l, h+": "); ok {
						require.Equal(t, value, header.Get(h))
					}
				}
			}
			compareBodies(t, strings.TrimSpace(want), strings.TrimSpace(got))
		})
	}
}

// TestGoldenComposedShapes repeats the comparison with cases composed from vLLM's sources.
func TestGoldenComposedShapes(t *testing.T) {
	dir := golden.Dir(t, "wire")
	for _, name := range []string{"vllm-completions-ids", "vllm-completions-batch", "vllm-completions-batch-stream",
		"vllm-completions-stream-ids-usage", "vllm-completions-stream-continuous-usage"} {
		t.Run(name, func(t *testing.T) {
			raw, err := os.ReadFile(filepath.Join(dir, name, "request.json"))
			require.NoError(t, err)
			var q struct {
				Method, Path string
				Body         json.RawMessage
			}
			require.NoError(t, json.Unmarshal(raw, &q))
			want, err := os.ReadFile(filepath.Join(dir, name, "body.txt"))
			require.NoError(t, err)
			v := serve(t, func(c *Config) { c.Model, c.OutputTokens = DefaultConfig().Model, 3 })
			status, _, got := v.ask(t, q.Method, q.Path, string(q.Body))
			require.Equal(t, 200, status)
			// Older releases omit system_fingerprint in the usage event; the recorded cases check it.
			compareBodies(t, dropFingerprint(string(want)), dropFingerprint(got))
		})
	}
}

func dropFingerprint(s string) string {
	for _, fp := range []string{`,"system_fingerprint":"vllm-0.32.0-sim"}`,
		`,"system_fingerprint":"vllm-0.23.0-1a2b3c4d"}`} {
		s = strings.ReplaceAll(s, fp, "}")
	}
	return strings.TrimSpace(s)
}

// compareBodies compares the set of shapes, so that the number and order of events may differ. The first and the last
// two shapes must be equal.
func compareBodies(t *testing.T, want, got string) {
	t.Helper()
	if !strings.HasPrefix(want, "data: ") {
		if want == "" || got == "" {
			require.Equal(t, want, got)
			return
		}
		require.Equal(t, shape(t, want), shape(t, got))
		return
	}
	shapes := func(body string) (out []string) {
		for _, e := range events(t, body) {
			if e == "[DONE]" {
				out = append(out, e)
			} else {
				out = append(out, shape(t, e))
			}
		}
		return out
	}
	w, g := shapes(want), shapes(got)
	require.Equal(t, w[0], g[0])
	require.Equal(t, w[len(w)-2:], g[len(g)-2:])
	unique := func(s []string) []string { s = slices.Clone(s); slices.Sort(s); return slices.Compact(s) }
	require.Equal(t, unique(w), unique(g))
}

func (v *served) ask(t *testing.T, method, path, body string) (int, headerOf, string) {
	t.Helper()
	if method == "GET" {
		resp, err := v.client.Get(v.url(path))
		require.NoError(t, err)
		defer resp.Body.Close()
		var b bytes.Buffer
		_, err = b.ReadFrom(resp.Body)
		require.NoError(t, err)
		return resp.StatusCode, resp.Header, b.String()
	}
	status, header, got, err := v.post(path, body)
	require.NoError(t, err)
	return status, header, got
}

type headerOf interface{ Get(string) string }
