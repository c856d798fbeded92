package calibrate

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/mlperf-go/mlperf-go/metrics/hostinfo"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/run/rehearse"
	"github.com/mlperf-go/mlperf-go/workload/bench"
	"github.com/mlperf-go/mlperf-go/workload/floor"
	"github.com/mlperf-go/mlperf-go/workload/measure"
	"github.com/mlperf-go/mlperf-go/workload/profile"
)

// Options are one calibration.
type Options struct {
	Program  string        // path of mlperf-go, which runs the servers; empty: the running program
	Duration time.Duration // total time of all loads, from Shortest on
	Shards   int           // event loops of the client, from 1 on
	Gaps     int           // number of random gaps between requests, measured in addition to Duration; 0: a share of it
	Step     func(text string)
}

// Shortest is the shortest duration with meaningful figures.
const Shortest = 2 * time.Second

// The parts of the duration. The rest is for the servers' starts and the figures.
const (
	closedShare   = 0.04 // each of the concurrencies
	openShare     = 0.04 // each of the rates that are tried
	tokenShare    = 0.05
	errorShare    = 0.2
	floorShare    = 0.05
	constantShare = 0.1
	waitShare     = 0.05
	gapShare      = 0.2
)

var (
	concurrencies = []int{1, 4, 16, 64, 256}
	// tried are shares of the highest throughput. They are tried in this order until one is sustained.
	tried = []float64{0.95, 0.85, 0.7, 0.5, 0.35, 0.2, 0.1, 0.05, 0.02, 0.01}
)

// triesOfARate is how often a rate is tried, because other work may disturb the client for a moment.
const triesOfARate = 2

// heldLimit is a limit of the time to first token that makes a run INVALID once the client's own delay is above a
// tenth of it, 1 ms, at the 99th percentile (docs/reference/calibration.md#rates).
const heldLimit = 10 * time.Millisecond

// Answers and load of the parts.
const (
	longAnswer  = 128   // tokens, of the token rate and of the errors
	errorRate   = 200.0 // requests a second of the errors
	splitAnswer = 16    // tokens, of the shortest latencies
)

// The simulator's times in the comparison of time stamps.
const (
	simTTFT = 20 * time.Millisecond
	simTPOT = 2 * time.Millisecond
)

// calibration is one in progress.
type calibration struct {
	Options
	got    *floor.Calibration
	folder string // of the runs
	runs   int
}

// Run measures. It ends early, with the cause, when ctx ends.
func Run(ctx context.Context, o Options) (*floor.Calibration, error) {
	folder, err := os.MkdirTemp("", "mlperf-go-calibrate-")
	if err != nil {
		return nil, exit.Environment(exit.CodeOutputDir, "Set TMPDIR to a folder with room",
			"no folder for the calibration's runs: %w", err)
	}
	defer os.RemoveAll(folder) // the rest is removed with the temporary folder
	host := hostinfo.Collect()
	start := time.Now()
	c := &calibration{Options: o, folder: folder, got: &floor.Calibration{Schema: floor.Schema,
		Tool: record.ThisTool(), Machine: floor.MachineOf(&host), Taken: start.UTC().Truncate(time.Second),
		Shards: o.Shards}}
	for _, part := range []func(context.Context) error{c.closedLoop, c.openLoop, c.tokenRate, c.sending, c.errors,
		c.shortest} {
		if err := part(ctx); err != nil {
			return nil, err
		}
	}
	c.got.TookS = time.Since(start).Round(time.Millisecond).Seconds()
	return c.got, nil
}

func (c *calibration) part(share float64) time.Duration {
	return time.Duration(share * float64(c.Duration))
}

// servers starts a no-op server for each event loop. It returns their addresses and a function that ends them.
func (c *calibration) servers(ctx context.Context, split bool) (urls []string, stop func(), err error) {
	var started []*rehearse.Simulator
	stop = func() {
		for _, s := range started {
			s.Stop()
		}
	}
	for range max(c.Shards, 1) {
		s, err := rehearse.StartSimulator(ctx, c.Program, []string{"calibrate", "--no-op",
			"--no-op-split=" + strconv.FormatBool(split)})
		if err != nil {
			stop()
			return nil, nil, err
		}
		started, urls = append(started, s), append(urls, s.URL)
	}
	return urls, stop, nil
}

// run sends a load of short prompts with some event loops. The caller decides whether the run is valid, but every
// request must have an answer.
func (c *calibration) run(ctx context.Context, urls []string, shards, tokens int, stages ...profile.Stage) (
	r *bench.Record, folder string, err error) {
	c.runs++
	p := profile.Defaults()
	p.Name = "calibrate"
	p.Data = profile.Data{Kind: profile.Random, Input: profile.FixedAt(noOpPrompt),
		Output: profile.FixedAt(float64(tokens))}
	p.Load.Stages = stages
	folder = filepath.Join(c.folder, strconv.Itoa(c.runs))
	r, err = bench.Run(ctx, bench.Options{Profile: p, Endpoints: urls, Backend: "vllm", Folder: folder, Shards: shards,
		Limits: []measure.Limit{{Metric: "ttft", Percent: 99, Below: heldLimit}}})
	switch {
	case err != nil:
		return nil, "", err
	case ctx.Err() != nil:
		return nil, "", context.Cause(ctx)
	case r.Measured.Total.Requests.Failed > 0 || r.Measured.Total.Requests.OK == 0:
		return nil, "", fmt.Errorf("calibrating failed: %d of %d requests to a server on this machine were not answered (%v)",
			r.Measured.Total.Requests.Failed, r.Measured.Total.Requests.Total, r.Measured.Total.Requests.ByCause)
	}
	return r, folder, nil
}

