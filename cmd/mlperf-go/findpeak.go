package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/internal/mllog"
	"github.com/mlperf-go/mlperf-go/internal/results"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/plan"
	"github.com/mlperf-go/mlperf-go/tune"
)

// findPeak is the mode in which LoadGen performs the tune.
const findPeak = "find-peak"

// findPeak lets LoadGen search for the highest rate.
func (cmd tuneCommand) findPeak(c *cli.Context, p *plan.Plan) error {
	if c.Bool("peak-process") {
		cmd.parentReports = true
		return tune.PeakProcess(c.Context, p, p.Config.String("output-dir"), cmd.newProgress(p))
	}
	if err := checkProbes(p); err != nil {
		return err
	}
	folder := results.Choose(p.Config.String("output-dir"),
		fmt.Sprintf("%s-%s-find-peak", p.Row.Name, p.Scenario.Scenario), false, time.Now())
	cmd.measures()
	shown := 0
	s, err := tune.FindPeak(c.Context, tune.Options{
		Plan: p, Folder: folder, Budget: c.Duration("budget"), Resume: p.Config.Bool("resume"), Environ: cmd.environ,
		Stderr: cmd.stderr, Global: []string{"--log-format", cmd.logFormat, "--log-level", cmd.logLevel, "--no-progress"},
	}, func(seen *mllog.Peak) {
		for ; shown < len(seen.Tests); shown++ {
			low, high := seen.Range()
			cmd.log.Info(fmt.Sprintf("LoadGen tests %.6g QPS; %s", seen.Tests[shown].Rate, peakRange(low, high)))
		}
	})
	results.Discard(folder) // removed if it is empty
	if s != nil {
		cmd.point(folder)
	}
	if err != nil {
		_, interrupted := context.Cause(c.Context).(run.Interrupt)
		if !interrupted || s == nil || cmd.json || cmd.quiet {
			return err
		}
		return errors.Join(err, cmd.printPeak(s, folder))
	}
	if s.Result.FoundQPS == 0 {
		cmd.exit = run.ExitInvalid
	}
	return cmd.printPeak(s, folder)
}

// printPeak prints a search by LoadGen, and the limits of its meaning.
func (cmd tuneCommand) printPeak(s *tune.Peak, folder string) error {
	if cmd.json {
		cmd.writeJSON(s)
		return nil
	}
	if cmd.quiet {
		cmd.out.line("%s", peakSentence(s))
		return nil
	}
	w := cmd.out.table(2)
	s.Print(w)
	w.Flush()
	cmd.out.line("\n%s\n\nlimits      %s\nnot tested  %s\nfolder      %s", peakSentence(s), peakLimits(s),
		fmt.Sprintf("min-duration %v, min-queries %d and early stopping: LoadGen's search requires none of them", s.Test,
			s.Queries), folder)
	return nil
}

// peakSentence is the result in one sentence.
func peakSentence(s *tune.Peak) string {
	switch r := s.Result; {
	case r == nil:
		return "not finished: its process was killed, and LoadGen cannot continue a search"
	case r.FoundQPS > 0:
		verdict := "no verdict on"
		if r.LoadGenValid != nil {
			verdict = map[bool]string{true: "VALID for", false: "INVALID for"}[*r.LoadGenValid]
		}
		return fmt.Sprintf("LoadGen found %.6g QPS in %v, and reports %s its own test; a run at this rate may be INVALID",
			r.FoundQPS, seconds(s.TookS).Round(time.Second), verdict)
	default:
		return fmt.Sprintf("LoadGen found nothing: %s; %s", r.Why, peakRange(r.Low, r.High))
	}
}

func peakRange(low, high float64) string {
	switch {
	case low > 0 && high > 0:
		return fmt.Sprintf("%.6g met the limits, %.6g did not", low, high)
	case low > 0:
		return fmt.Sprintf("%.6g met the limits", low)
	}
	return "no rate has met the limits yet"
}

// peakLimits returns the limits that LoadGen's search applies.
func peakLimits(s *tune.Peak) string {
	var texts []string
	for _, l := range s.Limits {
		texts = append(texts, fmt.Sprintf("%s %v", l.Metric, l.Limit))
	}
	return fmt.Sprintf("%s, for %.4g %% of the queries", strings.Join(texts, ", "), 100*s.Percentile)
}
