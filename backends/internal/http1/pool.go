// HOT PATH: take, rest and find run once a request. No lock; no allocation once there are as many connections as
// requests in flight.

package http1

import (
	"golang.org/x/sys/unix"

	"github.com/mlperf-go/mlperf-go/backends/internal/policy"
)

// pool holds the connections of a loop.
type pool struct {
	poller     *poller
	counters   *policy.Counters
	stamped    bool // the kernel keeps the time of what a socket receives
	readings   readings
	buf        []byte  // for the reads of all connections; data that must outlive a read is copied
	plain      []byte  // what they contain, decrypted; nil: no connection uses TLS
	sealed     []byte  // records to send
	byFD       []*conn // nil: the descriptor is not a connection
	idle       []*conn // by endpoint: first of a list, the most recently used connection first
	resting    int     // connections in idle
	dialing    int     // connections that are being made
	open       int     // connections with a socket
	openMax    int
	generation int32 // of the newest socket
	spare      freelist[conn]
}

// create returns a connection without a socket.
func (p *pool) create() *conn {
	c := p.spare.get()
	if c == nil {
		c = &conn{}
		c.timer.conn = c
	}
	return c
}

// dialsAtOnce bounds the connections that are being made, so that a burst does not overflow the queue of connections
// that the server has not accepted yet (2048 and more for inference servers): a connection beyond it waits for seconds.
const dialsAtOnce = 256

// hasRoom reports whether a request may begin. Other queries wait in the order of issue; that time lies between their
// stamps dequeued and sent.
func (p *pool) hasRoom() bool { return p.resting > 0 || p.dialing < dialsAtOnce }

// readBuffer is the most that one read returns, in bytes.
const readBuffer = 64 << 10

// connEvents are the events of a connection.
const connEvents = unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP | unix.EPOLLET

// connect opens a socket for a connection and begins to connect it to an address. It does not wait.
func (p *pool) connect(c *conn, a *address) error {
	fd, err := unix.Socket(a.family, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	// Errors are ignored: these options only avoid a delay and detect a dead peer.
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1)
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, 15)
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, 15)
	if p.stamped {
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1) // without it the loop's own times remain
	}
	if c.narrow {
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, narrowBuffer)
	}
	if err = unix.Connect(fd, a.sockaddr); err == nil || err == unix.EINPROGRESS {
		p.generation++
		err = p.poller.control(unix.EPOLL_CTL_ADD, fd, connEvents, p.generation)
	}
	if err != nil {
		_ = unix.Close(fd)
		return err
	}
	c.fd, c.generation = fd, p.generation
	for len(p.byFD) <= fd {
		p.byFD = append(p.byFD, make([]*conn, fd+64-len(p.byFD))...)
	}
	p.byFD[fd] = c
	p.dialing++
	p.open++
	p.openMax = max(p.openMax, p.open)
	return nil
}

// find returns the connection of a descriptor; nil if its socket is not of that generation, because it was closed by an
// earlier event.
func (p *pool) find(fd int, generation int32) *conn {
	if c := p.byFD[fd]; c != nil && c.generation == generation {
		return c
	}
	return nil
}

// remove closes the socket of a connection. Events of it that were not handled yet are void.
func (p *pool) remove(c *conn) {
	if c.state == connecting || c.state == preparing {
		p.dialing--
	}
	p.open--
	c.timer.stop()
	p.byFD[c.fd] = nil
	c.generation = 0
	if c.session != nil {
		p.dismiss(c)
	}
	_ = unix.Close(c.fd) // nothing is lost: what was sent is answered or given up
}

// dismiss ends the TLS of a connection. The peer may learn less than it should: nothing is awaited.
func (p *pool) dismiss(c *conn) {
	switch s := c.session; {
	case s.opening != nil:
		s.opening.fail(unix.ECANCELED)
	case !c.unsent && c.broken == 0:
		_, _ = send(c.fd, s.farewell())
	default:
		_ = s.pending()
	}
}

// release keeps the memory of a connection without a socket.
func (p *pool) release(c *conn) {
	p.readings.close(c)
	c.state, c.exchange, c.session, c.broken = closed, nil, nil, 0
	c.head, c.body, c.unsent = nil, nil, false
	p.spare.put(c)
}

// shut closes a connection.
func (p *pool) shut(c *conn) {
	if c.state == idle {
		p.unrest(c)
		p.glance(c)
	}
	p.remove(c)
	p.release(c)
}

func (p *pool) shutAll() {
	for _, c := range p.byFD {
		if c != nil {
			p.shut(c)
		}
	}
}

// watch sets the connection's timer to its next deadline.
func (p *pool) watch(c *conn) { p.poller.wheel.by(&c.timer, min(c.deadline, c.phase)) }

// stray counts unrequested bytes.
func (p *pool) stray(b []byte) {
	if p.counters.Unexpected(b) {
		p.poller.stats.unasked++
	}
}

// glance counts the bytes that can still be read from a connection without a request that is about to be closed.
func (p *pool) glance(c *conn) {
	n, errno := recv(c.fd, p.buf)
	if errno != 0 || n <= 0 {
		return
	}
	b := p.buf[:n]
	if c.session != nil {
		c.session.in = b
		n, _ = c.session.open(p.plain) // its end is no news: the connection is being closed
		b = p.plain[:n]
	}
	if len(b) > 0 {
		p.stray(b)
	}
}

// take returns the connection to an endpoint that was used last; nil: no connection is idle.
func (p *pool) take(endpoint int) *conn {
	c := p.idle[endpoint]
	if c != nil {
		p.unrest(c)
	}
	return c
}

// rest keeps a connection for the next request.
func (p *pool) rest(c *conn) {
	p.readings.close(c)
	c.state, c.exchange, c.reused = idle, nil, true
	c.deadline, c.phase = never, p.poller.now+int64(policy.IdleTimeout)
	p.watch(c)
	c.prev, c.next = nil, p.idle[c.endpoint]
	if c.next != nil {
		c.next.prev = c
	}
	p.idle[c.endpoint] = c
	p.resting++
}

// unrest removes an idle connection from its list.
func (p *pool) unrest(c *conn) {
	p.resting--
	if c.prev != nil {
		c.prev.next = c.next
	} else {
		p.idle[c.endpoint] = c.next
	}
	if c.next != nil {
		c.next.prev = c.prev
	}
	c.next, c.prev = nil, nil
}

// anyIdle returns any idle connection, or nil.
func (p *pool) anyIdle() *conn {
	for _, c := range p.idle {
		if c != nil {
			return c
		}
	}
	return nil
}

// freelist keeps values for reuse. The value that was put last is taken first: the processor's caches may still hold
// it.
type freelist[T any] struct{ free []*T }

// get returns a value that was used before; nil: the list is empty.
func (f *freelist[T]) get() *T {
	n := len(f.free)
	if n == 0 {
		return nil
	}
	v := f.free[n-1]
	f.free = f.free[:n-1]
	return v
}

func (f *freelist[T]) put(v *T) { f.free = append(f.free, v) }
