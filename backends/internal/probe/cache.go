package probe

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/nethttp"
)

// A server whose last requests still use their prompts reports that, and is asked again.
const (
	emptyPatience = 10 * time.Second
	emptyPause    = 200 * time.Millisecond
)

// CacheEmptier returns the function EmptyCache of a backends.Description whose servers empty their prefix cache on a
// POST to path.
func CacheEmptier(path string) func(context.Context, backends.Endpoint, *backends.Config) (bool, error) {
	return func(ctx context.Context, e backends.Endpoint, c *backends.Config) (bool, error) {
		return emptyCache(ctx, c, e, path)
	}
}

// emptyCache posts until the cache is empty. While requests are running, vLLM answers {"success": false} and SGLang
// 400; older versions of both answer 200 in any case (docs/reference/wire-protocols.md#prefix-caches).
func emptyCache(ctx context.Context, c *backends.Config, e backends.Endpoint, path string) (offered bool, err error) {
	for until := time.Now().Add(emptyPatience); ; {
		r, err := nethttp.Post(ctx, c, e, path, getTimeout)
		if err != nil {
			return true, err
		}
		if r.Status == http.StatusNotFound || r.Status == http.StatusMethodNotAllowed {
			return false, nil
		}
		var body struct {
			Success *bool `json:"success"`
		}
		if r.Status == http.StatusOK && (json.Unmarshal(r.Body, &body) != nil || body.Success == nil || *body.Success) {
			return true, nil
		}
		busy := r.Status == http.StatusOK || r.Status == http.StatusBadRequest
		if !busy || time.Now().After(until) {
			return true, fmt.Errorf("POST %s: the server did not empty its prefix cache (HTTP %d%s); is anyone else using it, "+
				"and does the key allow it?", r.URL, r.Status, excerpt(r))
		}
		select {
		case <-ctx.Done():
			return true, context.Cause(ctx)
		case <-time.After(emptyPause):
		}
	}
}
