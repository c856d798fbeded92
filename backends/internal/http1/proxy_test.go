package http1_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/wiretest"
)

// mortal is an HTTP proxy that carries bytes, and ends a connection once it has carried a number of them to the client.
type mortal struct {
	url  string
	ends func(c net.Conn)

	mu      sync.Mutex
	here    net.Conn // of the connection that is to end
	carried int
	last    int // 0: unknown
}

// serveMortal starts a proxy, to which connections use TLS if secure is set.
func serveMortal(t *testing.T, secure bool, ends func(c net.Conn)) *mortal {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &mortal{url: "http://" + l.Addr().String(), ends: ends}
	if secure {
		l, p.url = wiretest.Secured(l), "https://"+l.Addr().String()
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() { p.serve(c) })
		}
	})
	t.Cleanup(func() { l.Close(); all.Wait() })
	return p
}

func (p *mortal) serve(here net.Conn) {
	defer here.Close()
	in := bufio.NewReader(here)
	r, err := http.ReadRequest(in)
	if err != nil {
		return
	}
	there, err := net.Dial("tcp", r.Host)
	if err != nil {
		return
	}
	defer there.Close()
	p.mu.Lock() // before the server can answer
	p.here, p.carried, p.last = here, 0, 0
	p.mu.Unlock()
	if r.Method == http.MethodConnect {
		io.WriteString(here, "HTTP/1.1 200 OK\r\n\r\n")
		go io.Copy(there, in) // ends with there
	} else if r.Write(there) != nil {
		return
	}
	b := make([]byte, 32<<10)
	for {
		n, err := there.Read(b)
		if err != nil {
			return
		}
		here.Write(b[:n])
		p.mu.Lock()
		p.carried += n
		p.endIfCarried()
		p.mu.Unlock()
	}
}

// endBehind ends the newest connection once that many bytes have been carried.
func (p *mortal) endBehind(bytes int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = bytes
	p.endIfCarried()
}

func (p *mortal) endIfCarried() {
	if p.last > 0 && p.carried >= p.last {
		p.ends(p.here)
		p.here.Close()
	}
}

// counted counts the bytes that a server writes.
type counted struct {
	net.Conn
	written atomic.Int64
}

func (c *counted) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.written.Add(int64(n))
	return n, err
}

// countedListener makes counted connections, below the TLS of a server if it is secure.
type countedListener struct {
	net.Listener
	secure bool
	newest chan *counted
}

func (l countedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	one := &counted{Conn: c}
	l.newest <- one
	if l.secure {
		return wiretest.Over(one), nil
	}
	return one, nil
}

// TestProxyDies: a proxy that ends in the middle of an answer cuts it, however it ends, and without TLS between client
// and server too. Both clients agree.
func TestProxyDies(t *testing.T) {
	begun := wiretest.StreamHead + wiretest.Chunks(wiretest.Event("5", "null"))
	closes := func(net.Conn) {}
	for _, secure := range []bool{false, true} { // the server
		for _, outer := range []bool{false, true} { // the proxy
			for _, c := range []struct {
				name string
				text string
				ends func(net.Conn)
				want backends.Reason
			}{
				{"closes inside an answer", begun, closes, backends.FailTruncated},
				{"resets inside an answer", begun, wiretest.Reset, backends.FailReset},
				{"closes inside the header", begun[:30], closes, backends.FailTruncated},
			} {
				t.Run(fmt.Sprintf("%s, TLS to the server %t, to the proxy %t", c.name, secure, outer), func(t *testing.T) {
					for _, k := range []*wiretest.Contract{&contract, &reference} {
						p := serveMortal(t, outer, c.ends)
						l, err := net.Listen("tcp", "127.0.0.1:0")
						require.NoError(t, err)
						newest := make(chan *counted, 9)
						url := wiretest.RawOn(t, countedListener{l, secure, newest}, func(c2 net.Conn, _, _ int) bool {
							io.WriteString(c2, c.text)
							p.endBehind(int((<-newest).written.Load()))
							c2.Read(make([]byte, 1)) // its end
							return false
						})
						if secure {
							url = strings.Replace(url, "http:", "https:", 1)
						}
						config := wiretest.Config(url)
						config.Proxy, config.InsecureSkipVerify, config.Concurrency = p.url, true, 1
						r := k.Ask(t, config, 2)
						for _, res := range r.Results {
							if k == &reference && c.name == "closes inside the header" { // net/http calls it otherwise
								require.NotEqual(t, backends.OK, res.Reason)
								continue
							}
							require.Equal(t, c.want, res.Reason, "%v", r.Attempts)
						}
					}
				})
			}
		}
	}
}
