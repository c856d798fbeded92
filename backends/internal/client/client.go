package client

import (
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/http1"
	"github.com/mlperf-go/mlperf-go/backends/internal/nethttp"
)

// For names the client that serves all of the endpoints, through a proxy unless that is empty.
func For(proxy string, endpoints ...backends.Endpoint) string {
	secure := func(e backends.Endpoint) bool {
		base, err := backends.ParseEndpoint(e.URL)
		return err != nil || !(strings.HasPrefix(base.URL, "http://") || base.Socket() != "")
	}
	if proxy != "" || slices.ContainsFunc(endpoints, secure) {
		return nethttp.Name
	}
	return http1.Name
}

// New makes a backend on the client that fits the endpoints of c.
func New(c *backends.Config, p backends.Protocol) (backends.Backend, error) {
	return Named(For(c.Proxy, c.Endpoints...), c, p)
}

// Named makes a backend on the client of that name.
func Named(name string, c *backends.Config, p backends.Protocol) (backends.Backend, error) {
	if name == http1.Name {
		return http1.New(c, p)
	}
	return nethttp.New(c, p)
}
