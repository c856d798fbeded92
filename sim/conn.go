package sim

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mlperf-go/mlperf-go/internal/crash"
)

const (
	maxHead = 256 << 10 // bytes of a request's head
	// for one whole request, generous for busy machines; real servers have no such limit
	readTimeout = 10 * time.Minute
)

// conn is one client connection. Its goroutine reads requests. The owner of the reply writes: the goroutine before
// submit, the engine thread after it.
type conn struct {
	srv   *Server
	nc    net.Conn
	limit io.LimitedReader // under in: bounds a request's head
	in    *bufio.Reader
	inbox inbox // under limit

	answered int64 // end of the last answer, on the pacer's clock; set before the reply is done

	mu      sync.Mutex
	raw     syscall.RawConn // nil: not a socket; every write goes through the flusher
	pending []byte          // bytes that the socket did not accept yet
	flusher bool            // a goroutine writes pending
	dead    bool
	closing bool // close when pending is written
	flushes sync.WaitGroup

	// Arguments and results of try, a closure made once so that a write allocates nothing.
	try  func(fd uintptr) bool
	data []byte
	n    int
	err  error
}

func newConn(s *Server, nc net.Conn) *conn {
	c := &conn{srv: s, nc: nc}
	c.in = bufio.NewReader(&c.limit)
	if sc, ok := nc.(syscall.Conn); ok {
		c.raw, _ = sc.SyscallConn()
	}
	c.inbox.open(nc, c.raw, s.engine.pace)
	c.limit.R = &c.inbox
	c.try = func(fd uintptr) bool {
		for {
			if c.n, c.err = unix.Write(int(fd), c.data); !errors.Is(c.err, unix.EINTR) {
				return true
			}
		}
	}
	return c
}

// write sends as much of b as the socket accepts at once and leaves the rest to a flusher: the engine thread never
// waits for a slow client. It keeps no reference to b. It closes a failed connection, which the reader notices.
func (c *conn) write(b []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead || len(b) == 0 {
		return
	}
	if !c.flusher && c.raw != nil {
		c.data, c.n, c.err = b, 0, nil
		err := c.raw.Write(c.try)
		c.data = nil
		switch {
		case err != nil, c.err != nil && !errors.Is(c.err, unix.EAGAIN):
			c.kill()
			return
		case c.err == nil:
			b = b[c.n:]
		}
	}
	if len(b) == 0 {
		return
	}
	c.pending = append(c.pending, b...)
	if !c.flusher {
		c.flusher = true
		c.flushes.Go(c.flush)
	}
}

// flush writes the pending bytes and returns when none are left.
func (c *conn) flush() {
	defer crash.Catch()
	for {
		c.mu.Lock()
		b := c.pending
		c.pending = nil
		if len(b) == 0 || c.dead {
			c.flusher = false
			if c.closing {
				c.kill()
			}
			c.mu.Unlock()
			return
		}
		c.mu.Unlock()
		if _, err := c.nc.Write(b); err != nil {
			c.mu.Lock()
			c.kill()
			c.mu.Unlock()
		}
	}
}

// kill closes the connection; the caller holds mu.
func (c *conn) kill() {
	c.dead = true
	_ = c.nc.Close() // the error of a second close is useless
}

func (c *conn) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kill()
}

// after applies the end of an answer to the connection.
func (c *conn) after(what after) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch what {
	case hangUp:
		if c.flusher {
			c.closing = true
		} else {
			c.kill()
		}
	case reset:
		if t, ok := c.nc.(*net.TCPConn); ok {
			_ = t.SetLinger(0) // if it fails, the close is orderly
		}
		c.kill()
	}
}

// idleFrom starts the idle timeout.
func (c *conn) idleFrom(now time.Time) { _ = c.nc.SetReadDeadline(now.Add(c.srv.cfg.IdleTimeout)) }

// serve answers requests until the client closes, the connection is idle for too long, or the server stops.
func (c *conn) serve() {
	defer c.flushes.Wait() // until a slow client has read everything, or the server stops
	defer c.after(hangUp)
	c.idleFrom(time.Now())
	for {
		c.limit.N = maxHead
		if _, err := c.in.Peek(1); err != nil {
			return
		}
		arrival := max(c.inbox.arrived, c.answered)
		_ = c.nc.SetReadDeadline(time.Now().Add(readTimeout))
		req, err := http.ReadRequest(c.in)
		if err != nil {
			c.write(answer(http.StatusBadRequest, []string{"content-type: text/plain; charset=utf-8", "connection: close"},
				"The request cannot be read as HTTP.\n", false))
			return
		}
		c.limit.N = 1 << 62
		body, e := c.body(req)
		if e != nil {
			c.write(answer(e.status, append([]string{"connection: close"}, jsonType...), string(e.body()), false))
			return
		}
		switch then := c.srv.route(c, req, body, arrival); then {
		case keepOpen:
			if req.Close {
				return
			}
		case silence, die:
			c.waitForEnd()
			return
		default:
			c.after(then)
			return
		}
	}
}

// body reads the request's body, up to maxBody.
func (c *conn) body(req *http.Request) ([]byte, *apiError) {
	tooLarge := &apiError{status: http.StatusRequestEntityTooLarge, kind: "Request Entity Too Large",
		message: "The request body is larger than 64 MiB."}
	if req.ContentLength > maxBody {
		return nil, tooLarge
	}
	if strings.EqualFold(req.Header.Get("Expect"), "100-continue") {
		c.write([]byte("HTTP/1.1 100 Continue\r\n\r\n"))
	}
	var b []byte
	var err error
	if n := req.ContentLength; n >= 0 && n <= 1<<20 {
		b = make([]byte, n)
		_, err = io.ReadFull(req.Body, b)
	} else {
		b, err = io.ReadAll(io.LimitReader(req.Body, maxBody+1))
	}
	switch {
	case err != nil:
		return nil, &apiError{status: http.StatusBadRequest, kind: "Bad Request",
			message: "The request body ends too early or is framed wrongly."}
	case len(b) > maxBody:
		return nil, tooLarge
	}
	return b, nil
}

// watch waits until the engine is done with r. If the client disconnects, or closes only its sending half, its request
// is cancelled (docs/reference/wire-protocols.md#aborted-requests). watch returns at the next request or at the end of
// the connection.
func (c *conn) watch(r *reply) {
	_, err := c.in.Peek(1)
	if err != nil {
		c.srv.engine.abort(r)
	}
	<-r.done
	if err != nil {
		c.close()
	}
}

// waitForEnd discards input until the client or the server ends the connection.
func (c *conn) waitForEnd() {
	_ = c.nc.SetReadDeadline(time.Time{})
	_, _ = io.Copy(io.Discard, c.in)
}

// answer builds a whole HTTP answer.
func answer(status int, headers []string, body string, noBody bool) []byte {
	b := appendHead(nil, status)
	for _, h := range headers {
		b = append(append(b, h...), "\r\n"...)
	}
	b = append(b, "content-length: "...)
	b = strconv.AppendInt(b, int64(len(body)), 10)
	b = append(b, "\r\n\r\n"...)
	if noBody {
		return b
	}
	return append(b, body...)
}

func appendHead(b []byte, status int) []byte {
	b = append(b, "HTTP/1.1 "...)
	b = strconv.AppendInt(b, int64(status), 10)
	b = append(append(b, ' '), http.StatusText(status)...)
	b = append(b, "\r\ndate: "...)
	b = time.Now().UTC().AppendFormat(b, http.TimeFormat)
	return append(b, "\r\nserver: mlperf-go-sim\r\n"...)
}

const streamHeaders = "content-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n"
