package openai_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
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
	"github.com/mlperf-go/mlperf-go/backends/internal/client"
	"github.com/mlperf-go/mlperf-go/backends/internal/wiretest"
	"github.com/mlperf-go/mlperf-go/backends/nethttp"
	"github.com/mlperf-go/mlperf-go/backends/openai"
)

// asked is the part of a recorded request that matters to the reader of its answer.
type asked struct {
	Method string
	Path   string
	Body   struct {
		Stream      bool
		TokensAsIDs bool `json:"return_tokens_as_token_ids"`
	}
}

type choice struct {
	Text   *string
	IDs    []int32 `json:"token_ids"`
	Finish *string `json:"finish_reason"`
}

type meant struct {
	Status     int `json:"http_status"`
	Outcome    string
	Choices    []choice
	Partial    []choice
	RawUsage   map[string]any `json:"usage"`
	FirstToken *int           `json:"first_token_event"`
	Message    string         `json:"error_message"`
}

var routes = map[string]string{"/v1/completions": "completions", "/v1/chat/completions": "chat", "/inference/v1/generate": "generate"}

func config(api string, stream bool) *backends.Config {
	return &backends.Config{API: api, Stream: stream, KeepText: api != "generate", ServedModel: "m", Request: func(int) []byte { return []byte("{}") }}
}

func TestGoldenWire(t *testing.T) {
	folder := wiretest.Golden(t, "wire")
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	for _, entry := range entries {
		t.Run(entry.Name(), func(t *testing.T) {
			read := func(name string) []byte {
				data, err := os.ReadFile(filepath.Join(folder, entry.Name(), name))
				require.NoError(t, err)
				return data
			}
			var req asked
			var want meant
			require.NoError(t, json.Unmarshal(read("request.json"), &req))
			require.NoError(t, json.Unmarshal(read("expect.json"), &want))
			api, ours := routes[req.Path]
			if !ours || req.Method != http.MethodPost {
				t.Skipf("%s %s is no completion", req.Method, req.Path)
			}
			if want.Outcome == "ok" && len(want.Choices) == 0 { // the case leaves the answer to its body
				whole := reread(t, string(read("body.txt")), req.Body.Stream)
				want.Choices, want.RawUsage = whole.Choices, whole.RawUsage
			}
			c := config(api, req.Body.Stream)
			o, attempt := replay(t, c, read("response.txt"))
			if want.Outcome == "http_error" {
				require.Equal(t, backends.Reason("http_"+strconv.Itoa(want.Status)), o.Reason)
				require.NotEmpty(t, attempt.Body)
				return
			}
			checkMeaning(t, o, &want, req.Body.TokensAsIDs)
			if want.Outcome == "ok" && len(want.Choices) > 1 {
				checkParts(t, c, wiretest.ContentType(read("response.txt")), read("body.txt"), want.Choices)
				return
			}
			direct := decode(t, c, wiretest.ContentType(read("response.txt")), read("body.txt"))
			checkMeaning(t, direct, &want, req.Body.TokensAsIDs)
			if want.FirstToken != nil {
				require.Equal(t, *want.FirstToken, firstTokenEvent(t, c, read("body.txt")))
			}
		})
	}
}

