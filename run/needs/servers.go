package needs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/internal/foreign"
	"github.com/mlperf-go/mlperf-go/internal/plural"
	"github.com/mlperf-go/mlperf-go/run/exit"
)

// Names of rows that a refusal can belong to.
const (
	rowServer   = "server"
	rowModel    = "model"
	rowContext  = "context"
	rowTokenIDs = "token ids"
	rowDisk     = "disk"
	rowFiles    = "open files"
)

// refusalRows are the rows to which the faults of an endpoint belong; the server's has the others.
var refusalRows = map[exit.Code]string{
	exit.Code(backends.FaultWrongModel): rowModel, exit.Code(backends.FaultNoTokenIDs): rowTokenIDs,
	exit.Code(backends.FaultNoTokenCount): rowTokenIDs, exit.CodeContextLength: rowContext, exit.CodeDisk: rowDisk,
	exit.CodeDiskFull: rowDisk, exit.CodeOpenFiles: rowFiles, exit.CodeLocalPorts: rowFiles,
}

// rowOf returns the row that an error of the preflight belongs to; "" for no error.
func rowOf(refusal error) string {
	if refusal == nil {
		return ""
	}
	code := exit.Classify(refusal).Code
	var e *backends.EndpointError
	if errors.As(refusal, &e) {
		code = exit.Code(e.Fault)
	}
	if row, ok := refusalRows[code]; ok {
		return row
	}
	return rowServer
}

// unasked returns the check of something that only a server can answer.
func (s *Survey) unasked() Check {
	switch {
	case !s.Tests[0].HasEndpoint():
		return notNeeded("the simulator will be started")
	case s.Refusal != nil:
		return unknown("not checked: the preflight ended first")
	}
	return unknown("the server was not asked yet")
}

func (s *Survey) server(context.Context) Check {
	switch {
	case s.Refusal != nil && slices.Contains([]string{rowModel, rowTokenIDs, rowContext}, rowOf(s.Refusal)):
		return found("answers at " + strings.Join(s.Tests[0].Config.Strings("endpoint"), "; "))
	case s.Servers == nil:
		return s.unasked()
	}
	var names []string
	for _, e := range s.Servers.Endpoints {
		names = append(names, fmt.Sprintf("%s at %s", serverName(e), e.URL))
	}
	return found(strings.Join(names, "; "))
}

func serverName(e *backends.Probe) string {
	name := e.Server
	if name == "" {
		name = "unknown server"
	}
	return foreign.Line(strings.TrimSpace(name+" "+e.Version), 80)
}

func (s *Survey) model(context.Context) Check {
	if s.Servers == nil {
		return s.unasked()
	}
	return found(s.Tests[0].Config.String("served-model"))
}

// context compares the shortest context of the servers with the longest prompt and answer. The preflight has rejected a
// context that is too short.
func (s *Survey) context(context.Context) Check {
	if s.Servers == nil {
		return s.unasked()
	}
	shortest, answer, prompt := 0, 0, 0
	for _, e := range s.Servers.Endpoints {
		if e.MaxModelLen > 0 && (shortest == 0 || e.MaxModelLen < shortest) {
			shortest = e.MaxModelLen
		}
	}
	for _, p := range s.Tests {
		answer, prompt = max(answer, p.Config.Int("max-tokens")), max(prompt, p.LongestPrompt())
	}
	need := fmt.Sprintf("answers have up to %d", answer)
	if prompt > 0 {
		need = fmt.Sprintf("prompts have up to %d, answers %d", prompt, answer)
	}
	if shortest == 0 {
		return Check{State: Unknown, Found: "the server does not report it; " + need}
	}
	return found(fmt.Sprintf("%d tokens; %s", shortest, need))
}

func (s *Survey) tokenIDs(context.Context) Check {
	if s.Servers == nil {
		return s.unasked()
	}
	all := func(has func(*backends.Probe) bool) bool {
		return !slices.ContainsFunc(s.Servers.Endpoints, func(e *backends.Probe) bool { return !has(e) })
	}
	in, out := all(func(e *backends.Probe) bool { return e.TokenIDPrompt }),
		all(func(e *backends.Probe) bool { return e.ReturnsTokenIDs })
	switch {
	case !all(func(e *backends.Probe) bool { return e.Generated }):
		return unknown("no answer was requested (--no-preflight-query)")
	case in && out:
		return found("in prompts and answers")
	case out:
		return found("in answers; prompts are text")
	case s.Tests[0].Row.TextAnswers:
		return notNeeded("the answers of this benchmark are text")
	}
	return found("none in answers: their tokens are counted by the server")
}

func (s *Survey) files(context.Context) Check {
	if s.Servers == nil {
		return s.machineFiles()
	}
	return found(fmt.Sprintf("%d allowed; %s to one address", s.Servers.OpenFiles.Now,
		plural.Count(s.Servers.LocalPorts, "connection", "connections")))
}
