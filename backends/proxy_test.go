package backends

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseProxy(t *testing.T) {
	for text, want := range map[string]string{"http://p:3128": "http://p:3128", "p:3128/": "http://p:3128",
		"https://[::1]:1": "https://[::1]:1"} {
		u, err := ParseProxy(text)
		require.NoError(t, err)
		require.Equal(t, want, u.String())
	}
	none, err := ParseProxy("")
	require.NoError(t, err)
	require.Nil(t, none)
	for text, want := range map[string]string{
		"socks5://p:1": `has the unsupported scheme "socks5"`, "http://me:secret@p:1": "contains a user name",
		"http://me:secret@[p": "is not a URL",
		"http://:1":           "is not just a host", "http://p:0": "is not just a host",
		"http://p/path": "is not just a host",
		"p:1?q":         "is not just a host",
	} {
		_, err := ParseProxy(text)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "secret")
	}
}
