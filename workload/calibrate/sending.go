package calibrate

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"time"

	"github.com/mlperf-go/mlperf-go/workload/eventlog"
	"github.com/mlperf-go/mlperf-go/workload/floor"
	"github.com/mlperf-go/mlperf-go/workload/profile"
)

// sendRate is the rate at which sendings are compared with their schedule, in requests/s.
const sendRate = 1000.0

// rejects is the Kolmogorov-Smirnov distance, times the root of the number of values, above which the test rejects at
// the 1 % level.
const rejects = 1.628

// sending compares when requests were sent with when they were due.
func (c *calibration) sending(ctx context.Context) error {
	gaps := c.Gaps
	if gaps == 0 {
		gaps = int(c.part(gapShare).Seconds() * sendRate)
	}
	c.Step(fmt.Sprintf("gaps of %g requests/s, %d of them random", sendRate, gaps))
	urls, stop, err := c.servers(ctx, false)
	if err != nil {
		return err
	}
	defer stop()
	constant, late, err := c.sent(ctx, urls, profile.Stage{Arrival: profile.Constant, Rate: sendRate,
		Duration: c.part(constantShare)})
	if err != nil {
		return err
	}
	random, _, err := c.sent(ctx, urls, profile.Stage{Arrival: profile.Poisson, Rate: sendRate, Requests: gaps + 1})
	if err != nil {
		return err
	}
	c.got.Sending = &floor.Sending{Rate: sendRate, Late: spread(late), Variation: variation(constant),
		Waiting: variation(waited(ctx, sendRate, c.part(waitShare))),
		Gaps:    len(random), Distance: distance(random, sendRate), Limit: rejects / math.Sqrt(float64(len(random)))}
	return nil
}

// sent runs a stage and returns the gaps between its sendings and how late each was, in seconds.
func (c *calibration) sent(ctx context.Context, urls []string, stage profile.Stage) (gaps, late []float64, err error) {
	_, folder, err := c.run(ctx, urls, c.Shards, 1, stage)
	if err != nil {
		return nil, nil, err
	}
	var at []int64
	keep := func(_ *eventlog.Header, r *eventlog.Request) error {
		at = append(at, r.SentNS)
		late = append(late, time.Duration(r.SentNS-r.DueNS).Seconds())
		return nil
	}
	if _, err := eventlog.Read(filepath.Join(folder, eventlog.FileName), keep); err != nil {
		return nil, nil, err
	}
	slices.Sort(at)
	for i := 1; i < len(at); i++ {
		gaps = append(gaps, time.Duration(at[i]-at[i-1]).Seconds())
	}
	return gaps, late, nil
}

// variation is the coefficient of variation.
func variation(gaps []float64) float64 {
	mean, squares := 0.0, 0.0
	for _, g := range gaps {
		mean += g / float64(len(gaps))
	}
	for _, g := range gaps {
		squares += (g - mean) * (g - mean) / float64(len(gaps))
	}
	return math.Sqrt(squares) / mean
}

// distance is the Kolmogorov-Smirnov distance of gaps from the exponential distribution of a rate. It sorts the gaps.
func distance(gaps []float64, rate float64) float64 {
	slices.Sort(gaps)
	n, d := float64(len(gaps)), 0.0
	for i, g := range gaps {
		f := -math.Expm1(-rate * g)
		d = max(d, f-float64(i)/n, float64(i+1)/n-f)
	}
	return d
}
