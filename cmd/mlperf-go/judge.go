package main

import (
	"errors"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/accuracy"
	"github.com/mlperf-go/mlperf-go/accuracy/judge"
	"github.com/mlperf-go/mlperf-go/internal/sandbox"
	"github.com/mlperf-go/mlperf-go/run"
)

// judges decide what the scorers can not: the flags ask for them one by one.
type judges struct {
	code  *judge.Judge  // nil: programs are not run
	math  *judge.Grader // nil: the built-in comparison stands in
	notes []string
}

func (p *program) judges(c *cli.Context, in *accuracy.Input) (*judges, error) {
	js := &judges{}
	if command := c.String("math-grader"); command != "" {
		g, err := judge.NewGrader(command)
		if err != nil {
			return nil, &run.Error{Exit: run.ExitUsage, Code: "math_grader", Err: err, Hint: "Name a program that reads and answers lines of JSON (docs/accuracy.md)"}
		}
		js.math, in.Math = g, g
		js.notes = append(js.notes, "mathematics that needs algebra was decided by: "+command)
	}
	if address := c.String("code-service"); address != "" {
		s, err := judge.NewService(address)
		if err == nil && c.Bool("run-code") {
			err = errors.New("--code-service and --run-code are both given, and one of them decides")
		}
		if err != nil {
			return nil, &run.Error{Exit: run.ExitUsage, Code: "code_service", Err: err}
		}
		in.Code = s
		js.notes = append(js.notes, "programs were run by the service "+address)
		return js, nil
	}
	if !c.Bool("run-code") {
		if c.String("code-tests") != "" {
			return nil, &run.Error{Exit: run.ExitUsage, Code: "code_tests", Err: errors.New("--code-tests is given, and programs are only run with --run-code"), Hint: "Give both, or neither"}
		}
		return js, nil
	}
	j, err := judge.New(c.Context, judge.Options{Tests: c.String("code-tests"), Environ: p.environ})
	var u *sandbox.Unavailable
	switch {
	case errors.As(err, &u):
		return nil, &run.Error{Exit: run.ExitEnvironment, Code: "sandbox", Err: err}
	case err != nil:
		return nil, &run.Error{Exit: run.ExitUsage, Code: "code_tests", Err: err}
	}
	js.code, in.Code = j, j
	js.notes = append(js.notes, "programs were run in the sandbox; "+strings.Join(j.Describe(), "; "))
	return js, nil
}

func (js *judges) close() error {
	var err error
	if js.code != nil {
		err = js.code.Close()
	}
	if js.math != nil {
		err = errors.Join(err, js.math.Close())
	}
	return err
}

// punktOf are the parameters of the sentence splitter.
func punktOf(folder string) (*accuracy.Punkt, error) {
	if folder == "" {
		return accuracy.EnglishPunkt()
	}
	return accuracy.ReadPunkt(folder)
}
