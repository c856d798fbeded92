package nethttp

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// net/http may report late that a request was written: that is not an answer to half a request. A byte that it never
// read is.
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
