package http1_test

import (
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/wiretest"
	"github.com/mlperf-go/mlperf-go/internal/faulttest"
)

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
						port, err := net.Listen("tcp", "127.0.0.1:0")
						require.NoError(t, err)
						url := "http://" + port.Addr().String()
						if outer {
							port, url = wiretest.Secured(port), "https://"+port.Addr().String()
						}
						p := faulttest.ServeProxy(t, port, c.ends)
						l, err := net.Listen("tcp", "127.0.0.1:0")
						require.NoError(t, err)
						newest := make(chan *counted, 9)
						config := wiretest.Config(wiretest.RawOn(t, countedListener{l, secure, newest},
							func(c2 net.Conn, _, _ int) bool {
								io.WriteString(c2, c.text)
								p.EndAfter(int((<-newest).written.Load()))
								c2.Read(make([]byte, 1)) // its end
								return false
							}))
						if secure {
							config.Endpoints[0].URL = strings.Replace(config.Endpoints[0].URL, "http:", "https:", 1)
						}
						config.Proxy, config.InsecureSkipVerify, config.Concurrency = url, true, 1
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
