package main

import (
	"slices"

	"github.com/mlperf-go/mlperf-go/internal/ordering"

	"go.uber.org/zap"

	"github.com/mlperf-go/mlperf-go/internal/foreign"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/needs"
	"github.com/mlperf-go/mlperf-go/run/plan"
)

// writeNeeds prints the table of needs, missing ones first, with the advice below the findings. end is the error that
// ends the command after the table; no row repeats its text; nil: none.
func writeNeeds(p page, all needs.Table, end error) {
	t := p.table(1)
	t.row("needs", "state", "found")
	isMissing := func(c needs.Check) bool { return c.State == needs.Missing }
	missingFirst := slices.Clone(all)
	ordering.Sort(missingFirst, func(a, b needs.Check) int {
		switch {
		case isMissing(a) == isMissing(b):
			return 0
		case isMissing(a):
			return -1
		}
		return 1
	})
	for _, c := range missingFirst {
		if end != nil && isMissing(c) && c.Found == exit.Classify(end).Err.Error() {
			t.row(c.Name, c.State, "see the error below")
			continue
		}
		t.row(c.Name, c.State, foreign.Line(c.Found, 2000))
		for _, text := range c.List {
			t.row("", "", item+foreign.Line(text, 600))
		}
		if c.Do != "" {
			t.row("", "", c.Do)
		}
	}
	t.Flush()
}

// showNeeds prints the table on stderr, or logs it with --log-format json. With --json and --quiet it prints nothing.
// end is the error of the table that ends the command afterwards; nil: none.
func (c *console) showNeeds(table needs.Table, end error) {
	switch {
	case c.json || c.quiet:
	case c.logFormat == "json":
		c.log.Info("what the tests need", zap.Any("needs", table))
	default:
		writeNeeds(c.err, table, end)
	}
}

// surveyOf returns the survey of one test.
func (p *program) surveyOf(test *plan.Plan, servers *run.Preflight) *needs.Survey {
	return &needs.Survey{Tests: []*plan.Plan{test}, Scored: test.Config.Bool("score"), Environ: p.environ,
		Folder: test.Folder(), Servers: servers}
}
