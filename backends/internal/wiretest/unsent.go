package wiretest

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
)

// hasty starts a server that answers after reading the beginning of a request, and reads nothing more.
func (k *Contract) hasty(t testing.TB, answer string) (url string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	url = k.url("http://" + l.Addr().String())
	if k.Secure {
		l = Secured(l)
	}
	done := make(chan struct{})
	serve(t, l, func(c net.Conn, _ int) {
		if _, err := io.ReadFull(c, make([]byte, 4<<10)); err == nil {
			_, _ = io.WriteString(c, answer)
			<-done
		}
	})
	t.Cleanup(func() { close(done) }) // runs before that of serve
	return url
}

// Unsent requires that answers fail if the server has read the beginning of the request only. length is that of the
// request in bytes.
func (k *Contract) Unsent(t *testing.T, length int) {
	body := fmt.Appendf(nil, `{"prompt":"%s"}`, bytes.Repeat([]byte("x"), length))
	for _, c := range []struct {
		name, answer string
		stream       bool
		want         backends.Reason
	}{
		{"whole", Whole(200, "application/json", Good), false, "unsent"},
		{"a stream", Streamed, true, "unsent"},
		{"an error event", StreamHead + Chunked(`data: {"error":{"message":"gone"}}`+"\n\n"), true, "server_error_event"},
		{"too large", Whole(413, "application/json", `{"error":"too large"}`), true, "http_413"},
		{"unauthorized", Whole(401, "application/json", `{"error":"no"}`), false, "http_401"},
	} {
		t.Run(fmt.Sprintf("%s, %d bytes", c.name, length), func(t *testing.T) {
			t.Parallel()
			config := Config(k.hasty(t, c.answer))
			config.Stream, config.Body = c.stream, func(int) []byte { return body }
			r := k.Ask(t, config, 1)
			require.Equal(t, c.want, r.Results[1].Reason, r.Attempts[0].Detail)
		})
	}
	t.Run("read whole", func(t *testing.T) {
		config := Config(k.Raw(t, Answers(Streamed)))
		config.Body = func(int) []byte { return body }
		r := k.Ask(t, config, 5)
		for _, res := range r.Results {
			require.Equal(t, backends.OK, res.Reason)
		}
	})
}

func (k *Contract) unsent(t *testing.T) { k.Unsent(t, 12<<20) }
