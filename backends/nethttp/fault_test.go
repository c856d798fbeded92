package nethttp_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
)

// silence answers with some bytes, then says nothing more until the client gives up.
func silence(text string) func(net.Conn, int, int) bool {
	return func(c net.Conn, _, _ int) bool {
		c.Write([]byte(text))
		c.Read(make([]byte, 1))
		return false
	}
}

// resets answers with some bytes and then resets the connection.
func resets(text string) func(net.Conn, int, int) bool {
	return func(c net.Conn, _, _ int) bool {
		c.Write([]byte(text))
		time.Sleep(20 * time.Millisecond) // the bytes have to arrive before the reset
		c.(*net.TCPConn).SetLinger(0)
		return false
	}
}

const good = `{"choices":[{"index":0,"text":"w","finish_reason":"stop","token_ids":[5,6]}],"usage":{"prompt_tokens":1,"completion_tokens":2}}`

func TestFailureCodes(t *testing.T) {
	short := func(c *backends.Config) {
		c.FirstTokenTimeout, c.TokenTimeout, c.RequestTimeout = 150*time.Millisecond, 100*time.Millisecond, 3*time.Second
	}
	request := func(c *backends.Config) { c.RequestTimeout = 150 * time.Millisecond }
	offline := func(c *backends.Config) { c.Stream = false }
	two := chunks(event("5", "null"), event("6", "null"))
	for _, c := range []struct {
		name   string
		script func(net.Conn, int, int) bool
		set    func(*backends.Config)
		want   backends.Reason
		text   string // part of the sentence
		body   string // part of the kept answer
	}{
		{"silence before the header", silence(""), short, "timeout_first_token", "--first-token-timeout", ""},
		{"silence behind the header", silence(streamHead), short, "timeout_first_token", "", ""},
		{"comments are no tokens", silence(streamHead + chunks(": keep-alive\n\n", usage(0))), short, "timeout_first_token", "", "keep-alive"},
		{"silence in the stream", silence(streamHead + two), short, "timeout_between_tokens", "--token-timeout", `"token_ids":[5]`},
		{"comments keep no stream alive", drip(streamHead+two, chunks(": ping\n\n")), short, "timeout_between_tokens", "", ""},
		{"tokens for ever", drip(streamHead, chunks(event("5", "null"))), request, "timeout_request", "--request-timeout", ""},
		{"silence, not streamed", silence(""), func(c *backends.Config) { offline(c); request(c) }, "timeout_request", "", ""},
		{"500", answers(whole(500, "application/json", `{"error":{"message":"boom"}}`)), nil, "http_500", "HTTP 500: {\"error\":{\"message\":\"boom\"}}", "boom"},
		{"404", answers(whole(404, "application/json", `{"detail":"Not Found"}`)), nil, "http_404", "", "Not Found"},
		{"redirect", answers("HTTP/1.1 302 Found\r\nLocation: http://elsewhere/\r\nContent-Length: 0\r\n\r\n"), nil, "http_302", `to "http://elsewhere/", which is not followed`, ""},
		{"reset before the header", resets(""), nil, "reset", "", ""},
		{"closed before the header", closes(""), nil, "reset", "", ""},
		{"reset in the stream", resets(streamHead + two), nil, "reset", "", `"token_ids":[6]`},
		{"closed in the stream", closes(streamHead + two), nil, "truncated", "", ""},
		{"closed in a body", closes("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 900\r\n\r\n" + good), offline, "truncated", "", ""},
		{"ended without finish_reason", answers(streamHead + chunked(event("5", "null"))), nil, "truncated", "without a finish_reason", ""},
		{"[DONE] alone proves nothing", answers(streamHead + chunked(event("5", "null"), done)), nil, "truncated", "", ""},
		{"ended inside an event", answers(streamHead + chunked(event("5", "null"), `data: {"choi`)), nil, "truncated", "inside an event", ""},
		{"bad chunk", closes(streamHead + two + "zz\r\nx\r\n"), nil, "bad_chunk", "", ""},
		{"no HTTP", closes("SSH-2.0-OpenSSH_9.2\r\n\r\n"), nil, "bad_chunk", "", ""},
		{"bad JSON in the stream", answers(streamHead + chunked("data: {oops\n\n")), nil, "bad_json", "{oops", ""},
		{"HTML", answers(whole(200, "text/html", "<html>front page</html>")), nil, "bad_json", "front page", "<html>"},
		{"HTML, not streamed", answers(whole(200, "text/html", "<html>")), offline, "bad_json", "", ""},
		{"gzip unasked", answers(strings.Replace(whole(200, "application/json", "\x1f\x8b"), "\r\n", "\r\nContent-Encoding: gzip\r\n", 1)), offline, "bad_json", `Content-Encoding "gzip"`, ""},
		{"an event of another shape", answers(streamHead + chunked(`data: {"choices":[{"token_ids":"x"}]}`+"\n\n")), nil, "bad_event", "", ""},
		{"a choice that was not asked for", answers(streamHead + chunked(`data: {"choices":[{"index":1,"token_ids":[5]}]}`+"\n\n")), nil, "bad_event", "index 1", ""},
		{"an id beyond the vocabulary", answers(streamHead + chunked(event("99", "null"))), func(c *backends.Config) { c.Vocabulary = 99 }, "bad_event", "token id 99", ""},
		{"a negative id", answers(streamHead + chunked(event("-4", "null"))), nil, "bad_event", "negative", ""},
		{"no ids", answers(streamHead + chunked(`data: {"choices":[{"index":0,"text":"w","finish_reason":"stop"}]}`+"\n\n", usage(1))), nil, "bad_event", "return_token_ids, which vLLM >= 0.10.2", ""},
		{"no ids and no usage", answers(streamHead + chunked(`data: {"choices":[{"index":0,"text":"w","finish_reason":"stop"}]}`+"\n\n")), func(c *backends.Config) { c.NeedIDs = false }, "bad_event", "unknown", ""},
		{"error event, then [DONE]", answers(streamHead + chunked(event("5", "null"), `data: {"error":{"message":"engine died","code":500}}`+"\n\n", done)), nil, "server_error_event", "engine died", ""},
		{"error in a body", answers(whole(200, "application/json", `{"error":"out of memory"}`)), offline, "server_error_event", "out of memory", ""},
		{"abort", answers(streamHead + chunked(event("5", `"abort"`), done)), nil, "aborted", `"abort"`, ""},
		{"no token", answers(streamHead + chunked(event("", `"stop"`), usage(0), done)), nil, "empty", "", ""},
		{"no body", answers(whole(200, "application/json", "")), offline, "empty", "", ""},
		{"too short", answers(streamHead + chunked(event("5", `"stop"`), done)), func(c *backends.Config) { c.MinTokens = 2 }, "too_short", "at least 2", ""},
		{"too large", answers(streamHead + chunked(strings.Repeat(": comment\n", 200), event("5", `"stop"`))), func(c *backends.Config) { c.MaxAnswerBytes = 1000 }, "too_large", "1000 bytes", ""},
		{"too large, not streamed", answers(whole(200, "application/json", strings.Repeat(" ", 1200)+good)), func(c *backends.Config) { offline(c); c.MaxAnswerBytes = 1000 }, "too_large", "", ""},
		{"ids and usage differ", answers(streamHead + chunked(event("5,6", `"stop"`), usage(3), done)), nil, "token_count_mismatch", "2 token ids and usage.completion_tokens says 3", ""},
		{"not streamed although asked", answers(whole(200, "application/json", good)), nil, "no_first_token", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			config := config(raw(t, c.script))
			if c.set != nil {
				c.set(config)
			}
			r := ask(t, config, 1)
			require.Equal(t, c.want, r.results[1].Reason)
			require.Len(t, r.failed, 1)
			a := r.failed[0]
			require.Equal(t, c.want, a.Reason)
			require.False(t, a.Retried)
			require.Contains(t, a.Detail, "POST http://127.0.0.1:")
			require.Contains(t, a.Detail, c.text)
			require.Contains(t, string(a.Body), c.body)
		})
	}
}

