package nethttp_test

import (
	"context"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/nethttp"
	"github.com/mlperf-go/mlperf-go/backends/internal/wiretest"
	"github.com/mlperf-go/mlperf-go/backends/openai"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(c *backends.Config) (backends.Backend, error) {
	d, err := backends.Lookup("vllm")
	if err != nil {
		return nil, err
	}
	p, err := d.(*openai.Driver).Protocol(c)
	if err != nil {
		return nil, err
	}
	return nethttp.New(c, p)
}

var contract = wiretest.Contract{Open: open}

// secured runs the tests of the contract over TLS.
var secured = wiretest.Contract{Open: open, Secure: true}

func TestContract(t *testing.T) { contract.Run(t) }

func TestTunnels(t *testing.T) {
	secured.Run(t, "through a proxy", "faults of a proxy", "answered twice")
}

// hangsUp returns the address of a server that closes each connection after its first byte.
func hangsUp(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var accepting sync.WaitGroup
	accepting.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Read(make([]byte, 1))
			c.Close()
		}
	})
	t.Cleanup(func() { l.Close(); accepting.Wait() })
	return l.Addr().String()
}

func TestTLS(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Write([]byte(wiretest.Good))
	})
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = nil
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	c := wiretest.Config(s.URL)
	c.Stream = false
	r := contract.Ask(t, c, 1)
	require.Equal(t, backends.FailTLS, r.Results[1].Reason, r.Attempts)
	c.InsecureSkipVerify = true
	require.Equal(t, backends.OK, contract.Ask(t, c, 5).Results[5].Reason)

	plain := httptest.NewServer(h)
	defer plain.Close()
	c = wiretest.Config(strings.Replace(plain.URL, "http:", "https:", 1))
	require.Equal(t, backends.FailTLS, contract.Ask(t, c, 1).Results[1].Reason, "a server without TLS")
	c = wiretest.Config("https://" + hangsUp(t))
	require.Contains(t, []backends.Reason{backends.FailTLS, backends.FailReset}, contract.Ask(t, c, 1).Results[1].Reason)
}

func TestTrustedAuthority(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Write([]byte(wiretest.Good))
	}))
	defer s.Close()
	file := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}),
		0o600))
	c := wiretest.Config(s.URL)
	c.Stream, c.CAFile = false, file
	require.Equal(t, backends.OK, contract.Ask(t, c, 1).Results[1].Reason)

	require.NoError(t, os.WriteFile(file, []byte("nothing"), 0o600))
	_, err := open(c)
	require.ErrorContains(t, err, "contains no certificate in PEM form")
	c.CAFile = file + ".missing"
	_, err = open(c)
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestInvalidEndpoints(t *testing.T) {
	for url, text := range map[string]string{
		"ftp://host":            `has the unsupported scheme "ftp"`,
		"http://:8000":          "names no host",
		"http://me:secret@host": "contains a user name",
		"http://[::1":           "is not a URL",
	} {
		_, err := open(wiretest.Config(url))
		require.ErrorContains(t, err, text)
		require.NotContains(t, err.Error(), "secret")
	}
	_, err := open(wiretest.Config())
	require.ErrorContains(t, err, "at least one endpoint")
	c := wiretest.Config("http://h")
	c.API = "assistants"
	_, err = open(c)
	require.EqualError(t, err, `backend "vllm" has no API "assistants": choose completions, chat or generate`)
}

// BenchmarkRequest measures the cost of one streamed answer of 32 tokens for client and server, both in this process.
func BenchmarkRequest(b *testing.B) {
	parts := []string{}
	for i := range 31 {
		parts = append(parts, wiretest.Event(fmt.Sprint(i), "null"))
	}
	answer := wiretest.StreamHead + wiretest.Chunked(append(parts, wiretest.Event("31", `"stop"`), wiretest.Usage(32),
		wiretest.Done)...)
	url := wiretest.Raw(b, wiretest.Answers(answer))
	c := wiretest.Config(url)
	c.Concurrency = 64
	client, err := open(c)
	require.NoError(b, err)
	b.ReportAllocs()
	b.ResetTimer()
	if err := client.Serve(context.Background(), wiretest.NewQueries(b.N).End(), wiretest.Quiet{}); err != nil {
		b.Fatal(err)
	}
}
