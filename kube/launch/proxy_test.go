package launch

import (
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
)

// proxy is between the launcher and the API server. All connections use it, including those of exec.
type proxy struct {
	server string
	// received is called before bytes of the server are forwarded, with the connection's number of bytes so far; nil: not
	// called.
	received func(total int)

	mu    sync.Mutex
	conns []net.Conn
}

// through returns a proxy, and the configuration of a client that uses it.
func through(t *testing.T, config *rest.Config) (*proxy, *rest.Config) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &proxy{server: strings.TrimPrefix(config.Host, "https://")}
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go p.serve(client)
		}
	}()
	t.Cleanup(func() {
		l.Close()
		p.cut()
	})
	other := rest.CopyConfig(config)
	other.Host = "https://" + l.Addr().String()
	return p, other
}

func (p *proxy) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", p.server)
	if err != nil {
		return
	}
	defer server.Close()
	p.mu.Lock()
	p.conns = append(p.conns, client, server)
	p.mu.Unlock()
	go func() {
		defer server.Close()
		pass(server, client, nil)
	}()
	pass(client, server, p.received)
}

func pass(to, from net.Conn, received func(int)) {
	total, b := 0, make([]byte, 4096)
	for {
		n, err := from.Read(b)
		if total += n; n > 0 && received != nil {
			received(total)
		}
		if err != nil {
			return
		}
		if _, err := to.Write(b[:n]); err != nil {
			return
		}
	}
}

// count is the number of connections of the client so far.
func (p *proxy) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.conns) / 2
}

// cut ends all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		c.Close()
	}
	p.conns = nil
}