// closedLoop finds the concurrency with the highest throughput.
func (c *calibration) closedLoop(ctx context.Context) error {
	c.Step("highest throughput against a no-op server")
	urls, stop, err := c.servers(ctx, false)
	if err != nil {
		return err
	}
	defer stop()
	var stages []profile.Stage
	for _, n := range concurrencies {
		stages = append(stages, profile.Stage{Arrival: profile.Closed, Concurrency: n, Duration: c.part(closedShare)})
	}
	r, _, err := c.run(ctx, urls, c.Shards, 1, stages...)
	if err != nil {
		return err
	}
	for i := range r.Measured.Stages {
		s := &r.Measured.Stages[i]
		c.got.Closed = append(c.got.Closed, floor.ClosedPoint{Concurrency: concurrencies[s.Number],
			RequestsPerS: s.Throughput.Requests})
	}
	return nil
}

// best returns the point of the highest throughput.
func (c *calibration) best() (most floor.ClosedPoint) {
	for _, p := range c.got.Closed {
		if p.RequestsPerS > most.RequestsPerS {
			most = p
		}
	}
	return most
}

// openLoop finds the highest rate that the client sustains.
func (c *calibration) openLoop(ctx context.Context) error {
	c.Step("highest rate that is sent on schedule")
	urls, stop, err := c.servers(ctx, false)
	if err != nil {
		return err
	}
	defer stop()
	for i := range triesOfARate * len(tried) {
		held, err := c.try(ctx, urls, tried[i/triesOfARate]*c.best().RequestsPerS)
		if held || err != nil {
			return err
		}
	}
	slowest := c.got.Open[len(c.got.Open)-1]
	return exit.Environment(exit.CodeCalibration, "Stop what else runs on this machine",
		"this machine is too busy to calibrate: at %.0f requests/s, %.0f %% of the highest throughput, the client is "+
			"%.1f ms late at the 99th percentile", slowest.AskedPerS, 100*tried[len(tried)-1], 1e3*slowest.ClientDelayP99)
}

// try sends at a constant rate, and reports whether the client sustained it.
func (c *calibration) try(ctx context.Context, urls []string, rate float64) (held bool, err error) {
	r, _, err := c.run(ctx, urls, c.Shards, 1,
		profile.Stage{Arrival: profile.Constant, Rate: rate, Duration: c.part(openShare)})
	if err != nil {
		return false, err
	}
	held = r.Verdict == record.Valid
	c.got.Open = append(c.got.Open, floor.OpenPoint{AskedPerS: rate, SentPerS: r.Measured.Total.Throughput.SendRate,
		ClientDelayP99: r.Client.ClientDelayUS.P99 / 1e6, Held: held})
	if held {
		c.got.Highest.Requests = rate
	}
	return held, nil
}

// tokenRate measures the throughput of long streams.
func (c *calibration) tokenRate(ctx context.Context) error {
	c.Step("highest token rate")
	urls, stop, err := c.servers(ctx, false)
	if err != nil {
		return err
	}
	defer stop()
	r, _, err := c.run(ctx, urls, c.Shards, longAnswer, profile.Stage{Arrival: profile.Closed,
		Concurrency: c.best().Concurrency, Duration: c.part(tokenShare)})
	if err == nil {
		c.got.Highest.Tokens = r.Measured.Total.Throughput.OutputTokens
	}
	return err
}

// shortest measures the latencies of answers that come at once.
func (c *calibration) shortest(ctx context.Context) error {
	c.Step("shortest latencies")
	urls, stop, err := c.servers(ctx, true)
	if err != nil {
		return err
	}
	defer stop()
	r, _, err := c.run(ctx, urls, 1, splitAnswer, profile.Stage{Arrival: profile.Closed, Concurrency: 1,
		Duration: c.part(floorShare)})
	if err == nil {
		l := r.Measured.Total.Latency
		c.got.Shortest = floor.Shortest{TTFT: spreadOf(l["ttft"]), ITL: spreadOf(l["itl"]), E2E: spreadOf(l["e2e"])}
	}
	return err
}

func spreadOf(d *measure.Distribution) floor.Spread {
	if d == nil {
		return floor.Spread{}
	}
	return floor.Spread{Count: d.Count, Mean: d.Mean, P50: d.Percentile["p50"], P99: d.Percentile["p99"]}
}