// checkMeaning compares an outcome with what the server meant.
func checkMeaning(t *testing.T, o *backends.Outcome, want *meant, idsInLogprobs bool) {
	t.Helper()
	if want.Outcome == "stream_error" {
		require.Equal(t, backends.FailServerErrorEvent, o.Reason)
		if len(want.Partial) == 1 {
			require.Equal(t, want.Partial[0].IDs, o.Tokens)
			require.Equal(t, *want.Partial[0].Text, string(o.Text))
		}
		return
	}
	if len(want.Choices) != 1 {
		require.Equal(t, backends.FailBadEvent, o.Reason, "a batch was not asked for")
		return
	}
	answer := want.Choices[0]
	if answer.Text != nil {
		require.Equal(t, *answer.Text, string(o.Text))
	}
	if answer.Finish != nil {
		require.Equal(t, *answer.Finish, o.FinishReason)
	}
	if !idsInLogprobs {
		require.Equal(t, answer.IDs, o.Tokens)
	}
	for key, got := range map[string]int{"prompt_tokens": o.InputTokens, "completion_tokens": o.UsageTokens} {
		if sent, ok := want.RawUsage[key].(float64); ok {
			require.Equal(t, int(sent), got, key)
		} else {
			require.Equal(t, -1, got, key)
		}
	}
	switch {
	case len(o.Tokens) > 0 && o.UsageTokens >= 0 && len(o.Tokens) != o.UsageTokens:
		require.Equal(t, backends.FailTokenCount, o.Reason)
	case o.Tokens == nil && o.UsageTokens < 0:
		require.Equal(t, backends.FailBadEvent, o.Reason, "the number of tokens is unknown, and never that of the events")
	default:
		require.Equal(t, backends.OK, o.Reason)
	}
}

// checkParts reads an answer to several prompts as one.
func checkParts(t *testing.T, c *backends.Config, kind string, body []byte, want []choice) {
	c.Batch = len(want)
	for _, length := range []int{1, 100, len(body)} {
		read := wiretest.ReadBatch(protocol(t, c).NewAnswer(), kind, body, length)
		require.Equal(t, backends.OK, read.Reason)
		require.Len(t, read.Parts, len(want))
		for i, p := range read.Parts {
			require.Equal(t, i, p.Index)
			require.Equal(t, *want[i].Text, p.Text)
			require.Equal(t, want[i].IDs, p.Tokens)
			require.Equal(t, *want[i].Finish, p.Finish)
			if c.Stream && want[i].IDs != nil {
				require.Equal(t, len(want[i].IDs), read.News[i])
			}
			require.Equal(t, c.Stream, read.News[i] > 0)
		}
	}
}

func protocol(t *testing.T, c *backends.Config) backends.Protocol {
	d, err := backends.Lookup("vllm")
	require.NoError(t, err)
	p, err := d.(*openai.Driver).Protocol(c)
	require.NoError(t, err)
	return p
}

// decode reads a body in pieces of random length, several times, always with the same result.
func decode(t *testing.T, c *backends.Config, kind string, body []byte) *backends.Outcome {
	t.Helper()
	p := protocol(t, c)
	answer := p.NewAnswer()
	var first *backends.Outcome
	for range 30 {
		answer.Begin(kind)
		for rest := body; len(rest) > 0; {
			piece := rest[:1+rand.IntN(min(len(rest), 100))]
			rest = rest[len(piece):]
			for n := 1; n > 0; {
				n, piece = answer.Feed(piece)
			}
		}
		var o backends.Outcome
		answer.Finish(&o, backends.OK)
		o.Tokens, o.Text = append([]int32(nil), o.Tokens...), bytes.Clone(o.Text)
		if first == nil {
			first = &o
		}
		require.Equal(t, *first, o)
	}
	return first
}

// firstTokenEvent counts data events up to the first one with a token.
func firstTokenEvent(t *testing.T, c *backends.Config, body []byte) int {
	p := protocol(t, c)
	answer := p.NewAnswer()
	answer.Begin("text/event-stream")
	at := -1
	for part := range bytes.SplitSeq(body, []byte("\n\n")) {
		if bytes.Contains(part, []byte("data:")) {
			at++
		}
		if n, _ := answer.Feed(append(part[:len(part):len(part)], "\n\n"...)); n > 0 {
			return at
		}
	}
	return -1
}

