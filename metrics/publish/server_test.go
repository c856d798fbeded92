package publish

import (
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func get(t *testing.T, url string) (status int, body string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := client.Get(url)
	require.NoError(t, err)
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	return r.StatusCode, string(text)
}

// Labels are escaped, whatever they contain.
func TestPage(t *testing.T) {
	s, err := Start(":0", map[string]string{"model": "a\"b\\c\nd", "kind": "x"})
	require.NoError(t, err)
	defer s.Close()
	require.True(t, strings.HasPrefix(s.URL(), "http://127.0.0.1:"), s.URL())
	status, body := get(t, s.URL())
	require.Equal(t, http.StatusOK, status)
	require.Empty(t, body, "nothing was set")
	s.Set([]Sample{{"x_total", "counts x", true, 5}, {"y", "is y", false, 0.25}})
	_, body = get(t, s.URL())
	require.Equal(t, "# HELP x_total counts x\n# TYPE x_total counter\n"+
		"x_total{kind=\"x\",model=\"a\\\"b\\\\c\\nd\"} 5\n"+
		"# HELP y is y\n# TYPE y gauge\ny{kind=\"x\",model=\"a\\\"b\\\\c\\nd\"} 0.25\n", body)
	status, _ = get(t, strings.TrimSuffix(s.URL(), "metrics"))
	require.Equal(t, http.StatusNotFound, status)
}

func TestAddresses(t *testing.T) {
	_, err := Start("9400", nil)
	var malformed *net.AddrError
	require.ErrorAs(t, err, &malformed)
	first, err := Start("127.0.0.1:0", nil)
	require.NoError(t, err)
	defer first.Close()
	_, err = Start("127.0.0.1:99999", nil)
	require.ErrorAs(t, err, &malformed)
	_, err = Start(first.address, nil)
	require.False(t, errors.As(err, &malformed))
	require.ErrorContains(t, err, "address already in use")
	var none *Server
	none.Set(nil)
	none.Close()
}
