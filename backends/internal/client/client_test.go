package client_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/client"
	"github.com/mlperf-go/mlperf-go/backends/internal/http1"
	"github.com/mlperf-go/mlperf-go/backends/internal/nethttp"
	"github.com/mlperf-go/mlperf-go/backends/internal/wire"
	"github.com/mlperf-go/mlperf-go/datasets"
)

type route struct{}

func (route) Encode(dst []byte, _ *datasets.Sample, _ *backends.Config) ([]byte, error) {
	return dst, nil
}

func (route) Protocol(*backends.Config) (wire.Protocol, error) {
	return wire.Protocol{Path: "/v1/completions", NewAnswer: func() wire.Answer { return nil }}, nil
}

func TestTheURLChooses(t *testing.T) {
	const plain, secure = "http://127.0.0.1:1", "https://127.0.0.1:1"
	for _, c := range []struct {
		urls  []string
		http2 bool
		want  any
		name  string
	}{
		{[]string{plain}, false, &http1.Client{}, "epoll"},
		{[]string{"127.0.0.1:1", plain}, false, &http1.Client{}, "epoll"},
		{[]string{secure}, false, &http1.Client{}, "epoll"},
		{[]string{plain, secure}, false, &http1.Client{}, "epoll"},
		{[]string{plain}, true, &http1.Client{}, "epoll"},
		{[]string{secure}, true, &nethttp.Client{}, "net/http"},
		{[]string{plain, secure}, true, &nethttp.Client{}, "net/http"},
	} {
		config := backends.Config{Transport: backends.Transport{HTTP2: c.http2}}
		for _, url := range c.urls {
			config.Endpoints = append(config.Endpoints, backends.Endpoint{URL: url})
		}
		require.Equal(t, c.name, client.For(&config.Transport, config.Endpoints...))
		b, err := client.Open(&config, route{})
		require.NoError(t, err)
		require.IsType(t, c.want, b)
	}
	config := backends.Config{Endpoints: []backends.Endpoint{{URL: plain}},
		Transport: backends.Transport{Proxy: "http://p.invalid:1"}}
	_, err := client.Open(&config, route{})
	require.ErrorContains(t, err, `http://p.invalid:1 cannot be reached: the host name "p.invalid" did not resolve`)
	_, err = client.Open(&backends.Config{Endpoints: []backends.Endpoint{{URL: "ftp://h"}}}, route{})
	require.ErrorContains(t, err, `has the unsupported scheme "ftp"`)
}
