package http1

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/policy"
	"github.com/mlperf-go/mlperf-go/internal/crash"
)

// step is one thing to do on a new connection before its first request.
type step struct {
	reason backends.Reason // of its failure
	do     func(c net.Conn) (net.Conn, error)
}

// handshake returns the step of a TLS handshake, with a proxy if that is not nil.
func handshake(config *tls.Config, proxy *url.URL) step {
	return step{backends.FailTLS, func(c net.Conn) (net.Conn, error) {
		if outer, ok := c.(*tls.Conn); ok {
			c = inner{outer}
		}
		secured := tls.Client(c, config)
		if err := secured.Handshake(); err != nil {
			return nil, policy.OfProxy(proxy, fmt.Errorf("TLS handshake: %w", err))
		}
		return secured, nil
	}}
}

// tunnel returns the step that asks a proxy for a connection to a server.
func tunnel(proxy *url.URL, address string) step {
	return step{backends.FailConnect, func(c net.Conn) (net.Conn, error) {
		request := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: address}, Host: address,
			Header: http.Header{}}
		if err := request.Write(c); err != nil {
			return nil, fmt.Errorf("ask the proxy %s for a connection: %w", proxy, err)
		}
		in := bufio.NewReader(io.LimitReader(c, policy.MaxHead))
		answer, err := http.ReadResponse(in, request)
		switch {
		case err != nil:
			return nil, policy.OfProxy(proxy, fmt.Errorf("ask the proxy %s for a connection: %w", proxy, err))
		case answer.StatusCode != http.StatusOK:
			return nil, fmt.Errorf("the proxy %s answered CONNECT with HTTP %s", proxy, answer.Status)
		case in.Buffered() > 0:
			return nil, fmt.Errorf("the proxy %s sent bytes through its tunnel before the TLS handshake", proxy)
		}
		return c, nil
	}}
}

// opening makes the steps of one connection. crypto/tls cannot interrupt a handshake, so they run on a goroutine of
// their own, and the loop carries its bytes from and to the socket.
type opening struct {
	queue      *openings
	fd         int
	generation int32 // of the socket

	mu       sync.Mutex
	more     sync.Cond // in or over has changed
	in, out  []byte
	over     error // nothing comes behind in
	finished bool
	top      net.Conn // after the last step
	reason   backends.Reason
	err      error // of the step that failed
}

// mostUnread bounds the bytes that an opening keeps for its goroutine. A handshake is shorter.
const mostUnread = 1 << 20

var errFlood = errors.New("the peer sent more than a handshake needs")

// read waits for bytes of the peer.
func (o *opening) read(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.in) == 0 && o.over == nil {
		o.queue.changedBy(o)
		o.queue.turns.Unlock()
		for len(o.in) == 0 && o.over == nil {
			o.more.Wait()
		}
		o.mu.Unlock()
		o.queue.turns.Lock()
		o.mu.Lock()
	}
	if len(o.in) == 0 {
		return 0, o.over
	}
	n := copy(p, o.in)
	o.in = o.in[n:]
	return n, nil
}

// write keeps bytes for the loop, which gets them when the goroutine waits or ends.
func (o *opening) write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.out = append(o.out, p...)
	return len(p), nil
}

// run makes the steps.
func (o *opening) run(c net.Conn, steps []step) {
	defer crash.Catch()
	defer o.queue.all.Done()
	o.queue.turns.Lock()
	var reason backends.Reason
	var err error
	for _, s := range steps {
		if c, err = s.do(c); err != nil {
			if reason = s.reason; errors.As(err, new(*policy.ProxyTLSError)) {
				reason = backends.FailTLS
			}
			break
		}
	}
	o.queue.turns.Unlock()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.finished, o.top, o.reason, o.err = true, c, reason, err
	o.queue.changedBy(o)
}

// feed passes received bytes on.
func (o *opening) feed(b []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.in)+len(b) > mostUnread {
		o.over = errFlood
	} else if o.over == nil {
		o.in = append(o.in, b...)
	}
	o.more.Signal()
}

// fail ends the wait for bytes.
func (o *opening) fail(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.over == nil {
		o.over = err
	}
	o.more.Signal()
}

// collect returns the bytes to send, and whether the goroutine has ended.
func (o *opening) collect() (out []byte, finished bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	out, o.out = o.out, nil
	return out, o.finished
}

// openings are the connections of a loop that are being opened.
type openings struct {
	wake  func()     // makes the loop call changes
	turns sync.Mutex // only one goroutine computes at a time: the loop and LoadGen need the other processors
	all   sync.WaitGroup

	mu      sync.Mutex
	changed []*opening
}

// begin opens a connection whose socket is connected.
func (q *openings) begin(s *session, c *conn, steps []step) {
	o := &opening{queue: q, fd: c.fd, generation: c.generation}
	o.more.L = &o.mu
	s.opening = o
	q.all.Add(1)
	go o.run(s, steps)
}

func (q *openings) changedBy(o *opening) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.changed = append(q.changed, o)
	if len(q.changed) == 1 {
		q.wake()
	}
}

// changes returns the openings that have bytes to send or have ended.
func (q *openings) changes() []*opening {
	q.mu.Lock()
	defer q.mu.Unlock()
	changed := q.changed
	q.changed = nil
	return changed
}

// adopt makes the loop the owner of an opened session. It returns why the connection cannot be used.
func (s *session) adopt() error {
	o := s.opening
	o.mu.Lock()
	defer o.mu.Unlock()
	s.opening, s.in, s.tls = nil, o.in, o.top.(*tls.Conn)
	return o.over
}
