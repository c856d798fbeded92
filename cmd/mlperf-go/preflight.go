package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/internal/foreign"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/needs"
	"github.com/mlperf-go/mlperf-go/run/plan"
)

// preflightCommand probes endpoints and starts no test.
type preflightCommand struct{ *program }

func (cmd preflightCommand) command() *cli.Command {
	return &cli.Command{
		Name: "preflight", Usage: "probe endpoints without starting a test",
		OnUsageError: usageError,
		Flags:        settingFlags(),
		Action: func(c *cli.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			s, err := settingsReader{cmd.program, c}.read()
			if err != nil {
				return err
			}
			plan, err := plan.Resolve(s.Effective)
			if err != nil {
				return err
			}
			if s.servers != nil {
				return exit.Usage(exit.CodeEndpoint, "Start them with `mlperf-go server up` and pass their --endpoint",
					"preflight does not start servers")
			}
			if !plan.HasEndpoint() {
				return exit.Usage(exit.CodeEndpoint, "Write --endpoint http://host:port", "no --endpoint given")
			}
			cmd.notice(plan.Notices()...)
			return cmd.probe(c.Context, plan)
		},
	}
}

// probe asks the servers, and prints their properties and the needs of the test.
func (cmd preflightCommand) probe(ctx context.Context, plan *plan.Plan) error {
	pre, err := run.PreflightOnly(ctx, run.FromPlan(plan), cmd.newProgress(plan))
	if err != nil && (ctx.Err() != nil || run.Classify(err).Exit != run.ExitEnvironment) {
		return err
	}
	survey := cmd.surveyOf(plan, pre)
	survey.Refusal = err
	table := survey.Table(ctx)
	switch err := table.Err(); {
	case cmd.json && err != nil:
		return err
	case cmd.json:
		cmd.writeJSON(struct {
			*run.Preflight
			Needs needs.Table `json:"needs"`
		}{pre, table})
		return nil
	}
	if cmd.quiet { // there is no verdict, only missing needs
		return table.Err()
	}
	if err := table.Err(); err != nil || pre == nil { // missing needs come first
		writeNeeds(cmd.out, table, err)
		if pre != nil {
			cmd.out.line("")
			cmd.print(pre)
		}
		return err
	}
	cmd.print(pre)
	cmd.out.line("")
	writeNeeds(cmd.out, table, nil)
	return nil
}

func (cmd preflightCommand) print(pre *run.Preflight) {
	w := cmd.out.table()
	if b := pre.Backend; b.Auto {
		fmt.Fprintf(w, "backend\t%s, chosen automatically: %s\n", b.Backend, b.Why)
	} else {
		fmt.Fprintf(w, "backend\t%s\n", b.Backend)
	}
	for _, e := range pre.Endpoints {
		fmt.Fprintf(w, "endpoint\t%s\n  server\t%s %s\n  models\t%s\n  context\t%d tokens\n  health\t%d\n  client\t%s\n",
			e.URL, orUnknown(e.Server), e.Version, foreign.Line(strings.Join(e.Models, ", "), 400), e.MaxModelLen,
			e.HealthStatus, e.Client)
		if e.Generated {
			fmt.Fprintf(w, "  token ids in\t%t\n  token ids out\t%t\n  usage\t%t\n  streams\t%s\n  answer\t%d tokens in %v\n",
				e.TokenIDPrompt, e.ReturnsTokenIDs, e.Usage, streaming(e), e.OutputTokens, e.Latency.Round(10*time.Microsecond))
		}
		for _, n := range e.Notes {
			fmt.Fprintf(w, "  note\t%s\n", n)
		}
	}
	for _, n := range pre.Notes {
		fmt.Fprintf(w, "note\t%s\n", n)
	}
	fmt.Fprintf(w, "open files\t%d of at most %d\n", pre.OpenFiles.Now, pre.OpenFiles.Hard)
	w.Flush()
}

// streaming describes the stream. A server that does not stream when asked to has failed the preflight already.
func streaming(e *backends.Probe) string {
	if !e.Streams {
		return "not used in this scenario"
	}
	return fmt.Sprintf("true, the first token after %v", e.TTFT.Round(10*time.Microsecond))
}
