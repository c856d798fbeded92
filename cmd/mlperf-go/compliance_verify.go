package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/compliance"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run"
)

// verifyCommand verifies the logs of an audit.
type verifyCommand struct{ *program }

// referenceFlags name the runs with which some audits compare.
func referenceFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "reference-accuracy", Usage: "TEST01, TEST08: log folder of the accuracy run"},
		&cli.StringFlag{Name: "reference-performance", Usage: "TEST01, TEST04: log folder of the performance run"},
	}
}

func testFlag() cli.Flag {
	return &cli.StringFlag{Name: "test", Required: true, Usage: "TEST01, TEST04, TEST06, TEST07, TEST08 or TEST09"}
}

func (cmd verifyCommand) command() *cli.Command {
	return &cli.Command{
		Name: "verify", Usage: "verify the logs of an audit's test", HideHelpCommand: true, OnUsageError: usageError,
		Description: "The flags below --output-dir are those of the official scripts. Exit code 1: the official or the " +
			"strict reading fails.",
		Flags: append([]cli.Flag{testFlag(),
			&cli.StringFlag{Name: "model", Usage: "benchmark, for the strict reading and its thresholds"},
			&cli.StringFlag{Name: "scenario", Usage: "scenario of the test"},
			&cli.StringFlag{Name: "logs", Usage: "log folder of the audit's test", Required: true},
			&cli.StringFlag{Name: "output-dir", Usage: "folder for the verify files; none: they are not written"},
			&cli.StringFlag{Name: "audit-file", Usage: "TEST07, TEST09: audit.config with the thresholds"},
			&cli.StringFlag{Name: "evaluation", Usage: "TEST07: file with what the accuracy evaluation printed, such as " +
				"accuracy.txt"},
			&cli.StringFlag{Name: "score-pattern", Usage: "TEST07: expression whose first group is the score in it"},
			&cli.Float64Flag{Name: "accuracy-threshold", Usage: "TEST07: lowest score in percent"},
			&cli.Float64Flag{Name: "min-output-tokens", Usage: "TEST09: smallest mean number of output tokens"},
			&cli.Float64Flag{Name: "max-output-tokens", Usage: "TEST09: largest mean number of output tokens"},
			&cli.Float64Flag{Name: "tolerance", Usage: "TEST08: largest relative difference"},
			&cli.StringFlag{Name: "dtype",
				Usage: "TEST01, TEST06: how answers are logged: byte, int16, int32, int64 or float32"},
		}, referenceFlags()...),
		Action: cmd.run,
	}
}

func (cmd verifyCommand) run(c *cli.Context) error {
	if err := noArguments(c); err != nil {
		return err
	}
	if _, err := os.Stat(c.String("logs")); err != nil {
		return run.UsageError("logs", "Give --logs the folder of LoadGen's logs of the audit's test",
			"the audit's logs can not be read: %w", err)
	}
	in := compliance.Input{
		Compliance: c.String("logs"), ReferenceAccuracy: c.String("reference-accuracy"),
		ReferencePerformance: c.String("reference-performance"),
		AuditFile:            c.String("audit-file"), ScoreMatch: c.String("score-pattern"),
		Type: compliance.DType(c.String("dtype")),
	}
	for name, to := range map[string]**float64{"accuracy-threshold": &in.Threshold, "min-output-tokens": &in.MinTokens,
		"max-output-tokens": &in.MaxTokens, "tolerance": &in.Tolerance} {
		if c.IsSet(name) {
			value := c.Float64(name)
			*to = &value
		}
	}
	if path := c.String("evaluation"); path != "" {
		text, err := smallFile(path)
		if err != nil {
			return run.UsageError("evaluation", "", "%w", err)
		}
		in.Evaluator = text
	}
	if name := c.String("model"); name != "" {
		m, err := models.Find(name)
		if err != nil {
			return err
		}
		in.Row, in.Scenario, in.EOSOption = m.Row, m.Scenario, compliance.OfficialEOSOption(m.Row)
	}
	if name := c.String("scenario"); name != "" {
		s, err := models.ParseScenario(name)
		if err != nil {
			return run.UsageError("scenario", "", "%w", err)
		}
		in.Scenario = s
	}
	return cmd.verifyAudit(in, c.String("test"), c.String("output-dir"))
}

// maxEvaluation bounds what an evaluation printed, in bytes.
const maxEvaluation = 16 << 20

func smallFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxEvaluation+1))
	if err == nil && len(text) > maxEvaluation {
		err = fmt.Errorf("%s has more than %d bytes: it should hold what an evaluation printed", path, maxEvaluation)
	}
	return string(text), err
}

// verifyAudit judges an audit's logs; an audit that fails is exit 1, as an invalid run is.
func (p *program) verifyAudit(in compliance.Input, test, folder string) error {
	in.Now = time.Now()
	r, err := compliance.Verify(test, in)
	if err != nil {
		return run.UsageError("compliance", "", "%w", err)
	}
	if folder != "" {
		if len(r.Files) > 0 {
			if err := r.Write(folder); err != nil {
				return err
			}
		}
		if err := r.Verdict().Keep(folder); err != nil {
			return err
		}
	}
	if !r.OK() {
		p.exit = run.ExitInvalid
	}
	if p.json {
		p.writeJSON(r.Verdict())
		return nil
	}
	official, strict := "FAIL", "FAIL"
	if r.Pass {
		official = "PASS"
	}
	if r.OK() {
		strict = "PASS"
	}
	fmt.Fprintf(p.stdout, "%s  official reading %s, strict reading %s\n", r.Test, official, strict)
	for _, f := range r.Strict {
		fmt.Fprintf(p.stdout, "  %s %s: %s\n", f.Severity, f.Code, f.Words())
	}
	return nil
}