// TestGoldenWireReal replays what real servers sent; what they meant is read with encoding/json here.
func TestGoldenWireReal(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(wiretest.Golden(t, "wire-real"), "*.txt"))
	require.NoError(t, err)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			head, reply, ok := strings.Cut(string(data), "HTTP/1.1 ")
			require.True(t, ok)
			request := strings.Fields(head)
			api, ours := routes[request[2]]
			if !ours || request[1] != http.MethodPost {
				t.Skipf("%s %s is no completion", request[1], request[2])
			}
			header, body, _ := strings.Cut("HTTP/1.1 "+reply, "\r\n\r\n")
			status, err := strconv.Atoi(strings.Fields(header)[1])
			require.NoError(t, err)
			c := config(api, strings.Contains(head, `"stream":true`))
			sent := header + "\r\n\r\n" + body
			if strings.Contains(strings.ToLower(header), "transfer-encoding: chunked") {
				sent = header + "\r\n\r\n" + fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(body), body)
			}
			o, _ := replay(t, c, []byte(sent))
			if status != http.StatusOK {
				require.Equal(t, backends.Reason("http_"+strconv.Itoa(status)), o.Reason)
				return
			}
			want := reread(t, body, c.Stream)
			checkMeaning(t, o, want, false)
			if len(want.Choices) > 1 {
				checkParts(t, c, wiretest.ContentType([]byte(sent)), []byte(body), want.Choices)
			} else if len(want.Choices) == 1 {
				checkMeaning(t, decode(t, c, wiretest.ContentType([]byte(sent)), []byte(body)), want, false)
			}
		})
	}
}

// reread reads an answer in the plainest way.
func reread(t *testing.T, body string, stream bool) *meant {
	want := &meant{Outcome: "ok"}
	docs := []string{body}
	if stream {
		docs = nil
		for line := range strings.SplitSeq(body, "\n") {
			if doc, ok := strings.CutPrefix(line, "data: "); ok && doc != "[DONE]" && doc != "null" {
				docs = append(docs, doc)
			}
		}
	}
	for _, doc := range docs {
		var v struct {
			Choices []struct {
				choice
				Index   int
				Message struct{ Content *string }
				Delta   struct{ Content *string }
			}
			Usage map[string]any
		}
		require.NoError(t, json.Unmarshal([]byte(doc), &v))
		if v.Usage != nil {
			want.RawUsage = v.Usage
		}
		for _, part := range v.Choices {
			for len(want.Choices) <= part.Index {
				want.Choices = append(want.Choices, choice{Text: new(string)})
			}
			whole := &want.Choices[part.Index]
			for _, text := range []*string{part.Text, part.Message.Content, part.Delta.Content} {
				if text != nil {
					*whole.Text += *text
				}
			}
			whole.IDs = append(whole.IDs, part.IDs...)
			if part.Finish != nil {
				whole.Finish = part.Finish
			}
		}
	}
	return want
}

// replay is replayed through both clients, which have to come to the same outcome.
func replay(t *testing.T, c *backends.Config, response []byte) (*backends.Outcome, backends.Attempt) {
	t.Helper()
	o, attempt := replayOn(t, http1.Name, c, response)
	other, _ := replayOn(t, nethttp.Name, c, response)
	require.Equal(t, []any{o.Reason, o.Tokens, string(o.Text), o.NTokens, o.TokenSource, o.UsageTokens, o.InputTokens, o.FinishReason},
		[]any{other.Reason, other.Tokens, string(other.Text), other.NTokens, other.TokenSource, other.UsageTokens, other.InputTokens, other.FinishReason})
	return o, attempt
}

// replayOn sends one query to a server that answers with these bytes, and closes.
func replayOn(t *testing.T, name string, c *backends.Config, response []byte) (*backends.Outcome, backends.Attempt) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	served := make(chan struct{})
	go func() {
		defer close(served)
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		conn.Read(make([]byte, 4096))
		for rest := response; len(rest) > 0; {
			n := 1 + rand.IntN(len(rest))
			if _, err := conn.Write(rest[:n]); err != nil {
				return
			}
			rest = rest[n:]
		}
		conn.(*net.TCPConn).CloseWrite()
		conn.Read(make([]byte, 1))
	}()
	c.Endpoints = []backends.Endpoint{{URL: "http://" + l.Addr().String()}}
	b, err := client.Named(name, c, protocol(t, c))
	require.NoError(t, err)
	var k keeper
	require.NoError(t, b.Serve(context.Background(), &one{}, &k))
	l.Close()
	<-served
	require.Equal(t, 1, k.completions)
	return &k.outcome, k.attempt
}
