package prefixcache

import (
	"context"
	"fmt"
	"sync"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/internal/crash"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/record"
)

// Empty makes every endpoint of a configuration empty its cache, all at once. It returns what each one did, by
// endpoint, and a note for each that failed; with the mode "off" it asks none and returns nil. With the mode "require"
// a server that does not empty its cache is an error.
func Empty(ctx context.Context, mode string, d backends.Driver, c *backends.Config) (did []record.PrefixCache,
	notes []string, err error) {
	if mode == "off" {
		return nil, nil, nil
	}
	did = make([]record.PrefixCache, len(c.Endpoints))
	errs := make([]error, len(c.Endpoints))
	var all sync.WaitGroup
	for i, endpoint := range c.Endpoints {
		all.Go(func() {
			defer crash.Catch()
			did[i], errs[i] = empty(ctx, d, endpoint, c)
		})
	}
	all.Wait()
	for i, endpoint := range c.Endpoints {
		switch {
		case mode == "require" && did[i] == record.CacheNotOffered:
			return did, notes, exit.Environment(exit.CodeResetCache,
				"Start vLLM with VLLM_SERVER_DEV_MODE=1 (SGLang always offers it), restart "+
					"the server before each test, or give "+
					"--reset-cache auto", "the server at %s offers no way to empty its prefix cache, and "+
					"--reset-cache require needs one", endpoint.URL)
		case mode == "require" && errs[i] != nil:
			return did, notes, exit.Environment(exit.CodeResetCache, "Give --reset-cache auto to continue without emptying "+
				"it", "%w", errs[i])
		case errs[i] != nil:
			notes = append(notes, fmt.Sprintf("%s: %v", endpoint.URL, errs[i]))
		}
	}
	return did, notes, nil
}

func empty(ctx context.Context, d backends.Driver, e backends.Endpoint, c *backends.Config) (record.PrefixCache,
	error) {
	ask := d.Describe().EmptyCache
	if ask == nil {
		return record.CacheNotOffered, nil
	}
	switch offered, err := ask(ctx, e, c); {
	case err != nil:
		return record.CacheFailed, err
	case !offered:
		return record.CacheNotOffered, nil
	}
	return record.CacheEmptied, nil
}