// drip sends a beginning, then the same bytes for ever.
func drip(begin, again string) func(net.Conn, int, int) bool {
	return func(c net.Conn, _, _ int) bool {
		_, err := c.Write([]byte(begin))
		for err == nil {
			time.Sleep(10 * time.Millisecond)
			_, err = c.Write([]byte(again))
		}
		return false
	}
}

func TestGoodAnswers(t *testing.T) {
	for name, script := range map[string]func(net.Conn, int, int) bool{
		"whole":                             answers(streamHead + chunked(event("5", "null"), event("6", `"stop"`), usage(2), done)),
		"two [DONE]":                        answers(streamHead + chunked(event("5", "null"), event("6", `"stop"`), done, done)),
		"no [DONE]":                         answers(streamHead + chunked(event("5", "null"), event("6", `"stop"`))),
		"nothing after [DONE], not its end": silence(streamHead + chunks(event("5", "null"), event("6", `"stop"`), done)),
		"cut after [DONE]":                  closes(streamHead + chunks(event("5", "null"), event("6", `"stop"`), done)),
		"until the connection ends":         closes("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + event("5,6", `"length"`)),
		"CRLF and comments":                 answers(streamHead + chunked(": hi\r\n\r\n", strings.ReplaceAll(event("5,6", `"stop"`), "\n", "\r\n"))),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := ask(t, config(raw(t, script)), 1)
			require.Empty(t, r.failed)
			o := r.results[1]
			require.Equal(t, backends.OK, o.Reason)
			require.Equal(t, []int32{5, 6}, o.Tokens)
			require.Equal(t, 1, o.firstCalls)
			require.Equal(t, int32(5), o.first[0])
			times := []int64{1, o.DequeuedNS, o.SentNS, o.FirstByteNS, o.FirstTokenNS, o.LastTokenNS}
			require.IsNonDecreasing(t, times)
		})
	}
}

