package wirecase

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTranscript(t *testing.T) {
	c, err := transcript([]byte("### shortened\n### POST /v1/x\n### " +
		"{\"prompt\":[[1],[2]],\"stream\":true}\n###\nHTTP/1.1 200 OK\r\nContent-Type: a/b\r\nTransfer-Encoding: " +
		"chunked\r\n\r\ndata: x\n\n"))
	require.NoError(t, err)
	require.Equal(t, []any{"POST", "/v1/x", 200, "a/b", "data: x\n\n", true, 2},
		[]any{c.Method, c.Path, c.Status, c.ContentType, string(c.Body), c.Streams(), c.Prompts()})
	require.Contains(t, string(c.Response), "\r\n\r\n9\r\ndata: x\n\n\r\n0\r\n\r\n")
	for _, bad := range []string{"### POST /x\n", "### nothing\nHTTP/1.1 200 OK\r\n\r\n", "### GET /x\nHTTP/1.1 OK",
		"### GET /x\nHTTP/1.1 OK x\r\n\r\n"} {
		_, err := transcript([]byte(bad))
		require.Error(t, err, bad)
	}
}

func TestAll(t *testing.T) {
	all := All(t)
	names := map[string]bool{}
	for _, c := range all {
		require.NotEmpty(t, c.Path, c.Name)
		require.NotZero(t, c.Status, c.Name)
		require.False(t, names[c.Name], c.Name)
		names[c.Name] = true
	}
	require.NotEmpty(t, all)
}
