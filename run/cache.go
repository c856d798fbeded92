package run

import (
	"context"
	"fmt"
	"sync"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/internal/crash"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/record"
)

// emptyCaches empties the prefix cache of every server. The preflight, the warm-up or an earlier test has filled it,
// and cached prompts would be served faster than for other clients. The record lists servers without that route; with
// --reset-cache require they end the run before its test (docs/reference/wire-protocols.md#prefix-caches).
func (e *evidence) emptyCaches(ctx context.Context) error {
	mode := e.plan.Config.String("reset-cache")
	if mode == "off" {
		return nil
	}
	endpoints := e.config.Endpoints
	asking, stop := narrate(e.config, e.observer)
	defer stop()
	e.caches = make([]record.PrefixCache, len(endpoints))
	errs := make([]error, len(endpoints))
	var all sync.WaitGroup
	for i, endpoint := range endpoints {
		all.Go(func() {
			defer crash.Catch()
			e.caches[i], errs[i] = emptyCache(ctx, e.driver, endpoint, asking)
		})
	}
	all.Wait()
	for i, endpoint := range endpoints {
		switch {
		case mode == "require" && e.caches[i] == record.CacheNotOffered:
			return exit.Environment(exit.CodeResetCache,
				"Start vLLM with VLLM_SERVER_DEV_MODE=1 (SGLang always offers it), restart "+
					"the server before each test, or give "+
					"--reset-cache auto", "the server at %s offers no way to empty its prefix cache, and "+
					"--reset-cache require needs one", endpoint.URL)
		case mode == "require" && errs[i] != nil:
			return exit.Environment(exit.CodeResetCache, "Give --reset-cache auto to continue without emptying "+
				"it", "%w", errs[i])
		case errs[i] != nil:
			e.notes = append(e.notes, fmt.Sprintf("%s: %v", endpoint.URL, errs[i]))
		}
	}
	return nil
}

func emptyCache(ctx context.Context, d backends.Driver, e backends.Endpoint, c *backends.Config) (record.PrefixCache,
	error) {
	empty := d.Describe().EmptyCache
	if empty == nil {
		return record.CacheNotOffered, nil
	}
	switch offered, err := empty(ctx, e, c); {
	case err != nil:
		return record.CacheFailed, err
	case !offered:
		return record.CacheNotOffered, nil
	}
	return record.CacheEmptied, nil
}
