package main

import (
	"fmt"
	"sync"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/internal/config"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/plan"
	"github.com/mlperf-go/mlperf-go/run/record"
)

// probePlan resolves the settings of a command that measures by probes: a tune, a sweep or an experiment. The scenario
// is the given one unless a setting names another; "" is that of run.
func (cmd *program) probePlan(c *cli.Context, what, scenario string) (*plan.Plan, error) {
	s, err := cmd.probeSettings(c, what, scenario)
	if err != nil {
		return nil, err
	}
	return cmd.resolveProbes(s)
}

// probeSettings reads the settings of probePlan.
func (cmd *program) probeSettings(c *cli.Context, what, scenario string) (*settings, error) {
	s, err := cmd.testSettings(c)
	if err != nil {
		return nil, err
	}
	if s.servers != nil {
		return nil, exit.Usage(exit.CodeEndpoint, "Start them with `mlperf-go server up` and pass their --endpoint",
			"%s does not start servers", what)
	}
	if scenario != "" && !s.IsSet("scenario") {
		if err := s.Set("scenario", scenario, config.Origin{Layer: config.FromProgram, Where: what}); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (cmd *program) resolveProbes(s *settings) (*plan.Plan, error) {
	p, err := plan.Resolve(s.Effective)
	if err != nil {
		return nil, err
	}
	p.Command, p.Secrets = cmd.commandLine(), cmd.secrets
	cmd.notice(p.Notices()...)
	cmd.notice(p.UnusedLimits()...)
	return p, nil
}

// checkProbes rejects a machine without room for the logs, and a data set that no run could use.
func checkProbes(p *plan.Plan) error {
	if err := run.CheckRoom(run.FromPlan(p)); err != nil {
		return err
	}
	return checkDataset(p)
}

// studyProgress shows the measurements of a sweep or an experiment on stderr.
type studyProgress struct {
	*progress
	point func() // makes the link latest
}

func newStudyProgress(cmd *program, p *plan.Plan, folder string) *studyProgress {
	return &studyProgress{cmd.newProgress(p), sync.OnceFunc(func() { cmd.point(folder) })}
}

// repeats reports a measurement that does not count.
func (g *studyProgress) repeats(spoiled []record.Cause) {
	g.end()
	g.log.Warn(fmt.Sprintf("%s does not count, and is repeated: %s", g.title, spoiled[0].Text))
}

// spoiled ends the line of a measurement. It reports and returns whether the measurement was spoiled.
func (g *studyProgress) spoiled(causes []record.Cause) bool {
	g.end()
	if len(causes) == 0 {
		return false
	}
	g.log.Warn(fmt.Sprintf("%s is spoiled: %s", g.title, causes[0].Text))
	return true
}