func TestRefusedConnection(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	l.Close()
	c := config("http://" + l.Addr().String())
	c.Retries = 2
	r := ask(t, c, 1)
	require.Equal(t, backends.FailConnect, r.results[1].Reason)
	require.Equal(t, 2, r.results[1].Retries)
	require.Len(t, r.failed, 3)
	require.Equal(t, []bool{true, true, false}, []bool{r.failed[0].Retried, r.failed[1].Retried, r.failed[2].Retried})
}

func TestTLS(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Write([]byte(good))
	})
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = nil
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	c := config(s.URL)
	c.Stream = false
	r := ask(t, c, 1)
	require.Equal(t, backends.FailTLS, r.results[1].Reason, r.failed)
	c.InsecureSkipVerify = true
	require.Equal(t, backends.OK, ask(t, c, 5).results[5].Reason)

	plain := httptest.NewServer(h)
	defer plain.Close()
	c = config(strings.Replace(plain.URL, "http:", "https:", 1))
	require.Equal(t, backends.FailTLS, ask(t, c, 1).results[1].Reason, "a server without TLS")
	c = config(raw(t, closes("")))
	c.Endpoints[0].URL = strings.Replace(c.Endpoints[0].URL, "http:", "https:", 1)
	require.Contains(t, []backends.Reason{backends.FailTLS, backends.FailReset}, ask(t, c, 1).results[1].Reason)
}

func TestTheKeyIsInNoText(t *testing.T) {
	const key = "sk-very-secret"
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		w.Write([]byte("who is " + r.Header.Get("Authorization") + "?"))
	}))
	defer s.Close()
	c := config(s.URL)
	c.Endpoints[0].APIKey = key
	a := ask(t, c, 1).failed[0]
	require.Equal(t, backends.Reason("http_401"), a.Reason)
	require.Equal(t, "who is Bearer [key]?", string(a.Body))
	require.NotContains(t, a.Detail, key)
}
