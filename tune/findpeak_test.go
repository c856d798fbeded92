package tune

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/config"
	"github.com/mlperf-go/mlperf-go/internal/mllog"
	"github.com/mlperf-go/mlperf-go/run/child"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/plan"
	"github.com/mlperf-go/mlperf-go/run/record"
)

// The lines of a search in LoadGen's log.
const (
	foundOne = "generic_message FindPeakPerformance: Found peak performance field: 0.75"
	tooHigh  = "error_runtime FindPeakPerformance: Initial lower bound does not satisfy performance constraints, msg: " +
		"Reduce target QPS."
)

// writePeakLog writes LoadGen's detail log with lines of a key and a text each.
func writePeakLog(t *testing.T, folder, lines string) {
	t.Helper()
	var text []byte
	for line := range strings.SplitSeq(lines, "\n") {
		key, value, _ := strings.Cut(line, " ")
		text = fmt.Appendf(text, ":::MLLOG {%s, %q: %q, \"value\": %q, %s}\n",
			`"time_ms": 1.5, "namespace": "mlperf::logging", "event_type": "POINT_IN_TIME"`, "key", key, value,
			`"metadata": {"is_error": false, "is_warning": false, "file": "loadgen.cc", "line_no": 1, "pid": 1, "tid": 2}`)
	}
	log := filepath.Join(folder, record.LogFolder, mllog.DetailName)
	require.NoError(t, os.MkdirAll(filepath.Dir(log), 0o700))
	require.NoError(t, os.WriteFile(log, text, 0o600))
}

// The rates on both sides of the result are kept, and printed with their outcomes.
func TestRangeOfAPeak(t *testing.T) {
	folder := t.TempDir()
	writePeakLog(t, folder, "generic_message FindBoundaries: Checking fields [2, 4)\n"+
		"generic_message FindPeakPerformanceBinarySearch: Testing the mid value of bounds [4, 8): 6\n"+
		"generic_message FindPeakPerformanceBinarySearch: Testing the mid value of bounds [4, 6): 5")
	s := &Peak{Schema: PeakSchema, Kind: peakKind, Started: time.Now()}
	require.Error(t, s.finish(t.Context(), &Options{Plan: &plan.Plan{Test: &plan.Test{
		Config: config.New(config.RunSettings())}}, Folder: folder, Budget: time.Hour}, child.Ended{}))
	require.Equal(t, []float64{4, 6}, []float64{s.Result.Low, s.Result.High})
	var text strings.Builder
	s.Print(&text)
	require.Equal(t, "test\trate\tlimits\tat\n1\t4/s\tmet\t0s\n2\t6/s\tmissed\t0s\n3\t5/s\tnot ended\t0s\n",
		text.String())
}

// The end of a search follows from its process, its log, the budget and the cause of its cancellation. The order of
// precedence is: cancelled, found, a failed start, the budget, any other end of the process.
func TestEndOfAPeak(t *testing.T) {
	enough := errors.New("enough")
	for name, c := range map[string]struct {
		log    string
		end    child.Ended
		budget time.Duration
		cause  error
		found  float64
		why    string
		exit   int // of the error; 0: none
	}{
		"found":                   {log: foundOne, found: 0.75},
		"found beyond the budget": {log: foundOne, budget: 1, found: 0.75},
		"ended":                   {log: foundOne, cause: enough, why: "enough", exit: exit.StatusUsage},
		"the start fails":         {log: tooHigh, why: "the lower bound of 3 QPS misses a limit"},
		"the budget is over":      {budget: 1, end: child.Ended{Exit: exit.StatusBug}, why: "the budget of 1ns is over"},
		"the process is ended":    {end: child.Ended{Exit: exit.StatusTerminate}, why: "the budget of 1h0m0s is over"},
		"no result":               {why: "LoadGen ended its search without a result", exit: exit.StatusInvalid},
		"it crashed": {end: child.Ended{Exit: exit.StatusBug}, why: "its process ended with exit code 70",
			exit: exit.StatusBug},
		"found, and it broke": {log: foundOne, end: child.Ended{Exit: exit.StatusEnvironment, Code: exit.CodeDiskFull,
			Why: "no space"}, why: "no space", exit: exit.StatusEnvironment},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			if c.log != "" {
				writePeakLog(t, folder, c.log)
			}
			ctx, cancel := context.WithCancelCause(context.Background())
			defer cancel(nil)
			if c.cause != nil {
				cancel(c.cause)
			}
			if c.budget == 0 {
				c.budget = time.Hour
			}
			s := &Peak{Schema: PeakSchema, Kind: peakKind, LowerQPS: 3, Started: time.Now().Add(-time.Second)}
			err := s.finish(ctx, &Options{Plan: &plan.Plan{Test: &plan.Test{Config: config.New(config.RunSettings())}},
				Folder: folder, Budget: c.budget}, c.end)
			require.Equal(t, c.found, s.Result.FoundQPS)
			require.Contains(t, s.Result.Why, c.why)
			require.Equal(t, c.why == "", s.Result.Why == "")
			if c.exit == 0 {
				require.NoError(t, err)
			} else {
				require.Equal(t, c.exit, exit.Classify(err).Exit, err)
			}
			written, err := ReadPeak(folder)
			require.NoError(t, err)
			require.Equal(t, s.Result, written.Result)
			require.GreaterOrEqual(t, written.TookS, 1.0)
		})
	}
}
