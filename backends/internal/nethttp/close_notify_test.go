package nethttp_test

import (
	"crypto/tls"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/wiretest"
)

// TestEndWithoutCloseNotify: an answer without length and chunks over TLS is complete only if the server announces its
// end, directly and through a proxy with TLS. Otherwise anyone on the way could cut it.
func TestEndWithoutCloseNotify(t *testing.T) {
	const answer = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
	untilEnd := answer + wiretest.Event("5,6", `"length"`)
	for _, proxied := range []bool{false, true} {
		for want, end := range map[backends.Reason]func(net.Conn){
			backends.OK:            func(c net.Conn) { c.Close() },
			backends.FailTruncated: func(c net.Conn) { c.(*tls.Conn).NetConn().Close() },
		} {
			url := secured.Raw(t, func(c net.Conn, _, _ int) bool {
				_, _ = io.WriteString(c, untilEnd)
				end(c)
				return false
			})
			config := wiretest.Config(url)
			if proxied {
				config.Proxy = wiretest.ServeProxy(t, true).URL
				require.True(t, strings.HasPrefix(config.Proxy, "https:"))
			}
			r := secured.Ask(t, config, 3)
			for _, res := range r.Results {
				require.Equal(t, want, res.Reason, "%v", r.Attempts)
			}
		}
	}
}
