package nethttp_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/wiretest"
)

// Answers that come twice are seen over TLS, through a proxy and through a tunnel: with ids no answer is taken for
// another's, and without ids they are counted.
func TestAnsweredTwice(t *testing.T) {
	const n = 60
	for _, way := range []string{"TLS", "proxy", "tunnel"} {
		for _, use := range []backends.IDUse{backends.IDsRequired, backends.IDsOff} {
			t.Run(fmt.Sprintf("%s, use %d", way, use), func(t *testing.T) {
				t.Parallel()
				config := wiretest.Naming(t, way != "proxy", func(asked *wiretest.Named) string {
					if asked.Number == 20 {
						return ""
					}
					return asked.Answer() + asked.Answer()
				})
				switch way {
				case "proxy": // the server itself, which is asked for the address of another
					config.Proxy, config.Endpoints[0].URL = config.Endpoints[0].URL, "http://192.0.2.1:1"
				case "tunnel":
					config.Proxy = serveProxy(t).url
				}
				config.Endpoints[0].IDs, config.Concurrency = use, 3
				config.Body = func(i int) []byte { return fmt.Appendf(nil, `{"prompt":[%d],"stream":true}`, i) }
				r, answers, _ := contract.Unasked(t, config, n)
				require.Positive(t, answers)
				for id, res := range r.Results {
					if use == backends.IDsRequired && res.Reason == backends.OK {
						require.Equal(t, []int32{int32(wiretest.OwnToken(int(id) - 1)), 6}, res.Tokens, "query %d", id)
					}
				}
			})
		}
	}
}
