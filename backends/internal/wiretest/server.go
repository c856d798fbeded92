package wiretest

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Script answers one request on c. conn is the number of the connection and request that of the request on it, both
// from
// 0. It returns false to close the connection.
type Script func(c net.Conn, conn, request int) bool

// Raw starts a server that answers each request by script, and returns its URL.
func Raw(t testing.TB, script Script) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	return RawOn(t, l, script)
}

// RawOn is Raw on a given listener.
func RawOn(t testing.TB, l net.Listener, script Script) string {
	serve(t, l, func(c net.Conn, number int) {
		for request := 0; readRequest(c) && script(c, number, request); request++ {
		}
	})
	return "http://" + l.Addr().String()
}

// serve calls handle for each connection, with its number from 0. It closes the connection when handle returns, and all
// of them when the test ends.
func serve(t testing.TB, l net.Listener, handle func(c net.Conn, number int)) {
	var all sync.WaitGroup
	ctx, stop := context.WithCancel(context.Background())
	all.Go(func() {
		for number := 0; ; number++ {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer c.Close()
				defer context.AfterFunc(ctx, func() { c.Close() })()
				handle(c, number)
				linger(c)
			})
		}
	})
	t.Cleanup(func() { stop(); l.Close(); all.Wait() })
}

// linger reads the rest of what a client sends after a handshake that failed, as servers do: closing a socket with
// unread bytes resets the connection, and the client might not see the alert.
func linger(c net.Conn) {
	secured, ok := c.(*tls.Conn)
	if !ok || secured.ConnectionState().HandshakeComplete {
		return
	}
	if below, ok := secured.NetConn().(*net.TCPConn); ok && below.CloseWrite() == nil {
		_, _ = io.Copy(io.Discard, below)
	}
}

// readRequest reads one request with its body.
func readRequest(c net.Conn) bool {
	var head []byte
	one := make([]byte, 1)
	for !bytes.HasSuffix(head, []byte("\r\n\r\n")) {
		if n, err := c.Read(one); n == 0 || err != nil {
			return false
		}
		head = append(head, one...)
	}
	length := 0
	for line := range strings.SplitSeq(string(head), "\r\n") {
		if value, ok := strings.CutPrefix(strings.ToLower(line), "content-length: "); ok {
			fmt.Sscan(value, &length)
		}
	}
	_, err := io.CopyN(io.Discard, c, int64(length))
	return err == nil
}

// Pieces of answers.
const (
	StreamHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n"
	Done       = "data: [DONE]\n\n"
	Good       = `{"choices":[{"index":0,"text":"w","finish_reason":"stop","token_ids":[5,6]}],` +
		`"usage":{"prompt_tokens":1,"completion_tokens":2}}`
)

// Streamed is a good answer of two tokens.
var Streamed = StreamHead + Chunked(Event("5", "null"), Event("6", `"stop"`), Usage(2), Done)

// Event returns one event of a stream.
func Event(ids, finish string) string {
	return fmt.Sprintf(`data: {"id":"c","object":"text_completion","choices":[{"index":0,"text":"w",`+
		`"finish_reason":%s,"token_ids":[%s]}]}`+"\n\n", finish, ids)
}

// Usage returns the event with the counts.
func Usage(n int) string {
	return fmt.Sprintf(`data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":%d}}`+"\n\n", n)
}

// Chunked returns a body with one chunk for each part.
func Chunked(parts ...string) string { return Chunks(parts...) + "0\r\n\r\n" }

// Chunks returns one chunk for each part, without the end of the body.
func Chunks(parts ...string) string {
	var b strings.Builder
	for _, p := range parts {
		fmt.Fprintf(&b, "%x\r\n%s\r\n", len(p), p)
	}
	return b.String()
}

// Whole returns an answer with a Content-Length.
func Whole(status int, contentType, body string) string {
	return fmt.Sprintf("HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s", status,
		http.StatusText(status), contentType, len(body), body)
}

// Answers sends the same bytes to each request.
func Answers(text string) Script {
	return func(c net.Conn, _, _ int) bool {
		_, err := c.Write([]byte(text))
		return err == nil
	}
}

// Closes sends the bytes and closes the connection.
func Closes(text string) Script {
	return func(c net.Conn, _, _ int) bool {
		c.Write([]byte(text))
		return false
	}
}

// Silence sends the bytes, and then nothing until the client closes the connection.
func Silence(text string) Script {
	return func(c net.Conn, _, _ int) bool {
		c.Write([]byte(text))
		c.Read(make([]byte, 1))
		return false
	}
}

// HalfCloses sends the bytes and closes the sending direction only.
func HalfCloses(text string) Script {
	return func(c net.Conn, _, _ int) bool {
		c.Write([]byte(text))
		c.(interface{ CloseWrite() error }).CloseWrite()
		c.Read(make([]byte, 1))
		return false
	}
}

// Resets sends the bytes and resets the connection.
func Resets(text string) Script {
	return func(c net.Conn, _, _ int) bool {
		c.Write([]byte(text))
		time.Sleep(20 * time.Millisecond) // the bytes have to arrive before the reset
		Reset(c)
		return false
	}
}

// Drip sends begin, and then again until the client closes the connection.
func Drip(begin, again string) Script {
	return func(c net.Conn, _, _ int) bool {
		_, err := c.Write([]byte(begin))
		for err == nil {
			time.Sleep(10 * time.Millisecond)
			_, err = c.Write([]byte(again))
		}
		return false
	}
}
