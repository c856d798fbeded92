package judge

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/base64"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/accuracy"
)

// serviceOf is a server that shakes hands, reads one request and does what it is told with it.
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
				proof := sha1.Sum([]byte(request.Header.Get("Sec-WebSocket-Key") + socketGUID))
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

func TestServiceThatFails(t *testing.T) {
	for name, c := range map[string]struct {
		frames []byte
		want   string
	}{
		"error":   {framed(0x81, `{"status": "error", "error": "no tests"}`), "it says: no tests"},
		"status":  {framed(0x81, `{"status": "lost"}`), `its status is "lost"`},
		"no JSON": {framed(0x81, "yes"), "no JSON of the expected form"},
		"other question": {framed(0x81, `{"status": "completed", "result": {"results": {"q2": [true]}}}`),
			"0 results for one program"},
		"close":           {framed(0x88, ""), "closed the WebSocket"},
		"end":             {nil, "EOF"},
		"masked":          {[]byte{0x81, 0x80, 0, 0, 0, 0}, "breaks the protocol"},
		"order":           {framed(0x80, "x"), "in no order"},
		"kind":            {framed(0x83, "x"), "unknown kind 3"},
		"long control":    {[]byte{0x89, 126, 1, 0}, "too long"},
		"too long by far": {[]byte{0x81, 127, 0x7f, 0, 0, 0, 0, 0, 0, 0}, "more than 16777216 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			s := serviceOf(t, func(conn net.Conn, _ []byte) { _, _ = conn.Write(c.frames) })
			_, err := s.JudgeCode(t.Context(), asked)
			require.ErrorContains(t, err, c.want)
			require.ErrorContains(t, err, "question q1")
		})
	}
	s := serviceOf(t, func(conn net.Conn, _ []byte) { _, _ = io.Copy(io.Discard, conn) })
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err := s.JudgeCode(ctx, asked)
	require.Error(t, err, "a service that says nothing is left when the program ends")
	for _, address := range []string{"", "http://host", "ws:///x", "://"} {
		_, err := NewService(address)
		require.ErrorContains(t, err, "is none of the form")
	}
}

func FuzzSocket(f *testing.F) {
	f.Add(append(framed(0x01, "a"), framed(0x80, "b")...))
	f.Add(framed(0x89, "ping"))
	f.Fuzz(func(t *testing.T, frames []byte) {
		here, there := net.Pipe()
		var wg sync.WaitGroup
		wg.Go(func() { _, _ = io.Copy(io.Discard, there) })
		c := &socket{conn: here, r: bufio.NewReader(bytes.NewReader(frames)), stop: func() bool { return true }}
		message, err := c.receive()
		if err == nil {
			require.LessOrEqual(t, len(message), len(frames))
		}
		c.close()
		_ = there.Close()
		wg.Wait()
	})
}
