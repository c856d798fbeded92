package backends

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseEndpoint(t *testing.T) {
	for text, want := range map[string]string{
		"http://127.0.0.1:8000":              "http://127.0.0.1:8000",
		"http://127.0.0.1:8000/":             "http://127.0.0.1:8000",
		" host:8000 ":                        "http://host:8000",
		"https://gw.example/llm/v1":          "https://gw.example/llm",
		"http://h:1/v1/completions":          "http://h:1",
		"http://h:1/v1/chat/completions":     "http://h:1",
		"http://[::1]:8000":                  "http://[::1]:8000",
		"https://gw.example/prefix/v1/":      "https://gw.example/prefix",
		"http://completions.example/v1/":     "http://completions.example",
		"http://h:1/a/completions/v1/":       "http://h:1/a/completions",
		"HTTP://h:1":                         "HTTP://h:1",
		" unix:///run/v1/server.sock":        "unix:///run/v1/server.sock",
		"http://user-less.example:8000/v1/ ": "http://user-less.example:8000",
	} {
		e, err := ParseEndpoint(text)
		require.NoError(t, err, text)
		require.Equal(t, want, e.URL, text)
	}
}

func TestParseEndpointRefuses(t *testing.T) {
	for text, words := range map[string]string{
		"":                                    "no host",
		"http://":                             "no host",
		"ftp://h:1":                           `scheme "ftp"`,
		"unix://tmp/s":                        "names no socket",
		"unix:///":                            "names no socket",
		"unix:///tmp/":                        "names no socket",
		"unix:///" + strings.Repeat("x", 107): "of 108 bytes",
		"http//nohost":                        "lacks the colon",
		"https:/h:1":                          "lacks the colon",
		"http://u:geheim@h:1":                 "user name",
		"http://h:1?key=geheim":               "base URL",
		"http://u:geheim@h:port":              "not a URL",
		"http://h:1/%zz?t=geheim#":            "not a URL",
	} {
		_, err := ParseEndpoint(text)
		require.ErrorContains(t, err, words, text)
		if words == "user name" || words == "not a URL" {
			require.NotContains(t, err.Error(), "geheim")
		}
	}
}

// All spellings of a server's URL have one form.
func TestParseEndpoints(t *testing.T) {
	for text, twice := range map[string]bool{
		"http://a:1 http://a:2":                     false,
		"http://a:1 https://a:1":                    false,
		"http://a:1/x http://a:1/y":                 false,
		"http://a http://b http://A:80/v1":          true,
		"a:1 http://a:1/":                           true,
		"https://a https://a:443":                   true,
		"http://[::1]:1 http://[::1]:1":             true,
		"unix:///s http://a unix:///s":              true,
		"unix:///s unix:///S":                       false,
		"http://a:1/v1/chat/completions http://a:1": true,
	} {
		urls := strings.Fields(text)
		list, err := ParseEndpoints(urls)
		if twice {
			require.ErrorContains(t, err, "is given twice", text)
			continue
		}
		require.NoError(t, err, text)
		require.Len(t, list, len(urls))
	}
	_, err := ParseEndpoints([]string{"http://a", "ftp://b"})
	require.ErrorContains(t, err, "unsupported scheme")
}
