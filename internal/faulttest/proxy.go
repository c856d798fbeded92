package faulttest

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
)

// Proxy is an HTTP proxy that carries bytes until a connection ends or the whole proxy dies. It connects to the host of
// each connection's first request, for CONNECT and for plain requests.
type Proxy struct {
	listener net.Listener
	ends     func(c net.Conn)
	all      sync.WaitGroup

	mu      sync.Mutex
	dead    bool
	conns   []net.Conn
	newest  net.Conn // a client's
	carried int      // bytes, to the newest client
	last    int      // bytes after which the newest client's connection ends; 0: unknown
}

// ServeProxy starts a proxy on a listener, until the end of the test. ends is called before EndAfter closes a
// connection; nil: it is not.
func ServeProxy(t testing.TB, l net.Listener, ends func(c net.Conn)) *Proxy {
	p := &Proxy{listener: l, ends: ends}
	p.all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			p.all.Go(func() { p.serve(c) })
		}
	})
	t.Cleanup(func() { p.Die(); p.all.Wait() })
	return p
}

// Die closes the port and every connection.
func (p *Proxy) Die() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dead = true
	_ = p.listener.Close()
	for _, c := range p.conns {
		_ = c.Close()
	}
}

// EndAfter ends the newest connection as soon as the proxy has carried that many bytes to its client.
func (p *Proxy) EndAfter(bytes int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = bytes
	p.endIfCarried()
}

func (p *Proxy) endIfCarried() {
	if p.last == 0 || p.carried < p.last {
		return
	}
	if p.ends != nil {
		p.ends(p.newest)
	}
	_ = p.newest.Close()
}

// open notes a connection that Die will close, or closes it if the proxy is dead.
func (p *Proxy) open(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns = append(p.conns, c)
	if p.dead {
		_ = c.Close()
	}
}

func (p *Proxy) close(c net.Conn) {
	_ = c.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns = slices.DeleteFunc(p.conns, func(other net.Conn) bool { return other == c })
}

func (p *Proxy) serve(here net.Conn) {
	p.open(here)
	defer p.close(here)
	in := bufio.NewReader(here)
	r, err := http.ReadRequest(in)
	if err != nil {
		return
	}
	there, err := net.Dial("tcp", r.Host)
	if err != nil {
		return
	}
	p.open(there)
	defer p.close(there)
	p.mu.Lock() // before the server can answer
	p.newest, p.carried, p.last = here, 0, 0
	p.mu.Unlock()
	if r.Method == http.MethodConnect {
		_, _ = io.WriteString(here, "HTTP/1.1 200 OK\r\n\r\n")
	} else if r.Write(there) != nil {
		return
	}
	p.all.Go(func() {
		_, _ = io.Copy(there, in)
		_ = there.Close()
	})
	p.carry(here, there)
}

// carry copies the server's bytes to the client, and counts those of the newest client.
func (p *Proxy) carry(here, there net.Conn) {
	b := make([]byte, 32<<10)
	for {
		n, err := there.Read(b)
		if err != nil {
			return
		}
		_, _ = here.Write(b[:n])
		p.mu.Lock()
		if here == p.newest {
			p.carried += n
			p.endIfCarried()
		}
		p.mu.Unlock()
	}
}
