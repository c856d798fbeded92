package judge

import (
	"bufio"
	"context"
	"crypto/sha1"
	"encoding/base64"
	"encoding/json"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/accuracy"
)

// websocketGUID is the constant that a server hashes with the client's key in its handshake (RFC 6455 §1.3).
const websocketGUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

// serviceOf starts a server that completes the handshake, reads one request and calls do with it. It encodes frames
// without the client's WebSocket library, so that the tests do not depend on that library.
func serviceOf(t *testing.T, do func(conn net.Conn, request []byte)) *Service {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer conn.Close()
				r := bufio.NewReader(conn)
				request, err := http.ReadRequest(r)
				if err != nil {
					return
				}
				proof := sha1.Sum([]byte(request.Header.Get("Sec-WebSocket-Key") + websocketGUID))
				_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: "+
					"Upgrade\r\nSec-WebSocket-Accept: "+base64.StdEncoding.EncodeToString(proof[:])+"\r\n\r\n")
				do(conn, clientFrame(r))
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		wg.Wait()
	})
	s, err := NewService("ws://" + listener.Addr().String() + "/evaluate")
	require.NoError(t, err)
	return s
}

// clientFrame reads one masked frame.
func clientFrame(r io.Reader) []byte {
	head := make([]byte, 2)
	_, _ = io.ReadFull(r, head)
	size := int(head[1] & 0x7f)
	if size == 126 {
		_, _ = io.ReadFull(r, head)
		size = int(head[0])<<8 | int(head[1])
	}
	data := make([]byte, 4+size)
	_, _ = io.ReadFull(r, data)
	for i := range data[4:] {
		data[4+i] ^= data[i%4]
	}
	return data[4:]
}

// framed writes a server's frame of at most 125 bytes.
func framed(head byte, text string) []byte { return append([]byte{head, byte(len(text))}, text...) }

var asked = accuracy.CodeTask{Benchmark: accuracy.LiveCodeBench, Question: "q1", Code: "print(1)"}

func TestService(t *testing.T) {
	s := serviceOf(t, func(conn net.Conn, request []byte) {
		var told struct {
			Codes   map[string][]string `json:"codes_dict"`
			Seconds int                 `json:"timeout_sec"`
		}
		good := json.Unmarshal(request, &told) == nil && told.Seconds == 60 && len(told.Codes["q1"]) == 1 &&
			told.Codes["q1"][0] == "print(1)"
		_, _ = conn.Write(framed(0x81, `{"status": "progress", "completed_samples": 0}`))
		_, _ = conn.Write(framed(0x89, "are you there?"))
		pong := clientFrame(conn)
		_, _ = conn.Write(framed(0x01, `{"status": "completed", "result": {"total_samples": 1, `))
		_, _ = conn.Write(framed(0x8a, ""))
		text := `"results": {"q1": [false]}}}`
		if good && string(pong) == "are you there?" {
			text = `"results": {"q1": [true]}}}`
		}
		_, _ = conn.Write(framed(0x80, text))
	})
	for range 3 {
		passed, err := s.JudgeCode(t.Context(), asked)
		require.NoError(t, err)
		require.True(t, passed)
	}
	_, err := s.JudgeCode(t.Context(), accuracy.CodeTask{Benchmark: accuracy.MBXP})
	var u *accuracy.Unjudged
	require.ErrorAs(t, err, &u)
}

func TestServiceFailures(t *testing.T) {
	for name, c := range map[string]struct {
		frames []byte
		want   string
	}{
		"error":       {framed(0x81, `{"status": "error", "error": "no tests"}`), "reported an error: no tests"},
		"status":      {framed(0x81, `{"status": "lost"}`), `unknown status "lost"`},
		"not JSON":    {framed(0x81, "yes"), "not JSON of the expected form"},
		"other shape": {framed(0x81, `{"status": 5}`), "not JSON of the expected form"},
		"other question": {framed(0x81, `{"status": "completed", "result": {"results": {"q2": [true]}}}`),
			"0 results for one program"},
		"two results": {framed(0x81, `{"status": "completed", "result": {"results": {"q1": [true, true]}}}`),
			"2 results for one program"},
		"close":                   {framed(0x88, ""), "closed the connection before its result"},
		"end of the connection":   {nil, "EOF"},
		"frames out of order":     {framed(0x80, "x"), "continuation"},
		"reserved bits":           {framed(0xc1, "x"), "rsv bits"},
		"unknown kind of frame":   {framed(0x83, "x"), "unknown opcode"},
		"long control frame":      {[]byte{0x89, 126, 1, 0}, "invalid length"},
		"message above the limit": {longMessage, "more than 16777216 bytes"},
		"impossible length":       {[]byte{0x81, 127, 0xff, 0, 0, 0, 0, 0, 0, 0}, "negative payload length"},
	} {
		t.Run(name, func(t *testing.T) {
			s := serviceOf(t, func(conn net.Conn, _ []byte) { _, _ = conn.Write(c.frames) })
			_, err := s.JudgeCode(t.Context(), asked)
			require.ErrorContains(t, err, c.want)
			require.ErrorContains(t, err, "question q1")
		})
	}
}

// longMessage is a text message of more bytes than the client accepts.
var longMessage = append([]byte{0x81, 127, 0, 0, 0, 0, 1, 0, 0, 1}, make([]byte, largestAnswer+1)...)

func TestContextEndsTheWaitForASilentService(t *testing.T) {
	s := serviceOf(t, func(conn net.Conn, _ []byte) { _, _ = io.Copy(io.Discard, conn) })
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err := s.JudgeCode(ctx, asked)
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestServiceAddress(t *testing.T) {
	for _, address := range []string{"", "http://host", "ws:///x", "://"} {
		_, err := NewService(address)
		require.ErrorContains(t, err, "expected ws://host:port/path")
	}
}

// TestHandshakeFollowsTheRulesOfHTTPClients checks the rules of package httpclient for the handshake: it accepts
// neither an unknown certificate, nor a redirect, nor an answer other than 101.
func TestHandshakeFollowsTheRulesOfHTTPClients(t *testing.T) {
	ask := func(server *httptest.Server) error {
		t.Cleanup(server.Close)
		s, err := NewService("ws" + strings.TrimPrefix(server.URL, "http"))
		require.NoError(t, err)
		t.Cleanup(s.client.CloseIdleConnections)
		_, err = s.JudgeCode(t.Context(), asked)
		return err
	}
	redirect := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/elsewhere", http.StatusFound)
	})
	require.ErrorContains(t, ask(httptest.NewServer(redirect)), "status code 101 but got 302")
	require.ErrorContains(t, ask(httptest.NewServer(http.NotFoundHandler())), "status code 101 but got 404")
	secure := httptest.NewUnstartedServer(redirect)
	secure.Config.ErrorLog = log.New(io.Discard, "", 0) // the server would print the failed handshake
	secure.StartTLS()
	require.ErrorContains(t, ask(secure), "certificate signed by unknown authority")
}
