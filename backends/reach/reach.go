package reach

import (
	"context"
	"time"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/nethttp"
)

// Try asks the endpoint for /health and accepts any HTTP answer within timeout. The server's certificate is not
// checked, because nothing secret is sent and the answer is not used. The error is a *backends.EndpointError.
func Try(ctx context.Context, endpoint string, way backends.Transport, timeout time.Duration) error {
	way.InsecureSkipVerify, way.CAFile = true, ""
	c := &backends.Config{Transport: way}
	_, err := nethttp.Get(ctx, c, backends.Endpoint{URL: endpoint}, "/health", timeout)
	return err
}
