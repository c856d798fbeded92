package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/sim"
	"github.com/mlperf-go/mlperf-go/workload/calibrate"
	"github.com/mlperf-go/mlperf-go/workload/floor"
)

// calibrateCommand measures this program's own capacity and overhead.
type calibrateCommand struct{ *program }

// calibrationTime is the default duration of the loads. With starts and figures it stays below 30 s.
const calibrationTime = 15 * time.Second

func (cmd calibrateCommand) command() *cli.Command {
	return &cli.Command{
		Name: "calibrate", Usage: "measure this program's own highest rates, time errors and shortest latencies",
		OnUsageError: usageError, Action: cmd.do,
		Description: "Sends loads to a no-op server and to the simulator on this machine. `bench run` prints the result " +
			"beside its own.\nNothing else should run meanwhile.",
		Flags: []cli.Flag{
			durationFlag(cli.GenericFlag{Name: "duration", Usage: "total time of all loads"}, calibrationTime),
			&cli.IntFlag{Name: "shards", Value: 1, Usage: "event loops that send and receive, as in the runs to compare"},
			&cli.StringFlag{Name: "calibration", DefaultText: "~/.cache/mlperf-go/" + floor.FileName,
				Usage: "file to write"},
			&cli.IntFlag{Name: "gaps", DefaultText: "a fifth of --duration",
				Usage: "random gaps between requests to test, besides --duration; 1,000 take a second"},
			&cli.BoolFlag{Name: "no-op", Hidden: true, Usage: "be the no-op server"},
			&cli.BoolFlag{Name: "no-op-split", Hidden: true, Usage: "write each token separately"},
			&cli.StringFlag{Name: "ready-file", Hidden: true, Usage: "file to write the no-op server's URL to"},
		},
	}
}

func (cmd calibrateCommand) do(c *cli.Context) error {
	if err := noArguments(c); err != nil {
		return err
	}
	if c.Bool("no-op") {
		return serveNoOp(c.Context, c.Bool("no-op-split"), c.String("ready-file"))
	}
	o := calibrate.Options{Duration: c.Duration("duration"), Shards: c.Int("shards"), Gaps: c.Int("gaps"),
		Step: func(text string) { cmd.log.Info("measuring: " + text) }}
	if o.Duration < calibrate.Shortest || o.Shards < 1 || o.Gaps < 0 {
		return exit.Usage(exit.CodeFlagValue, "", "--duration must be at least %v, --shards at least 1, "+
			"and --gaps at least 0", calibrate.Shortest)
	}
	path := cmp.Or(c.String("calibration"), cmd.calibrationFile())
	if path == "" {
		return exit.Usage(exit.CodeCalibration, "Give --calibration FILE",
			"there is no home folder in which to keep the calibration")
	}
	if err := os.MkdirAll(filepath.Dir(path), atomicfile.Shared.Folder()); err != nil {
		return exit.Environment(exit.CodeOutput, "Choose another --calibration", "no folder for the calibration: %w", err)
	}
	if err := atomicfile.Replaceable(path); err != nil { // before half a minute is spent
		return exit.Usage(exit.CodeOutput, "Choose another --calibration", "the calibration cannot be kept: %w", err)
	}
	cmd.stopsWith("stopping: a calibration that was ended is not kept")
	got, err := calibrate.Run(c.Context, o)
	if err != nil {
		return err
	}
	failed := got.Write(path)
	if failed != nil { // the figures are printed anyway
		failed = exit.Environment(exit.CodeOutput, "Choose another --calibration", "the calibration cannot be kept: %w",
			failed)
	}
	switch {
	case cmd.json && failed == nil:
		cmd.writeJSON(got)
	case !cmd.json:
		printCalibration(cmd.out, got)
		if failed == nil {
			cmd.out.line("\nfile        %s", path)
		}
	}
	return failed
}

// serveNoOp runs the no-op server in its process.
func serveNoOp(ctx context.Context, split bool, ready string) error {
	s, err := calibrate.NewNoOp(split)
	if err != nil {
		return err
	}
	if ready != "" {
		if err := sim.WriteReadyFile(ready, s.URL); err != nil {
			return err
		}
	}
	return s.Serve(ctx)
}

