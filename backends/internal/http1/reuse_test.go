package http1_test

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/wiretest"
)

// Of several idle connections the most recently used one is taken: the others grow old and are closed, and what is
// asked next finds one that the server has surely not given up.
func TestTheMostRecentlyUsedConnectionIsTaken(t *testing.T) {
	const many, then = 6, 20
	gate := make(chan struct{})
	var mu sync.Mutex
	var used []int // connections, in the order of requests
	url := wiretest.Raw(t, func(c net.Conn, conn, _ int) bool {
		mu.Lock()
		used = append(used, conn)
		if len(used) == many {
			close(gate)
		}
		mu.Unlock()
		<-gate // the first ones are under way at once
		_, err := c.Write([]byte(wiretest.Streamed))
		return err == nil
	})
	source, r := wiretest.NewQueries(many), wiretest.NewRecorder()
	b, err := open(wiretest.Config(url))
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- b.Serve(context.Background(), source, r) }()
	for n := many; n < many+then; n++ {
		require.Eventually(t, func() bool { return r.Completed() == n }, wiretest.Patience, 100*time.Microsecond)
		source.Issue(1)
	}
	source.End()
	require.NoError(t, <-served)
	r.ExactlyOnce(t, many+then)
	for _, res := range r.Results {
		require.Equal(t, backends.OK, res.Reason)
	}
	require.Len(t, used, many+then)
	later := map[int]bool{}
	for _, conn := range used[many:] {
		later[conn] = true
	}
	require.LessOrEqual(t, len(later), 2, "one, and another where a machine stood still for so long that it was "+
		"closed: %v", used)
}
