package calibrate

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/workload/eventlog"
)

// noOp starts a no-op server and returns its address.
func noOp(t *testing.T, split bool) string {
	t.Helper()
	s, err := NewNoOp(split)
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-ended)
	})
	return strings.TrimPrefix(s.URL, "http://")
}

// post is a request for tokens.
func post(tokens string) string {
	body := `{"prompt":[1],"max_tokens":` + tokens + `}`
	return "POST /v1/completions HTTP/1.1\r\nHost: a\r\nCONTENT-LENGTH: " + string(rune('0'+len(body)/10)) +
		string(rune('0'+len(body)%10)) + "\r\n\r\n" + body
}

func TestTheNoOpServerAnswers(t *testing.T) {
	for _, split := range []bool{false, true} {
		c, err := net.Dial("tcp", noOp(t, split))
		require.NoError(t, err)
		defer c.Close()
		in := bufio.NewReader(c)
		answer := func() string {
			r, err := http.ReadResponse(in, nil)
			require.NoError(t, err)
			require.Equal(t, http.StatusOK, r.StatusCode)
			text, err := io.ReadAll(r.Body)
			require.NoError(t, err)
			return string(text)
		}
		whole := post("3")
		for at := range len(whole) { // a request may arrive in two pieces, cut anywhere
			_, err = io.WriteString(c, whole[:at])
			require.NoError(t, err)
			if at%10 == 0 {
				time.Sleep(time.Millisecond)
			}
			_, err = io.WriteString(c, whole[at:])
			require.NoError(t, err)
			got := answer()
			require.Equal(t, 3, strings.Count(got, `"text":" no"`))
			require.Equal(t, 1, strings.Count(got, `"finish_reason":"length"`))
			require.Contains(t, got, `"completion_tokens":3`)
			require.True(t, strings.HasSuffix(got, "data: [DONE]\n\n"))
		}
		_, err = io.WriteString(c, post("1")+post("2")+"GET /v1/models HTTP/1.1\r\nHost: a\r\n\r\n")
		require.NoError(t, err)
		require.Equal(t, 1, strings.Count(answer(), `"text":" no"`))
		require.Equal(t, 2, strings.Count(answer(), `"text":" no"`))
		require.Contains(t, answer(), `"id":"no-op"`)
	}
}

func TestTheNoOpServerRejects(t *testing.T) {
	at := noOp(t, false)
	for _, text := range []string{
		"POST / HTTP/1.1\r\ncontent-length: x\r\n\r\n", "POST / HTTP/1.1\r\ncontent-length: -1\r\n\r\n",
		"POST / HTTP/1.1\r\ncontent-length: 99999999999\r\n\r\n", strings.Repeat("x", largest+100<<10),
	} {
		c, err := net.Dial("tcp", at)
		require.NoError(t, err)
		_, _ = io.WriteString(c, text) // the server may close before the end
		require.NoError(t, c.SetReadDeadline(time.Now().Add(time.Minute)))
		n, err := c.Read(make([]byte, 1))
		require.Zero(t, n)
		require.Error(t, err)
		require.NotErrorIs(t, err, context.DeadlineExceeded)
		require.NoError(t, c.Close())
	}
	require.Equal(t, 1, tokensAsked([]byte(`{}`)))
	require.Equal(t, mostTokens, tokensAsked([]byte(`"max_tokens":99999999999999999999999`)))
}

// answered is a loop's request with two tokens, and the server's times of writing.
func answered(number string, sent int64) (eventlog.Request, served) {
	s := served{ID: strings.Repeat("a", loopDigits) + strings.Repeat("0", idDigits-loopDigits-1) + number,
		ArrivalNS: sent + 10}
	s.Writes = []struct {
		AtNS   int64 `json:"at_ns"`
		Tokens int   `json:"tokens"`
	}{{sent + 110, 1}, {sent + 210, 1}}
	return eventlog.Request{SentNS: sent, Events: []eventlog.Event{{AtNS: sent + 115, Tokens: 1},
		{AtNS: sent + 225, Tokens: 1}}}, s
}

func TestCompare(t *testing.T) {
	a, atServer := answered("1", 1000)
	b, bAtServer := answered("2", 2000)
	_, preflight := answered("1", 10)
	preflight.ID = "b" + preflight.ID[1:]
	got, err := compare([]eventlog.Request{b, a}, []served{bAtServer, preflight, atServer})
	require.NoError(t, err)
	require.EqualValues(t, 4, got.Event.Count)
	require.InDelta(t, 10e-9, got.Event.Mean, 1e-15, "5 and 15 ns")
	require.InDelta(t, 15e-9, got.TTFT.Mean, 1e-15, "115 ns at the client, 100 ns at the server")
	require.InDelta(t, 10e-9, got.ITL.P99, 1e-15, "110 ns and 100 ns")

	_, err = compare([]eventlog.Request{a}, []served{atServer, bAtServer})
	require.ErrorContains(t, err, "the client sent 1 requests and the simulator streamed 2 answers")
	_, err = compare([]eventlog.Request{a, b}, []served{bAtServer, atServer}[:1])
	require.Error(t, err)
	early := a
	early.Events = []eventlog.Event{{AtNS: 1100, Tokens: 1}, {AtNS: 1300, Tokens: 1}}
	_, err = compare([]eventlog.Request{early, b}, []served{bAtServer, atServer})
	require.ErrorContains(t, err, "stamp of token 0 is 10 ns before its write")
	short := a
	short.Events = short.Events[:1]
	_, err = compare([]eventlog.Request{short, b}, []served{bAtServer, atServer})
	require.ErrorContains(t, err, "saw 1 tokens and the simulator wrote 2")
}
