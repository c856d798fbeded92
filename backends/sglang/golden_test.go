package sglang_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/http1"
	"github.com/mlperf-go/mlperf-go/backends/internal/wiretest"
	"github.com/mlperf-go/mlperf-go/backends/nethttp"
	"github.com/mlperf-go/mlperf-go/backends/sglang"
)

type meant struct {
	Status  int `json:"http_status"`
	Outcome string
	Kind    string `json:"error_kind"`
	Message string `json:"error_message"`
	Choices []struct {
		Text   *string
		IDs    []int32 `json:"token_ids"`
		Finish string  `json:"finish_reason"`
	}
	Usage struct {
		Prompt   int `json:"prompt_tokens"`
		Produced int `json:"completion_tokens"`
	}
	FirstToken *int  `json:"first_token_event"`
	Counts     []int `json:"token_counts_per_event"`
}

// clients are the two HTTP clients that carry the protocol.
var clients = map[string]wiretest.Contract{
	"net/http": {Open: func(c *backends.Config) (backends.Backend, error) {
		p, err := sglang.Driver{}.Protocol(c)
		if err != nil {
			return nil, err
		}
		return nethttp.New(c, p)
	}},
	"epoll": {Open: func(c *backends.Config) (backends.Backend, error) {
		p, err := sglang.Driver{}.Protocol(c)
		if err != nil {
			return nil, err
		}
		return http1.New(c, p)
	}},
}

// pieces answers with the same bytes in writes of random length.
func pieces(text string) wiretest.Script {
	return func(c net.Conn, _, _ int) bool {
		for rest := text; len(rest) > 0; {
			n := 1 + rand.IntN(len(rest))
			if _, err := c.Write([]byte(rest[:n])); err != nil {
				return false
			}
			rest = rest[n:]
		}
		return false
	}
}

func TestGoldenWire(t *testing.T) {
	folders, err := filepath.Glob(filepath.Join(wiretest.Golden(t, "wire"), "sglang-*"))
	require.NoError(t, err)
	for _, folder := range folders {
		read := func(t *testing.T, name string) []byte {
			data, err := os.ReadFile(filepath.Join(folder, name))
			require.NoError(t, err)
			return data
		}
		t.Run(filepath.Base(folder), func(t *testing.T) {
			var request struct {
				Method, Path string
				Body         struct{ Stream bool }
			}
			var want meant
			require.NoError(t, json.Unmarshal(read(t, "request.json"), &request))
			require.NoError(t, json.Unmarshal(read(t, "expect.json"), &want))
			api, ours := map[string]string{"/generate": "generate", "/v1/completions": "completions"}[request.Path]
			if !ours || request.Method != http.MethodPost {
				t.Skipf("%s %s is no generation", request.Method, request.Path)
			}
			for name, client := range clients {
				c := wiretest.Config(wiretest.Raw(t, pieces(string(read(t, "response.txt")))))
				c.API, c.Stream, c.KeepText, c.NeedIDs = api, request.Body.Stream, true, api == "generate"
				r := client.Ask(t, c, 1)
				check(t, name, &r.Results[1].Outcome, r.Attempts, &want)
			}
			if want.Outcome == "ok" && api == "generate" && len(want.Choices) > 1 {
				parts(t, read(t, "body.txt"), wiretest.ContentType(read(t, "response.txt")), request.Body.Stream, &want)
			}
			if want.Outcome == "ok" && api == "generate" {
				counts(t, read(t, "body.txt"), request.Body.Stream, &want)
			}
		})
	}
}

// check compares an outcome with what the server meant.
func check(t *testing.T, client string, o *backends.Outcome, attempts []backends.Attempt, want *meant) {
	t.Helper()
	switch {
	case want.Outcome == "http_error":
		require.Equal(t, backends.Reason("http_"+strconv.Itoa(want.Status)), o.Reason, client)
		require.Contains(t, string(attempts[0].Body), want.Message)
	case want.Outcome == "stream_error":
		reason := backends.FailServerErrorEvent
		if want.Kind == "aborted" {
			reason = backends.FailAborted
		}
		require.Equal(t, reason, o.Reason, client)
		require.Contains(t, attempts[0].Detail, want.Message)
	case len(want.Choices) != 1:
		require.Equal(t, backends.FailBadEvent, o.Reason, "a batch was not asked for")
	default:
		require.Equal(t, backends.OK, o.Reason, "%s: %v", client, attempts)
		answer := want.Choices[0]
		text := ""
		if answer.Text != nil {
			text = *answer.Text
		}
		require.Equal(t, text, string(o.Text), client)
		require.Equal(t, answer.IDs, o.Tokens, client)
		require.Equal(t, answer.Finish, o.FinishReason, client)
		require.Equal(t, []int{want.Usage.Prompt, want.Usage.Produced, want.Usage.Produced}, []int{o.InputTokens, o.UsageTokens, o.NTokens}, client)
	}
}

// parts reads an answer to several prompts as one.
func parts(t *testing.T, body []byte, kind string, stream bool, want *meant) {
	p, err := sglang.Driver{}.Protocol(&backends.Config{Stream: stream, Batch: len(want.Choices), KeepText: true})
	require.NoError(t, err)
	for _, length := range []int{1, 100, len(body)} {
		read := wiretest.ReadBatch(p.NewAnswer(), kind, body, length)
		require.Equal(t, backends.OK, read.Reason)
		require.Len(t, read.Parts, len(want.Choices))
		for i, got := range read.Parts {
			answer := want.Choices[i]
			require.Equal(t, []any{i, backends.OK, answer.IDs, *answer.Text, answer.Finish}, []any{got.Index, got.Reason, got.Tokens, got.Text, got.Finish})
			if stream {
				require.Equal(t, len(answer.IDs), read.News[i])
			}
		}
	}
}

// counts compares the tokens of each event, and which one had the first.
func counts(t *testing.T, body []byte, stream bool, want *meant) {
	if want.FirstToken == nil {
		return
	}
	p, err := sglang.Driver{}.Protocol(&backends.Config{Stream: stream})
	require.NoError(t, err)
	answer := p.NewAnswer()
	answer.Begin("text/event-stream")
	var got []int
	for event := range bytes.SplitAfterSeq(body, []byte("\n\n")) {
		if n, _ := answer.Feed(event); n > 0 || strings.Contains(string(event), "output_ids") {
			got = append(got, n)
		}
	}
	require.Positive(t, got[*want.FirstToken])
	if want.Counts != nil {
		require.Equal(t, want.Counts, got)
	}
}
