package http1_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/wiretest"
	"github.com/mlperf-go/mlperf-go/internal/golden"
)

// TestGoldenSameAsNetHTTP replays every recorded reply, whatever it was the answer to, to both clients.
func TestGoldenSameAsNetHTTP(t *testing.T) {
	composed, err := filepath.Glob(filepath.Join(golden.Dir(t, "wire"), "*", "response.txt"))
	require.NoError(t, err)
	recorded, err := filepath.Glob(filepath.Join(golden.Dir(t, "wire-real"), "*.txt"))
	require.NoError(t, err)
	require.NotEmpty(t, composed)
	require.NotEmpty(t, recorded)
	for _, file := range append(composed, recorded...) {
		t.Run(filepath.Base(filepath.Dir(file))+"/"+strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			_, reply, ok := strings.Cut(string(data), "HTTP/1.1 ")
			if !ok {
				t.Skip("no reply in it")
			}
			header, body, _ := strings.Cut("HTTP/1.1 "+reply, "\r\n\r\n")
			if filepath.Base(file) != "response.txt" && strings.Contains(strings.ToLower(header), "transfer-encoding: chunked") {
				body = fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(body), body) // recorded without its chunks
			}
			for _, stream := range []bool{true, false} {
				set := func(c *backends.Config) { c.Stream, c.NeedIDs = stream, false }
				same(t, t, set, func() wiretest.Script { return wiretest.HalfCloses(header + "\r\n\r\n" + body) })
			}
		})
	}
}
