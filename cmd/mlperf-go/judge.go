package main

import (
	"context"
	"errors"
	"strings"

	"github.com/mlperf-go/mlperf-go/accuracy"
	"github.com/mlperf-go/mlperf-go/accuracy/judge"
	"github.com/mlperf-go/mlperf-go/internal/sandbox"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run"
)

// judges decide what the scorers can not: the flags ask for them one by one.
type judges struct {
	code  *judge.Judge // nil: programs are not run
	notes []string
}

// judgeFlags are the names of the settings by which judges are asked for.
var judgeFlags = []string{"run-code", "code-tests", "code-service", "math-grader"}

// judges makes what the flags or settings ask for; value gives the text of one by its name.
func (p *program) judges(ctx context.Context, value func(name string) string, in *accuracy.Input) (*judges, error) {
	js := &judges{}
	if command := value("math-grader"); command != "" {
		g, err := judge.NewGrader(ctx, command, p.environ)
		var u *sandbox.Unavailable
		switch {
		case errors.As(err, &u):
			return nil, run.EnvironmentError("sandbox", "Without --math-grader the built-in comparison stands in", "%w", err)
		case err != nil:
			return nil, run.UsageError("math_grader", "Name a program that reads and answers lines of JSON "+
				"(docs/how-to/accuracy.md)", "%w", err)
		}
		in.Math = g
		js.notes = append(js.notes, "mathematics that needs algebra was decided by: "+command)
	}
	if address := value("code-service"); address != "" {
		s, err := judge.NewService(address)
		if err == nil && value("run-code") == "true" {
			err = errors.New("--code-service and --run-code are both given, and one of them decides")
		}
		if err != nil {
			return nil, run.UsageError("code_service", "", "%w", err)
		}
		in.Code = s
		js.notes = append(js.notes, "programs were run by the service "+address)
		return js, nil
	}
	if value("run-code") != "true" {
		if value("code-tests") != "" {
			return nil, run.UsageError("code_tests", "Give both, or neither",
				"--code-tests is given, and programs are only run with --run-code")
		}
		return js, nil
	}
	bench, err := accuracy.Find(in.Benchmark)
	if err != nil {
		return nil, err
	}
	j, err := judge.New(ctx, judge.Options{Tests: value("code-tests"), Environ: p.environ,
		PythonOnly: bench.Scorer != models.ScoreMixture})
	var u *sandbox.Unavailable
	switch {
	case errors.As(err, &u):
		return nil, run.EnvironmentError("sandbox",
			"--run-code=false leaves the programs among the answers out: they have no score then", "%w", err)
	case err != nil:
		return nil, run.UsageError("code_tests", "", "%w", err)
	}
	js.code, in.Code = j, j
	js.notes = append(js.notes, "programs were run in the sandbox; "+strings.Join(j.Describe(), "; "))
	return js, nil
}

func (js *judges) close() error {
	if js.code == nil {
		return nil
	}
	return js.code.Close()
}

// punktOf are the parameters of the sentence splitter.
func punktOf(folder string) (*accuracy.Punkt, error) {
	if folder == "" {
		return accuracy.EnglishPunkt()
	}
	return accuracy.ReadPunkt(folder)
}
