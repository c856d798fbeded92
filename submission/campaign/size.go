package campaign

import (
	"slices"
	"strconv"

	"github.com/mlperf-go/mlperf-go/internal/config"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run/plan"
)

// rehearsalSize sets the length of a rehearsal's tests. The zero value changes nothing.
type rehearsalSize struct {
	name         string
	auditQueries int // upper limit of an audit's queries; 0: the audit's own number
	attempts     int
	table        map[models.Scenario][]sizeDefault // by LoadGen's scenario
}

// sizeDefault is the size's value of a setting that the user has not set.
type sizeDefault struct{ name, text string }

// rehearsalSizes are the sizes by name, the default first. A tiny rehearsal ends in minutes on a server that answers a
// few requests a second. LoadGen judges p90 there, for which its early stopping needs 44 queries instead of 459
// (docs/reference/loadgen.md#early-stopping). There are just enough rows for a score.
var rehearsalSizes = []rehearsalSize{
	{name: "normal", auditQueries: 512, attempts: 2},
	{name: "tiny", auditQueries: 32, attempts: 3, table: map[models.Scenario][]sizeDefault{
		models.Offline: {{"samples", "32"}, {"min-queries", "64"}},
		models.Server: {{"samples", "32"}, {"min-queries", "64"}, {"latency-percentile", "90"}, {"min-duration", "0"},
			{"target-qps", "150"}},
		models.SingleStream: {{"samples", "32"}, {"min-queries", "64"}},
	}},
}

// rows returns the rows of the synthetic data set.
func (s rehearsalSize) rows() int {
	for _, d := range s.table[models.Offline] {
		if n, err := strconv.Atoi(d.text); d.name == "samples" && err == nil {
			return n
		}
	}
	return plan.RehearsalSamples
}

// defaults returns the size's settings of a scenario that the user has not set.
func (s rehearsalSize) defaults(row *models.ScenarioRow, e *config.Effective) []sizeDefault {
	return slices.DeleteFunc(slices.Clone(s.table[row.LoadGen]), func(d sizeDefault) bool { return e.IsSet(d.name) })
}
