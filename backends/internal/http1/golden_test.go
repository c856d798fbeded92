package http1_test

import (
	"testing"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/wirecase"
	"github.com/mlperf-go/mlperf-go/backends/internal/wiretest"
)

// TestGoldenSameAsNetHTTP replays every recorded reply, whatever it was the answer to, to both clients.
func TestGoldenSameAsNetHTTP(t *testing.T) {
	all := wirecase.All(t)
	for i := range all {
		t.Run(all[i].Name, func(t *testing.T) {
			for _, stream := range []bool{true, false} {
				set := func(c *backends.Config) { c.Stream, c.NeedIDs = stream, false }
				same(t, t, set, func() wiretest.Script { return wiretest.HalfCloses(string(all[i].Response)) })
			}
		})
	}
}
