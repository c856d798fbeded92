package plan

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run/exit"
)

// offlineWindow is the number of requests in flight per endpoint in Offline: more would wait in the server's or a
// proxy's queue.
const offlineWindow = 1024

// defaultBatch is the number of prompts in one request of the strategy batch: more hide when each was answered
// (docs/reference/wire-protocols.md#connections).
const defaultBatch = 64

// strategy is a value of --offline-strategy: how many requests are in flight.
type strategy struct {
	concurrency func(endpoints int) int // without --concurrency; 0: no limit
	perEndpoint int                     // 0: no limit
	batch       bool
}

var strategies = map[string]strategy{
	"window": {concurrency: func(endpoints int) int { return offlineWindow * endpoints }},
	"all":    {concurrency: func(int) int { return 0 }},
	"serial": {concurrency: func(endpoints int) int { return endpoints }, perEndpoint: 1},
	"batch":  {concurrency: func(endpoints int) int { return endpoints }, batch: true},
}

// offline returns the strategy of an Offline test; false: the test is not Offline.
func (cl *Client) offline() (strategy, bool) {
	return strategies[cl.Config.String("offline-strategy")], cl.Scenario.LoadGen == models.Offline
}

// offlineDefaults are the strategy's suggestions for settings that are not set.
func (cl *Client) offlineDefaults() []suggestion {
	s, ok := cl.offline()
	if !ok {
		return nil
	}
	list := []suggestion{{"concurrency", strconv.Itoa(s.concurrency(max(1, len(cl.Config.Strings("endpoint")))))}}
	if s.batch {
		list = append(list, suggestion{"batch-size", strconv.Itoa(defaultBatch)})
	}
	return list
}

// checkOffline rejects settings that contradict the strategy, and notes one that has no effect.
func (cl *Client) checkOffline() error {
	s, ok := cl.offline()
	name := cl.Config.String("offline-strategy")
	if !ok {
		return nil
	}
	if name == "all" && cl.Config.IsSet("concurrency") && cl.Config.Int("concurrency") > 0 {
		return exit.Usage(exit.CodeOfflineStrategy, "Leave --concurrency out, or choose --offline-strategy window",
			"--offline-strategy all has every sample in flight at once, and "+
				"--concurrency %d bounds them", cl.Config.Int("concurrency"))
	}
	if n := max(1, len(cl.Config.Strings("endpoint"))); s.perEndpoint > 0 && cl.Config.IsSet("concurrency") &&
		(cl.Config.Int("concurrency") == 0 || cl.Config.Int("concurrency") > n) {
		cl.notices = append(cl.notices, fmt.Sprintf("--concurrency %d does nothing with --offline-strategy %s: it has one "+
			"request in flight per endpoint", cl.Config.Int("concurrency"), name))
	}
	if cl.Config.IsSet("batch-size") && !s.batch {
		cl.notices = append(cl.notices, "--batch-size does nothing without --offline-strategy batch: every sample is a "+
			"request of its own, and the server batches")
	}
	return nil
}

// place puts the strategy into a backend's configuration.
func (cl *Client) place(c *backends.Config) error {
	s, ok := cl.offline()
	if !ok {
		return nil
	}
	c.PerEndpoint = s.perEndpoint
	if !s.batch {
		return nil
	}
	c.Batch = cl.Config.Int("batch-size")
	if !slices.Contains([]string{"completions", "generate"}, c.API) {
		return exit.Usage(exit.CodeOfflineStrategy, "Choose --api completions, or another --offline-strategy",
			"the API %s accepts one prompt in a request, and --offline-strategy "+
				"batch sends several", c.API)
	}
	return nil
}
