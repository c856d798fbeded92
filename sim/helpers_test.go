package sim

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// served is a server on a real socket for one test.
type served struct {
	*Server
	t      testing.TB
	addr   string
	client *http.Client
	stop   func() error // ends Serve and returns its error; may be called twice
}

func fastConfig() Config {
	c := DefaultConfig()
	c.Model, c.Answers = "toy", AnswerRandom
	c.TTFT, c.TPOT, c.OutputTokens = 0, 0, 8
	c.IdleTimeout = time.Minute // a busy client may be late with its next request
	return c
}

func serve(t testing.TB, change func(*Config)) *served {
	t.Helper()
	cfg := fastConfig()
	if change != nil {
		change(&cfg)
	}
	s, err := New(cfg)
	require.NoError(t, err)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	var serveErr error
	go func() {
		defer close(ended)
		serveErr = s.Serve(ctx, ln)
	}()
	tr := &http.Transport{MaxIdleConnsPerHost: 10000, DisableKeepAlives: s.dialect.closes}
	v := &served{Server: s, t: t, addr: ln.Addr().String(), client: &http.Client{Transport: tr, Timeout: time.Minute,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	v.stop = func() error {
		cancel()
		<-ended
		return serveErr
	}
	t.Cleanup(func() {
		tr.CloseIdleConnections()
		_ = v.stop()
	})
	return v
}

func (v *served) url(path string) string { return "http://" + v.addr + path }

// post sends a JSON body and returns the whole answer.
func (v *served) post(path, body string, headers ...string) (int, http.Header, string, error) {
	req, err := http.NewRequest(http.MethodPost, v.url(path), strings.NewReader(body))
	require.NoError(v.t, err)
	req.Header.Set("Content-Type", "application/json")
	for _, h := range headers {
		k, val, _ := strings.Cut(h, ": ")
		req.Header.Set(k, val)
	}
	resp, err := v.client.Do(req)
	if err != nil {
		return 0, nil, "", err
	}
	b, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	return resp.StatusCode, resp.Header, string(b), err
}

func (v *served) mustPost(path, body string, headers ...string) string {
	v.t.Helper()
	status, _, b, err := v.post(path, body, headers...)
	require.NoError(v.t, err)
	require.Equal(v.t, 200, status, b)
	return b
}

func (v *served) get(path string) (int, string) {
	resp, err := v.client.Get(v.url(path))
	require.NoError(v.t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	require.NoError(v.t, err)
	return resp.StatusCode, string(b)
}

// choice, usage and message are the parts of answers and events that the tests read.
type choice struct {
	Index          int     `json:"index"`
	Text           string  `json:"text"`
	FinishReason   *string `json:"finish_reason"`
	StopReason     any     `json:"stop_reason"`
	TokenIDs       []int32 `json:"token_ids"`
	PromptTokenIDs []int32 `json:"prompt_token_ids"`
	Delta          struct {
		Role    string  `json:"role"`
		Content *string `json:"content"`
	} `json:"delta"`
	Message struct {
		Content string `json:"content"`
	} `json:"message"`
}

type usage struct {
	Prompt     int `json:"prompt_tokens"`
	Total      int `json:"total_tokens"`
	Completion int `json:"completion_tokens"`
}

type message200 struct {
	ID      string   `json:"id"`
	Choices []choice `json:"choices"`
	Usage   *usage   `json:"usage"`
	Error   *struct {
		Code int `json:"code"`
	} `json:"error"`
}

func decode(t testing.TB, s string) message200 {
	t.Helper()
	var m message200
	require.NoError(t, json.Unmarshal([]byte(s), &m), s)
	return m
}

// events splits a stream into the payloads of its data lines.
func events(t testing.TB, body string) []string {
	t.Helper()
	var out []string
	for _, e := range strings.Split(strings.TrimSuffix(body, "\n\n"), "\n\n") {
		p, ok := strings.CutPrefix(e, "data: ")
		require.True(t, ok, "event %q", e)
		out = append(out, p)
	}
	return out
}

// joined returns the ids and the text of a stream's choice with an index, and its finish_reason.
func joined(t testing.TB, body string, index int) (ids []int32, text, finish string) {
	t.Helper()
	for _, e := range events(t, body) {
		if e == "[DONE]" {
			continue
		}
		for _, c := range decode(t, e).Choices {
			if c.Index != index {
				continue
			}
			ids, text = append(ids, c.TokenIDs...), text+c.Text
			if c.FinishReason != nil {
				finish = *c.FinishReason
			}
		}
	}
	return ids, text, finish
}

// dial opens a raw connection and sends one completion request.
func (v *served) dial(body string) (net.Conn, *bufio.Reader) {
	v.t.Helper()
	c, err := net.Dial("tcp", v.addr)
	require.NoError(v.t, err)
	v.t.Cleanup(func() { _ = c.Close() })
	require.NoError(v.t, c.SetDeadline(time.Now().Add(2*time.Minute)))
	_, err = io.WriteString(c, rawRequest("/v1/completions", body))
	require.NoError(v.t, err)
	return c, bufio.NewReader(c)
}

func rawRequest(path, body string) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: sim\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		path, len(body), body)
}
