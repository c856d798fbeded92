package client

import (
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/http1"
	"github.com/mlperf-go/mlperf-go/backends/internal/nethttp"
	"github.com/mlperf-go/mlperf-go/backends/internal/wire"
	"github.com/mlperf-go/mlperf-go/backends/internal/wire/batch"
	"github.com/mlperf-go/mlperf-go/datasets"
	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
)

// Wire is what a driver contributes to a backend: requests and their protocol.
type Wire interface {
	Encode(dst []byte, s *datasets.Sample, c *backends.Config) ([]byte, error)
	Protocol(c *backends.Config) (wire.Protocol, error)
}

// For returns the name of the client that serves all endpoints. HTTP/2 is for https only: servers choose it during the
// TLS handshake.
func For(t *backends.Transport, endpoints ...backends.Endpoint) string {
	secure := func(e backends.Endpoint) bool {
		base, err := backends.ParseEndpoint(e.URL)
		return err == nil && strings.HasPrefix(base.URL, "https://")
	}
	if t.HTTP2 && slices.ContainsFunc(endpoints, secure) {
		return nethttp.Name
	}
	return http1.Name
}

// Open returns a backend on the client that fits the endpoints of c. If c.Batch is set, it sends batches: promptKeys
// are the members of a request's body that may contain the prompt.
func Open(c *backends.Config, w Wire, promptKeys ...string) (backends.Backend, error) {
	return OpenOn(For(&c.Transport, c.Endpoints...), c, w, promptKeys...)
}

// OpenOn is Open on the client of the given name.
func OpenOn(name string, c *backends.Config, w Wire, promptKeys ...string) (backends.Backend, error) {
	if c.Batch == 0 {
		p, err := w.Protocol(c)
		if err != nil {
			return nil, err
		}
		return New(name, c, p)
	}
	return batch.New(c, batch.Form{Keys: promptKeys, Encode: w.Encode},
		func(c *backends.Config, streamed func(loadgen.Query, []wire.News, int64)) (backends.Backend, error) {
			p, err := w.Protocol(c)
			if err != nil {
				return nil, err
			}
			p.Streamed = streamed
			return New(name, c, p)
		})
}

// New returns a backend on the client of the given name, which sends one prompt in each request.
func New(name string, c *backends.Config, p wire.Protocol) (backends.Backend, error) {
	if name == http1.Name {
		return http1.New(c, p)
	}
	return nethttp.New(c, p)
}
