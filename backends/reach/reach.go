package reach

import (
	"context"
	"time"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/nethttp"
)

// Try asks the endpoint for /health and accepts any HTTP answer within timeout. proxy is the URL of an HTTP proxy,
// empty for none. TLS certificates are not checked, because nothing secret is sent and the answer is not used. The
// error is a *backends.EndpointError.
func Try(ctx context.Context, endpoint, proxy string, timeout time.Duration) error {
	c := &backends.Config{Transport: backends.Transport{InsecureSkipVerify: true, Proxy: proxy}}
	_, err := nethttp.Get(ctx, c, backends.Endpoint{URL: endpoint}, "/health", timeout)
	return err
}
