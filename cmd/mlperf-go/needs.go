package main

import (
	"slices"

	"go.uber.org/zap"

	"github.com/mlperf-go/mlperf-go/internal/foreign"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/needs"
	"github.com/mlperf-go/mlperf-go/run/plan"
)

// writeNeeds prints the table of needs, what is missing first. What to do is below what was found.
func writeNeeds(p page, all needs.Table) {
	t := p.table(1)
	t.row("needs", "state", "found")
	isMissing := func(c needs.Check) bool { return c.State == needs.Missing }
	missingFirst := slices.Clone(all)
	slices.SortStableFunc(missingFirst, func(a, b needs.Check) int {
		switch {
		case isMissing(a) == isMissing(b):
			return 0
		case isMissing(a):
			return -1
		}
		return 1
	})
	for _, c := range missingFirst {
		t.row(c.Name, c.State, foreign.Line(c.Found, 2000))
		if c.Do != "" {
			t.row("", "", c.Do)
		}
	}
	t.Flush()
}

// showNeeds prints the table on stderr, or logs it with --log-format json. With --json and --quiet it prints nothing.
func (c *console) showNeeds(table needs.Table) {
	switch {
	case c.json || c.quiet:
	case c.logFormat == "json":
		c.log.Info("what the tests need", zap.Any("needs", table))
	default:
		writeNeeds(c.err, table)
	}
}

// surveyOf returns the survey of one test.
func (p *program) surveyOf(test *plan.Plan, servers *run.Preflight) *needs.Survey {
	return &needs.Survey{Tests: []*plan.Plan{test}, Scored: test.Config.Bool("score"), Environ: p.environ,
		Folder: test.Folder(), Servers: servers}
}
