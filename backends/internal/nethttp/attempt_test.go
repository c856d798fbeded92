package nethttp

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
)

// The fields of one request are in no other one.
func TestFieldsOfARequest(t *testing.T) {
	e := &endpoint{header: http.Header{"User-Agent": {"mlperf-go"}}}
	c := &Client{config: backends.Config{Body: func(int) []byte { return []byte("{}") },
		Head: func(index int) []byte { return fmt.Appendf(nil, "x-session: a-%d\r\n", index) }}}
	for i := range 2 {
		r := &request{}
		r.query.Index = i
		header, _ := e.identify(c, r)
		require.Equal(t, http.Header{"User-Agent": {"mlperf-go"}, "X-Session": {fmt.Sprint("a-", i)}}, header)
	}
	require.Len(t, e.header, 1)
}

// net/http may report late that a request was written. A late report does not make the answer one to half a request,
// but a byte that was never read does.
func TestSentWaitsForTheReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := trace{written: make(chan struct{}, 1), body: newBody(nil, []byte("{}"))}
		begun := time.Now()
		require.False(t, x.sent(), "two bytes were not read")
		require.Zero(t, time.Since(begun), "and that needs no wait")
		p := make([]byte, 8)
		n, err := x.body.Read(p)
		require.Equal(t, 2, n)
		require.NoError(t, err)
		time.AfterFunc(2*time.Second, func() { x.written <- struct{}{} })
		require.True(t, x.sent(), "the report came two seconds late")
		require.False(t, x.sent(), "it does not come twice")
		require.Equal(t, 2*time.Second+reportGrace, time.Since(begun))
	})
}
