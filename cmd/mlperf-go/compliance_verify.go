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
	"github.com/mlperf-go/mlperf-go/run/exit"
)

// verifyCommand verifies the logs of an audit.
type verifyCommand struct{ *program }

// referenceFlags returns the flags of the runs that some audits compare with.
func referenceFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "reference-accuracy", Usage: "log folder of the accuracy run (TEST01, TEST08)"},
		&cli.StringFlag{Name: "reference-performance", Usage: "log folder of the performance run (TEST01, TEST04)"},
	}
}

func testFlag() cli.Flag {
	return &cli.StringFlag{Name: "test", Required: true,
		Usage: "name of the audit: TEST01, TEST04, TEST06, TEST07, TEST08 or TEST09"}
}

func (cmd verifyCommand) command() *cli.Command {
	return &cli.Command{
		Name: "verify", Usage: "verify the logs of an audit", OnUsageError: usageError,
		Description: "If the help of a flag names audits in parentheses, their official scripts have the same flag. " +
			"Exit code 1: the verification fails by the official rules or by the stricter ones of this program.",
		Flags: append([]cli.Flag{testFlag(),
			&cli.StringFlag{Name: "model", Usage: "benchmark, for the strict verification and its thresholds"},
			&cli.StringFlag{Name: "scenario", Usage: "scenario of the audit"},
			&cli.StringFlag{Name: "logs", Usage: "log folder of the audit", Required: true},
			&cli.StringFlag{Name: "output-dir", Usage: "folder for the results of the verification; default: not written"},
			&cli.StringFlag{Name: "audit-file", Usage: "audit.config with the thresholds (TEST07, TEST09)"},
			&cli.StringFlag{Name: "evaluation", Usage: "output of the accuracy evaluation, such as accuracy.txt (TEST07)"},
			&cli.StringFlag{Name: "score-pattern", Usage: "regular expression whose first group is the score (TEST07)"},
			&cli.Float64Flag{Name: "accuracy-threshold", Usage: "lowest score in percent (TEST07)"},
			&cli.Float64Flag{Name: "min-output-tokens", Usage: "smallest mean number of output tokens (TEST09)"},
			&cli.Float64Flag{Name: "max-output-tokens", Usage: "largest mean number of output tokens (TEST09)"},
			&cli.Float64Flag{Name: "tolerance", Usage: "largest relative difference (TEST08)"},
			&cli.StringFlag{Name: "dtype",
				Usage: "type of the logged answers: byte, int16, int32, int64 or float32 (TEST01, TEST06)"},
		}, referenceFlags()...),
		Action: cmd.run,
	}
}

func (cmd verifyCommand) run(c *cli.Context) error {
	if err := noArguments(c); err != nil {
		return err
	}
	if _, err := os.Stat(c.String("logs")); err != nil {
		return exit.Usage(exit.CodeLogs, "Pass the folder of the audit's LoadGen logs with --logs",
			"cannot read the audit's logs: %w", err)
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
			return exit.Usage(exit.CodeEvaluation, "", "%w", err)
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
			return exit.Usage(exit.CodeScenario, "", "%w", err)
		}
		in.Scenario = s
	}
	return cmd.judge(in, c.String("test"), c.String("output-dir"))
}

// maxEvaluation limits the output of an evaluation in bytes.
const maxEvaluation = 16 << 20

func smallFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxEvaluation+1))
	if err == nil && len(text) > maxEvaluation {
		err = fmt.Errorf("%s has more than %d bytes, too many for the output of an evaluation", path, maxEvaluation)
	}
	return string(text), err
}

// judge judges an audit's logs. A failed audit sets exit code 1, like an invalid run.
func (cmd verifyCommand) judge(in compliance.Input, test, folder string) error {
	in.Now = time.Now()
	r, err := compliance.Verify(test, in)
	if err != nil {
		return exit.Usage(exit.CodeCompliance, "", "%w", err)
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
		cmd.exit = run.ExitInvalid
	}
	if cmd.json {
		cmd.writeJSON(r.Verdict())
		return nil
	}
	official, strict := "FAIL", "FAIL"
	if r.Pass {
		official = "PASS"
	}
	if r.OK() {
		strict = "PASS"
	}
	cmd.out.paint(plain, r.Test+"  official reading ")
	cmd.out.paint(colourOf[official], official)
	cmd.out.paint(plain, ", strict reading ")
	cmd.out.paint(colourOf[strict], strict)
	cmd.out.line("")
	for _, f := range r.Strict {
		cmd.out.line("  %s %s: %s", f.Severity, f.Code, f.Words())
	}
	return nil
}
