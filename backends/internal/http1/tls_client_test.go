package http1_test

import (
	"crypto/tls"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/wiretest"
)

// TestClientCertificates: a server that requires a certificate gets it, on resumed sessions too. Without it, or with
// one that the server does not trust, the samples fail with the server's alert, which in TLS 1.3 comes after the
// client's part of the handshake.
func TestClientCertificates(t *testing.T) {
	cert, key, err := wiretest.ClientFiles(t.TempDir(), time.Now().Add(time.Hour))
	require.NoError(t, err)
	otherCert, otherKey, err := wiretest.ClientFiles(t.TempDir(), time.Now().Add(time.Hour))
	require.NoError(t, err)
	for version, config := range versions() {
		demanding, err := wiretest.Demanding(config, cert)
		require.NoError(t, err)
		shown := make(chan bool, 9)
		demanding.VerifyConnection = func(s tls.ConnectionState) error {
			shown <- len(s.PeerCertificates) == 1
			return nil
		}
		for _, c := range []struct{ name, cert, key, text string }{
			{"trusted", cert, key, ""},
			{"none", "", "", "certificate required|bad certificate|handshake failure"},
			{"not trusted", otherCert, otherKey, "unknown certificate|bad certificate|certificate authority"},
		} {
			t.Run(c.name+", "+version, func(t *testing.T) {
				k := wiretest.Config(secureURL(t, demanding, wiretest.Closes(wiretest.Streamed)))
				k.ClientCert, k.ClientKey, k.Concurrency = c.cert, c.key, 1
				r := secured.Ask(t, k, 3)
				for _, res := range r.Results {
					if c.text == "" {
						require.Equal(t, backends.OK, res.Reason, "%v", r.Attempts)
						require.True(t, <-shown)
						continue
					}
					require.Equal(t, backends.FailTLS, res.Reason, "%v", r.Attempts)
				}
				if c.text != "" {
					require.Regexp(t, c.text, r.Attempts[0].Detail)
				}
			})
		}
	}
}

// TestCertificateIsForTheServer: a proxy that asks for a certificate gets none.
func TestCertificateIsForTheServer(t *testing.T) {
	cert, key, err := wiretest.ClientFiles(t.TempDir(), time.Now().Add(time.Hour))
	require.NoError(t, err)
	curious := wiretest.ServerTLS().Clone()
	curious.ClientAuth = tls.RequestClientCert
	shown := make(chan int, 9)
	curious.VerifyConnection = func(s tls.ConnectionState) error {
		shown <- len(s.PeerCertificates)
		return nil
	}
	for _, k := range []*wiretest.Contract{&contract, &reference} {
		c := wiretest.Config("http://192.0.2.1:1")
		c.Proxy = secureURL(t, curious, wiretest.Answers(wiretest.Streamed))
		c.ClientCert, c.ClientKey, c.InsecureSkipVerify = cert, key, true
		require.Equal(t, backends.OK, k.Ask(t, c, 1).Results[1].Reason)
		require.Zero(t, <-shown)
		c = wiretest.Config(secureURL(t, curious, wiretest.Answers(wiretest.Streamed)))
		c.ClientCert, c.ClientKey, c.InsecureSkipVerify = cert, key, true
		require.Equal(t, backends.OK, k.Ask(t, c, 1).Results[1].Reason)
		require.Equal(t, 1, <-shown, "a server that asks for it gets it")
	}
}