// calibrationFile returns the path of the stored calibration; empty: there is no place for it.
func (p *program) calibrationFile() string {
	cache := valueOf(p.environ, "XDG_CACHE_HOME")
	if home := valueOf(p.environ, "HOME"); cache == "" && home != "" {
		cache = filepath.Join(home, ".cache")
	}
	if !filepath.IsAbs(cache) {
		return ""
	}
	return filepath.Join(cache, "mlperf-go", floor.FileName)
}

// calibration reads a calibration that the user named, or else the stored one; nil: no calibration is stored. A stored
// file that cannot be read is only noted.
func (p *program) calibration(named string) (*floor.Calibration, error) {
	path := cmp.Or(named, p.calibrationFile())
	if path == "" {
		return nil, nil
	}
	got, err := floor.Read(path)
	if err == nil || named != "" {
		return got, err
	}
	if !errors.Is(err, fs.ErrNotExist) {
		p.notice("note: " + err.Error())
	}
	return nil, nil
}

// mostVariation is the coefficient of variation that the gaps of constant arrivals may have.
const mostVariation = 0.01

func passed(is bool) string {
	if is {
		return "passed"
	}
	return "not passed"
}

// waitsAlone states what a thread that only waits can do on this machine.
func waitsAlone(variation float64) string {
	text := fmt.Sprintf("a thread that sends nothing: the gaps vary by %.2f %%", 100*variation)
	if variation >= mostVariation {
		text += ", so no client can pass here"
	}
	return text
}

func printCalibration(out page, c *floor.Calibration) {
	loops := "1 event loop"
	if c.Shards > 1 {
		loops = fmt.Sprintf("%d event loops", c.Shards)
	}
	out.line("%s on %d CPUs (%s), Linux %s", loops, c.Machine.CPUsAllowed, c.Machine.CPUModel, c.Machine.Kernel)
	t := out.table()
	for _, p := range c.Closed {
		t.row(fmt.Sprintf("%d in flight", p.Concurrency), fmt.Sprintf("%.0f requests/s", p.RequestsPerS))
	}
	for _, p := range c.Open {
		verdict := "held"
		if !p.Held {
			verdict = "not held"
		}
		t.row(fmt.Sprintf("%.0f requests/s", p.AskedPerS), fmt.Sprintf("%s: sent %.3f ms late at p99", verdict,
			1e3*p.ClientDelayP99))
	}
	t.row("highest rates", fmt.Sprintf("%.0f requests/s on schedule, %.0f tokens/s", c.Highest.Requests, c.Highest.Tokens))
	s := c.Sending
	t.row("constant arrivals", fmt.Sprintf("%.0f requests/s: the gaps vary by %.2f %%, and may vary by %g %%: %s", s.Rate,
		100*s.Variation, 100*mostVariation, passed(s.Variation < mostVariation)))
	t.row("waiting alone", waitsAlone(s.Waiting))
	t.row("random arrivals", fmt.Sprintf("%.0f requests/s: the distribution of %d gaps is off by %.4f, and may be by "+
		"%.4f: %s", s.Rate, s.Gaps, s.Distance, s.Limit, passed(s.Distance <= s.Limit)))
	t.Flush()
	out.line("")
	t = out.table()
	t.row("in ms", "mean", "p50", "p99")
	for _, x := range []struct {
		name string
		of   *floor.Spread
	}{
		{"sent after it was due", &c.Sending.Late}, {"event stamped after its write", &c.Errors.Event},
		{"TTFT above the server's", &c.Errors.TTFT},
		{"ITL off the server's", &c.Errors.ITL}, {"shortest TTFT", &c.Shortest.TTFT}, {"shortest ITL", &c.Shortest.ITL},
		{"shortest answer", &c.Shortest.E2E},
	} {
		t.row(x.name, fmt.Sprintf("%.4f", 1e3*x.of.Mean), fmt.Sprintf("%.4f", 1e3*x.of.P50),
			fmt.Sprintf("%.4f", 1e3*x.of.P99))
	}
	t.Flush()
}
