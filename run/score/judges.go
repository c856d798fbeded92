package score

import (
	"context"
	"errors"
	"strings"

	"github.com/mlperf-go/mlperf-go/accuracy"
	"github.com/mlperf-go/mlperf-go/accuracy/judge"
	"github.com/mlperf-go/mlperf-go/internal/sandbox"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run/exit"
)

// JudgeSettings are the names of the settings that OpenJudges reads.
var JudgeSettings = []string{"run-code", "code-tests", "code-service", "math-grader"}

// Judges decide about answers that a scorer cannot judge by reading them.
type Judges struct {
	Notes []string // how they judge, for the score's notes
	code  *judge.Judge
}

// Close removes what the judges keep on disk. It may be called on nil.
func (j *Judges) Close() error {
	if j == nil || j.code == nil {
		return nil
	}
	return j.code.Close()
}

// Missing returns the languages in which programs cannot be judged, with what is missing for them.
func (j *Judges) Missing() []string {
	if j.code == nil {
		return nil
	}
	return j.code.Missing()
}

// OpenJudges opens the judges that the settings ask for and puts them into in. setting returns a setting's text by its
// name. Errors are *run.Error: a missing sandbox belongs to the environment, everything else to the settings.
func OpenJudges(ctx context.Context, environ []string, setting func(name string) string,
	in *accuracy.Input) (*Judges, error) {
	j := &Judges{}
	if err := j.openGrader(ctx, environ, setting("math-grader"), in); err != nil {
		return nil, err
	}
	runCode, tests := setting("run-code") == "true", setting("code-tests")
	address := setting("code-service")
	switch {
	case address != "" && runCode:
		return nil, exit.Usage(exit.CodeCodeService, "Give only one of them",
			"--code-service and --run-code are both given")
	case address != "":
		s, err := judge.NewService(address)
		if err != nil {
			return nil, exit.Usage(exit.CodeCodeService, "", "%w", err)
		}
		in.Code = s
		j.Notes = append(j.Notes, "programs were run by the service "+address)
	case runCode:
		return j, j.openSandbox(ctx, environ, tests, in)
	case tests != "":
		return nil, exit.Usage(exit.CodeCodeTests, "Give both, or neither", "--code-tests is given without --run-code")
	}
	return j, nil
}

func (j *Judges) openGrader(ctx context.Context, environ []string, command string, in *accuracy.Input) error {
	if command == "" {
		return nil
	}
	g, err := judge.NewGrader(ctx, command, environ)
	switch {
	case isUnavailable(err):
		return exit.Environment(exit.CodeSandbox, "Without --math-grader the built-in comparison is used", "%w", err)
	case err != nil:
		return exit.Usage(exit.CodeMathGrader, "Name a program that reads and answers lines of JSON "+
			"(docs/how-to/accuracy.md)", "%w", err)
	}
	in.Math = g
	j.Notes = append(j.Notes, "mathematics that needs algebra was decided by: "+command)
	return nil
}

func (j *Judges) openSandbox(ctx context.Context, environ []string, tests string, in *accuracy.Input) error {
	bench, err := accuracy.Find(in.Benchmark)
	if err != nil {
		return err
	}
	code, err := judge.New(ctx, judge.Options{Tests: tests, Environ: environ,
		PythonOnly: bench.Scorer != models.ScoreMixture})
	switch {
	case isUnavailable(err):
		return exit.Environment(exit.CodeSandbox,
			"--run-code=false skips the programs among the answers; they then have no score", "%w", err)
	case err != nil:
		return exit.Usage(exit.CodeCodeTests, "", "%w", err)
	}
	j.code, in.Code = code, code
	j.Notes = append(j.Notes, "programs were run in the sandbox; "+strings.Join(code.Describe(), "; "))
	return nil
}

func isUnavailable(err error) bool {
	var u *sandbox.Unavailable
	return errors.As(err, &u)
}
