package main

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/tune"
)

// TestRealTunes measures tunes in real time, with confirming runs of 20 s. TUNE_REAL is their number; make bench runs
// two in each of its five rounds. Every second one limits the time per token.
func TestRealTunes(t *testing.T) {
	n, err := strconv.Atoi(os.Getenv("TUNE_REAL"))
	if err != nil || n < 1 {
		t.Skip("TUNE_REAL is not set to a number of tunes")
	}
	const bisection = 7 * 20 // s: seven runs, as in package tune
	confirmed, runs, spent := 0, 0, 0.0
	for i := range n {
		d, limits := newTuned(t), []string{"--ttft-limit", "500ms"}
		if i%2 == 1 {
			d, limits = newPaced(t), pacedLimit
		}
		p := d.limited(append(limits, "--min-duration", "20s")...)
		require.Contains(t, []int{0, run.ExitInvalid}, p.end(15*time.Minute), "%s", p.stderr.String())
		s, err := tune.ReadState(d.folder)
		require.NoError(t, err)
		for i := range s.Probes {
			if s.Probes[i].Kind == tune.Confirm {
				runs++
			}
		}
		spent += s.SpentS
		fmt.Printf("tune in real time: %.4g QPS in %.0f s, %s\n", s.Result.TargetQPS, s.SpentS, sentence(s))
		if s.Result.Confirmed {
			confirmed++
		}
	}
	fmt.Printf("MEASURED tune/real/confirmed %.3f x\nMEASURED tune/real/bisection %.3f x\n", float64(confirmed)/float64(n),
		spent/float64(n)/bisection)
	if confirmed > 0 {
		fmt.Printf("MEASURED tune/real/runs %.3f x\n", float64(runs)/float64(confirmed))
	}
}
