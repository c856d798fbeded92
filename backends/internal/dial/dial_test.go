package dial

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTarget(t *testing.T) {
	for text, want := range map[string][2]string{
		"http://host/x":        {"tcp", "host:80"},
		"https://host":         {"tcp", "host:443"},
		"http://host:8000":     {"tcp", "host:8000"},
		"http://[::1]:8000":    {"tcp", "[::1]:8000"},
		"http://[fe80::1%25e]": {"tcp", "[fe80::1%e]:80"},
	} {
		u, err := url.Parse(text)
		require.NoError(t, err)
		network, address := Target(u)
		require.Equal(t, want, [2]string{network, address}, text)
	}
	network, address := Target(Socket("/run/a b.sock", "/v1"))
	require.Equal(t, [2]string{"unix", "/run/a b.sock"}, [2]string{network, address})
}

func TestTryAndFunc(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	for network, address := range map[string]string{"tcp": "127.0.0.1:0", "unix": path} {
		l, err := net.Listen(network, address)
		require.NoError(t, err)
		u := &url.URL{Scheme: "http", Host: l.Addr().String()}
		if network == "unix" {
			u = Socket(path, "/")
		}
		require.NoError(t, Try(context.Background(), u, time.Minute))
		c, err := Func(time.Minute)(context.Background(), "tcp", u.Host+map[string]string{"unix": ":80"}[network])
		require.NoError(t, err)
		require.Equal(t, network, c.RemoteAddr().Network())
		require.NoError(t, c.Close())
		require.NoError(t, l.Close())
		require.Error(t, Try(context.Background(), u, time.Minute), "the listener is closed")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorIs(t, Try(ctx, &url.URL{Scheme: "http", Host: "127.0.0.1:1"}, time.Minute), context.Canceled)
}

func TestUnresolved(t *testing.T) {
	_, err := (&net.Resolver{PreferGo: true}).LookupHost(t.Context(), "name.invalid")
	what, try := Unresolved(fmt.Errorf("get: %w", err))
	require.Contains(t, what, `the host name "name.invalid" `)
	require.NotEmpty(t, try)
	what, try = Unresolved(&net.DNSError{Err: "no such host", Name: "gpu1", IsNotFound: true})
	require.Equal(t, `the host name "gpu1" did not resolve (no such host)`, what)
	require.Contains(t, try, "`getent hosts gpu1`")
	what, try = Unresolved(&net.DNSError{Err: "i/o timeout", Name: "gpu1", IsTimeout: true})
	require.Equal(t, `the host name "gpu1" could not be looked up (i/o timeout)`, what)
	require.Contains(t, try, "/etc/resolv.conf")
	what, _ = Unresolved(net.ErrClosed)
	require.Empty(t, what)
}
