package main

import (
	"fmt"
	"io"
	"strings"

	"go.uber.org/zap"

	"github.com/mlperf-go/mlperf-go/internal/foreign"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/needs"
	"github.com/mlperf-go/mlperf-go/run/plan"
)

// Widths of the table of needs, in columns.
const (
	needsName  = 11
	needsState = 9
	needsWidth = 80
)

// writeNeeds writes the table of needs.
func writeNeeds(w io.Writer, table needs.Table) error {
	text := fmt.Sprintf("%-*s%-*s%s\n", needsName, "needs", needsState, "state", "found")
	indent := strings.Repeat(" ", needsName+needsState)
	for _, c := range table {
		lines := wrapped(foreign.Line(c.Found, 2000), needsWidth-len(indent))
		if c.Do != "" {
			lines = append(lines, wrapped(c.Do, needsWidth-len(indent))...)
		}
		text += fmt.Sprintf("%-*s%-*s%s\n", needsName, c.Name, needsState, c.State, strings.Join(lines, "\n"+indent))
	}
	_, err := io.WriteString(w, text)
	return err
}

// wrapped breaks a text at its blanks into lines of at most width columns. A longer word has a line of its own.
func wrapped(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case len([]rune(line))+1+len([]rune(word)) <= width:
			line += " " + word
		default:
			lines, line = append(lines, line), word
		}
	}
	return append(lines, line)
}

// showNeeds prints the table on stderr, or logs it with --log-format json. With --json and --quiet it prints nothing.
func (c *console) showNeeds(table needs.Table) {
	switch {
	case c.json || c.quiet:
	case c.logFormat == "json":
		c.log.Info("what the tests need", zap.Any("needs", table))
	default:
		_ = writeNeeds(c.messages, table) // a broken stderr cannot be reported anywhere
	}
}

// surveyOf returns the survey of one test.
func (p *program) surveyOf(test *plan.Plan, servers *run.Preflight) *needs.Survey {
	return &needs.Survey{Tests: []*plan.Plan{test}, Scored: test.Config.Bool("score"), Environ: p.environ,
		Folder: test.Folder(), Servers: servers}
}
