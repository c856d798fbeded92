package client_test

import (
	"os"
	"regexp"
	"strings"
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

const plain, secure, socket = "http://127.0.0.1:1", "https://127.0.0.1:1", "unix:///run/none.sock"

func TestTheURLSelectsTheClient(t *testing.T) {
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

// TestThePageNamesTheClient compares the table in docs/reference/protocols.md with the choice: its rows are right, and
// cover every set of options with every kind of endpoint.
func TestThePageNamesTheClient(t *testing.T) {
	page, err := os.ReadFile("../../../docs/reference/protocols.md")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(page), "\n## Which client sends what\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")
	named := map[backends.Transport]map[string]string{}
	for line := range strings.Lines(section) {
		cells := strings.Split(strings.Trim(line, "|\n"), "|")
		if len(cells) != 3 || !strings.Contains(cells[2], "`") {
			continue
		}
		var options backends.Transport
		options.HTTP2 = strings.Contains(cells[0], "`--http2`")
		if strings.Contains(cells[0], "`--proxy`") {
			options.Proxy = "http://127.0.0.1:2"
		}
		if named[options] == nil {
			named[options] = map[string]string{}
		}
		for _, m := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(cells[1], -1) {
			require.NotContains(t, named[options], m[1], "two rows name it")
			named[options][m[1]] = strings.Trim(cells[2], " `")
		}
	}
	for _, options := range []backends.Transport{{}, {HTTP2: true}, {Proxy: "http://127.0.0.1:2"},
		{HTTP2: true, Proxy: "http://127.0.0.1:2"}} {
		chosen := map[string]string{}
		for _, url := range []string{plain, secure, socket} {
			scheme, _, _ := strings.Cut(url, ":")
			if options.Proxy != "" && url == socket {
				continue // package plan refuses it
			}
			chosen[scheme] = client.For(&options, backends.Endpoint{URL: url})
		}
		require.Equal(t, chosen, named[options], "%+v", options)
	}
	require.Len(t, named, 4)
}
