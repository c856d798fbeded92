package compare

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/run/record"
)

// The change of two tunes lies between the rates that both may have. The change has no interval if either lacks one.
func TestIntervalsOfTunes(t *testing.T) {
	i, err := tuneInterval(&Result{Low: 8, High: 10}, &Result{Low: 12, High: 16})
	require.NoError(t, err)
	require.InDelta(t, 0.2, i.Low, 1e-12)
	require.InDelta(t, 1, i.High, 1e-12)
	i, err = tuneInterval(&Result{Low: 8, High: 8}, &Result{Low: 8, High: 8})
	require.NoError(t, err)
	require.Equal(t, &Interval{}, i)
	inf := math.Inf(1)
	for _, bad := range []Result{{Low: 0, High: 5}, {Low: -1, High: 5}, {Low: 5, High: 4}, {Low: 5, High: inf}, {}} {
		good := &Result{Low: 1, High: 2}
		_, err := tuneInterval(&bad, good)
		require.Error(t, err, bad)
		_, err = tuneInterval(good, &bad)
		require.Error(t, err, bad)
	}
}

// A row per accelerator needs the number of both sides, and both results.
func TestWhenThereIsARowPerAccelerator(t *testing.T) {
	v := 8.0
	for _, c := range []struct {
		a, b         int
		baseV, bothV *float64
		want         bool
	}{{1, 1, &v, &v, true}, {2, 4, &v, &v, true}, {0, 1, &v, &v, false}, {1, 0, &v, &v, false}, {1, 1, nil, &v, false},
		{1, 1, &v, nil, false}, {0, 0, &v, &v, false}} {
		p := &Pair{Base: &Result{Scenario: "Offline", Accelerators: c.a, Value: c.baseV},
			Other: &Result{Scenario: "Offline", Accelerators: c.b, Value: c.bothV}}
		p.addRows(Settings{})
		require.Equal(t, c.want, len(p.Rows) == 2, c)
		if c.want {
			require.Equal(t, "per accelerator", p.Rows[1].Name)
			require.Equal(t, []float64{8 / float64(c.a), 8 / float64(c.b)}, []float64{*p.Rows[1].Base, *p.Rows[1].Other})
		}
	}
}

// Every fact of a record that may change a result is compared.
func TestFactsThatAreCompared(t *testing.T) {
	rec := &record.Record{}
	rec.Tool.Version, rec.Tool.LoadGen, rec.Host.Kernel, rec.Host.CPUModel, rec.Host.CPUsAllowed = "1", "6", "5.10", "x",
		4
	r := &Result{}
	r.addFacts(rec)
	has := map[string]string{}
	for _, s := range r.settings {
		require.Equal(t, machineGroup, s.group)
		has[s.name] = s.value
	}
	require.Equal(t, map[string]string{"mlperf-go": "1", "LoadGen": "6", "kernel": "5.10", "cpu": "x", "cpus": "4"}, has)
	r = &Result{}
	r.addFacts(&record.Record{})
	require.Len(t, r.settings, 1, "what is not known is not compared; a number always is")
}

// Limits are the judged ones, or the configured ones of a scenario that has limits.
func TestConfiguredLimits(t *testing.T) {
	of := func(scenario string, tails []record.Tail, settings ...setting) string {
		r := &Result{settings: settings}
		return r.configuredLimits(&record.Record{Scenario: scenario, Tails: tails})
	}
	ttft := setting{configGroup, "ttft-limit", "2s"}
	judged := of("Server", []record.Tail{{What: "time to first token", Limit: 2 * time.Second}})
	require.NotEmpty(t, judged)
	require.Contains(t, of("Server", nil, ttft), judged)
	require.Equal(t, of("Server", nil, ttft), of("Interactive", nil, ttft))
	require.Equal(t, of("Offline", nil), of("Offline", nil, ttft))
	require.Equal(t, of("Server", nil), of("Server", nil, setting{machineGroup, "ttft-limit", "2s"}), "another group")
	require.Equal(t, of("Server", nil), of("Server", nil, setting{configGroup, "other", "2s"}), "another setting")
}

// Quantiles of Student's distribution from its tables.
func TestTableOfStudentT(t *testing.T) {
	for _, c := range [][3]float64{{.95, 19, 1.7291}, {.975, 19, 2.0930}, {.995, 19, 2.8609}, {.975, 30, 2.0423},
		{.995, 30, 2.7500}, {.975, 100, 1.9840}, {.5, 19, 0}, {.025, 19, -2.0930}} {
		require.InDelta(t, c[2], studentT(c[0], c[1]), 2e-4, c)
	}
	require.InDelta(t, 3.8834, studentT(.9995, 19), 2e-3)
}
