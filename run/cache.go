package run

import (
	"context"

	"github.com/mlperf-go/mlperf-go/run/prefixcache"
)

// emptyCaches empties the prefix caches of the servers, which the preflight, the warm-up or an earlier test has filled.
// With --reset-cache require a server that cannot do it ends the run before its test.
func (e *evidence) emptyCaches(ctx context.Context) error {
	asking, stop := narrate(e.config, e.observer)
	defer stop()
	did, notes, err := prefixcache.Empty(ctx, e.plan.Config.String("reset-cache"), e.driver, asking)
	e.caches, e.notes = did, append(e.notes, notes...)
	return err
}
