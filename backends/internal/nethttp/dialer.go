package nethttp

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mlperf-go/mlperf-go/backends/internal/dial"
	"github.com/mlperf-go/mlperf-go/backends/internal/policy"
)

// dialFunc makes a connection.
type dialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// dialer makes the connections of a transport. It does TLS and tunnels itself, because connections of HTTP/1.1 need a
// guard, and net/http would put its own TLS around that.
type dialer struct {
	connect  dialFunc
	config   *tls.Config
	timeout  time.Duration // of a TLS handshake, and of making a tunnel
	http2    bool          // servers may choose it
	proxy    *url.URL      // nil: direct connections
	counters *policy.Counters
}

// plain connects without TLS: to a server, or to a proxy that forwards requests.
func (d *dialer) plain(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := d.connect(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return newGuard(c, d.counters), nil
}

// secure connects with TLS: to a server, directly or through the tunnel of a proxy, or to a proxy that forwards
// requests. HTTP/2 needs no guard, because its frames name their requests.
func (d *dialer) secure(ctx context.Context, network, address string) (net.Conn, error) {
	protocols := []string{"http/1.1"}
	if d.http2 {
		protocols = []string{"h2", "http/1.1"}
	}
	reach := d.connect
	if d.isProxy(address) {
		protocols = nil
	} else if d.proxy != nil {
		reach = d.tunnel
	}
	c, err := reach(ctx, network, address)
	if err != nil {
		return nil, err
	}
	secured, err := d.handshake(ctx, c, address, protocols)
	if err != nil {
		return nil, err
	}
	if secured.ConnectionState().NegotiatedProtocol == "h2" {
		return secured.Conn, nil // net/http looks for this type; each answer of HTTP/2 has its own end
	}
	if d.isProxy(address) {
		return newGuard(proxyConn{secured, d.proxy}, d.counters), nil
	}
	return newGuard(secured, d.counters), nil
}

// isProxy reports whether an address is that of the proxy.
func (d *dialer) isProxy(address string) bool { return d.proxy != nil && address == d.proxyAddress() }

func (d *dialer) proxyAddress() string {
	_, address := dial.Target(d.proxy)
	return address
}

func (d *dialer) handshake(ctx context.Context, c net.Conn, address string, protocols []string) (*tlsConn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	config := d.config.Clone()
	if d.isProxy(address) {
		config.Certificates = nil // the certificate is for the server
	}
	config.ServerName, config.NextProtos = host, protocols
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	below := &ending{Conn: c}
	secured := tls.Client(below, config)
	if err := secured.HandshakeContext(ctx); err != nil {
		_ = c.Close()
		err = fmt.Errorf("TLS handshake: %w", err)
		if d.isProxy(address) {
			err = policy.OfProxy(d.proxy, err)
		}
		return nil, err
	}
	return &tlsConn{Conn: secured, below: below}, nil
}

// ending is a connection that remembers whether its peer has ended it.
type ending struct {
	net.Conn
	over atomic.Bool
}

func (c *ending) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err == io.EOF {
		c.over.Store(true)
	}
	return n, err
}

// tlsConn is a TLS connection that distinguishes its announced end, io.EOF, from an end of the connection below without
// close_notify, io.ErrUnexpectedEOF. crypto/tls reports io.EOF for both between two records, and an answer without
// length and chunks ends with the connection.
type tlsConn struct {
	*tls.Conn
	below *ending

	mu    sync.Mutex // Read and Write are called by different goroutines
	ahead []byte     // read by Write
}

func (c *tlsConn) Read(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.ahead) > 0 && len(p) > 0 {
		n := copy(p, c.ahead)
		c.ahead = c.ahead[n:]
		return n, nil
	}
	n, err := c.Conn.Read(p)
	if err == io.EOF && c.below.over.Load() {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// Write is Write of the connection. In TLS 1.3 a server rejects the client's certificate after the client's side of the
// handshake. If it then closes the connection, a write may fail before the alert is read, and the alert is the reason.
func (c *tlsConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) { // a connection that failed keeps no read waiting
		c.mu.Lock()
		defer c.mu.Unlock()
		var one [1]byte
		k, unread := c.Conn.Read(one[:])
		c.ahead = append(c.ahead, one[:k]...)
		if unread != nil && policy.IsTLS(unread) {
			err = unread
		}
	}
	return n, err
}

// proxyConn is a connection to a proxy with TLS, whose errors name the proxy.
type proxyConn struct {
	net.Conn
	proxy *url.URL
}

// Read is Read of the connection. Of TLS 1.3 the alerts of the proxy's side of the handshake come here.
func (c proxyConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	return n, policy.OfProxy(c.proxy, err)
}

// Write is Write of the connection, whose error may be such an alert too.
func (c proxyConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	return n, policy.OfProxy(c.proxy, err)
}

// tunnel asks the proxy for a connection to a server.
func (d *dialer) tunnel(ctx context.Context, network, address string) (net.Conn, error) {
	fail := func(err error) (net.Conn, error) { return nil, &net.OpError{Op: byProxy, Net: "tcp", Err: err} }
	proxy := d.proxyAddress()
	c, err := d.connect(ctx, network, proxy)
	if err != nil {
		return fail(err)
	}
	if d.proxy.Scheme == "https" {
		secured, err := d.handshake(ctx, c, proxy, nil)
		if err != nil {
			return nil, err
		}
		c = proxyConn{secured, d.proxy}
	}
	if err := d.ask(c, address); err != nil {
		_ = c.Close()
		return fail(err)
	}
	return c, nil
}

// ask sends CONNECT. A server sends nothing through a tunnel before the TLS handshake, so the discarded buffer contains
// no bytes of it.
func (d *dialer) ask(c net.Conn, address string) error {
	if err := c.SetDeadline(time.Now().Add(d.timeout)); err != nil {
		return err
	}
	request := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: address}, Host: address,
		Header: http.Header{}}
	if err := request.Write(c); err != nil {
		return err
	}
	answer, err := http.ReadResponse(bufio.NewReader(io.LimitReader(c, policy.MaxHead)), request)
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("the proxy %s answered CONNECT with HTTP %s", d.proxy, answer.Status)
	}
	return c.SetDeadline(time.Time{})
}
