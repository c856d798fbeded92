package plan

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/config"
	"github.com/mlperf-go/mlperf-go/models"
)

// A benchmark with limits per token has none for the whole answer, and only Server has limits.
func TestLimitOfTheWholeAnswer(t *testing.T) {
	limits := func(scenario models.Scenario, perToken bool) Limits {
		return Limits{&Test{Row: &models.Row{UseTokenLatencies: perToken},
			Scenario: &models.ScenarioRow{LoadGen: scenario, TargetLatency: time.Second}}}
	}
	l := limits(models.Server, false)
	require.Equal(t, time.Second, l.latencyLimit())
	l = limits(models.Server, true)
	require.Zero(t, l.latencyLimit())
	l = limits(models.Offline, false)
	require.Zero(t, l.latencyLimit())
}

// Any limit of a benchmark's row makes a test limited, however short it is.
func TestLimitsOfARow(t *testing.T) {
	for row, want := range map[models.ScenarioRow]bool{{}: false, {TTFTLimit: 1}: true, {TPOTLimit: 1}: true,
		{TargetLatency: 1}: true, {MinDuration: 1, MinQueries: 1}: false} {
		l := Limits{&Test{Config: config.New(config.RunSettings()), Scenario: &row}}
		require.Equal(t, want, l.Limited(), "%+v", row)
		require.Equal(t, NoLimit, l.limit("ttft-limit"))
	}
}
