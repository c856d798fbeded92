package bench_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/run/runtest"
	"github.com/mlperf-go/mlperf-go/schema/schematest"
	"github.com/mlperf-go/mlperf-go/sim"
	"github.com/mlperf-go/mlperf-go/workload/bench"
	"github.com/mlperf-go/mlperf-go/workload/dialect"
)

// TestOverSaturation: at twice the capacity of the simulator a stage ends early and the run is INVALID; well below it
// the stage runs to its end.
func TestOverSaturation(t *testing.T) {
	const capacity = 40 // requests a second: four at a time, each five tokens long
	limits := "kind: over_saturation, min_seconds: 2, minimum_ttft: 0.2, minimum_window_size: 3"
	constant := func(rates string) string {
		return "profile: {kind: constant, rate: [" + rates + "]}\n  constraints: [{kind: max_duration, seconds: 6}, {" +
			limits
	}
	for name, c := range map[string]struct {
		spec      string
		stages    int
		saturated []bool
		verdict   record.Verdict
		note      string
	}{
		"twice": {constant("80, 10") + "}]", 2, []bool{true, false}, record.Invalid, "stage 0 was ended early: load."},
		"all": {constant("80, 10") + ", stopping_scope: all}]", 1, []bool{true}, record.Invalid,
			"stage 0 was ended early: load.over_saturation: after "},
		"monitor": {constant("80") + ", mode: monitor}]", 1, []bool{true}, record.Valid,
			"stage 0: the server was over-saturated from "},
		"half": {constant("20") + "}]", 1, []bool{false}, record.Valid, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, _ := runtest.Simulate(t, 20*time.Millisecond, 20*time.Millisecond, func(c *sim.Config) { c.MaxNumSeqs = 4 })
			p, err := dialect.Parse("guidellm", "w.yaml", []byte("spec:\n  backend: {kind: openai_http}\n  "+c.spec+
				"\n  data: [{kind: synthetic_text, prompt_tokens: 5, output_tokens: 5}]\n"), dialect.Options{})
			require.NoError(t, err)
			folder := t.TempDir()
			r, err := bench.Run(t.Context(), bench.Options{Profile: p, Endpoints: []string{url}, Folder: folder})
			require.NoError(t, err)
			schematest.Records(t, folder)
			require.Len(t, r.Stages, c.stages)
			for i, want := range c.saturated {
				require.Equal(t, want, r.Stages[i].SaturatedNS > 0, "stage %d", i)
				require.Equal(t, want && name != "monitor", r.Stages[i].BySaturation)
			}
			require.Contains(t, strings.Join(r.Notes, "\n"), c.note)
			if c.verdict == record.Valid && len(r.Reasons) == 1 && r.Reasons[0].LimitsClient() {
				return // a busy machine
			}
			require.Equal(t, c.verdict, r.Verdict, "%v", r.Reasons)
			if c.verdict == record.Invalid {
				require.Contains(t, r.Reasons[0].Text, "load.over_saturation: after ")
				require.Less(t, r.Stages[0].Requests, int64(6*2*capacity))
				require.Positive(t, r.Stages[0].Unsent)
			}
		})
	}
}
