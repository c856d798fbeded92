package judge

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf-go/accuracy"
	"github.com/mlperf-go/mlperf-go/internal/sandbox"
)

// Options configures New.
type Options struct {
	Tests      string   // file or folder with LiveCodeBench's tests; may be empty
	Environ    []string // environment variables of the calling command, from which PATH and NODE_PATH are read
	PythonOnly bool     // do not look for MBXP's other languages
}

// Judge runs programs against their tests. It is safe for concurrent use.
type Judge struct {
	runtimes map[string]*runtime // runtimes by MBXP's name for the language
	tests    *testFile           // LiveCodeBench's tests; nil if no file was given
}

// New finds and tries the runtimes, and indexes the tests. Without a sandbox the error is a *sandbox.Unavailable.
func New(ctx context.Context, o Options) (*Judge, error) {
	if err := sandbox.Available(ctx); err != nil {
		return nil, err
	}
	j := &Judge{runtimes: findRuntimes(ctx, o)}
	if o.Tests == "" {
		return j, nil
	}
	var err error
	j.tests, err = openTests(ctx, o.Tests)
	return j, err
}

// Close closes the file of tests.
func (j *Judge) Close() error {
	if j.tests == nil {
		return nil
	}
	return j.tests.close()
}

// Describe returns for each language what runs it, or what is missing.
func (j *Judge) Describe() []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(j.runtimes)) {
		out = append(out, name+": "+j.runtimes[name].describe())
	}
	if j.tests != nil {
		out = append(out, fmt.Sprintf("tests: %d questions of %s", len(j.tests.places), j.tests.path))
	}
	return out
}

// Missing returns what is missing for the languages that cannot be run.
func (j *Judge) Missing() []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(j.runtimes)) {
		if why := j.runtimes[name].missing; why != "" {
			out = append(out, name+": "+why)
		}
	}
	return out
}

// JudgeCode reports whether one program passes its tests.
func (j *Judge) JudgeCode(ctx context.Context, task accuracy.CodeTask) (bool, error) {
	if task.Benchmark == accuracy.MBXP {
		return j.mbxp(ctx, task)
	}
	return j.questions(ctx, task)
}

func unjudged(format string, args ...any) error {
	return &accuracy.Unjudged{Why: fmt.Sprintf(format, args...)}
}

// mbxpSeconds is the reference's time limit for a program (docs/reference/scoring-rules.md#mixture).
const mbxpSeconds = 20

// mbxp runs a program with the asserts in its row.
func (j *Judge) mbxp(ctx context.Context, task accuracy.CodeTask) (bool, error) {
	language, entry, _ := strings.Cut(task.Question, "_")
	r := j.runtimes[language]
	switch {
	case r == nil:
		return false, unjudged("programs in %s cannot be run on this machine", language)
	case r.missing != "":
		return false, unjudged("%s: %s", language, r.missing)
	case task.Tests == "":
		return false, unjudged("the data set has no tests for these programs")
	}
	a, err := r.attempt(ctx, task.Code, task.Tests, entry, r.limits(mbxpSeconds*time.Second))
	if err != nil {
		return false, err
	}
	if module := r.lacks(a.Stderr, task.Tests); module != "" {
		return false, unjudged("%s: the tests need the module %s, which is not installed", language, module)
	}
	return a.proven, nil
}

// Time limits of LiveCodeBench (docs/reference/scoring-rules.md#harmony-answers).
const (
	testSeconds   = 60
	sampleSeconds = 80 // limit of the gpt-oss reference for all tests of one answer
)

// question returns a program's tests: those in the file, or the row's own if no file was given.
func (j *Judge) question(task accuracy.CodeTask) (*question, error) {
	if j.tests != nil {
		return j.tests.question(task.Question)
	}
	q, what, err := parseQuestion([]byte(task.Tests))
	if err != nil {
		return nil, fmt.Errorf("reading the tests of question %.60q from its row: %s: %w", task.Question, what, err)
	}
	return q, nil
}

//go:embed questions.py
var questionsProgram []byte

// questions runs a program with the tests of its question. All of them must pass.
func (j *Judge) questions(ctx context.Context, task accuracy.CodeTask) (bool, error) {
	python := j.runtimes["python"]
	switch {
	case j.tests == nil && task.Tests == "":
		return false, unjudged("no file with LiveCodeBench's tests was given")
	case python.missing != "":
		return false, unjudged("python: %s", python.missing)
	}
	q, err := j.question(task)
	if errors.Is(err, errNoQuestion) {
		return false, unjudged("the file of tests has no question %.60q", task.Question)
	}
	if err != nil {
		return false, err
	}
	tests, err := json.Marshal(map[string]any{"code": task.Code, "function": q.function, "inputs": q.inputs,
		"seconds": testSeconds})
	if err != nil {
		return false, err
	}
	wall := time.Duration((testSeconds+1)*len(q.inputs)+5) * time.Second
	if task.Benchmark == accuracy.LiveCodeBenchQuick {
		wall = min(wall, sampleSeconds*time.Second)
	}
	p := python.program(map[string][]byte{"main.py": questionsProgram, "tests.json": tests})
	l := python.limits(wall)
	l.Output = 64 << 20
	result, err := sandbox.Run(ctx, p, l)
	if err != nil {
		return false, err
	}
	return result.OK() && q.passed(result.Stdout), nil
}

// passed compares the output or result of each test with the expected one.
func (q *question) passed(printed []byte) bool {
	lines := strings.Split(strings.TrimSuffix(string(printed), "\n"), "\n")
	if len(lines) != len(q.outputs) {
		return false
	}
	for i, line := range lines {
		var got struct {
			Text  *string         `json:"text"`
			Value json.RawMessage `json:"value"`
		}
		switch err := json.Unmarshal([]byte(line), &got); {
		case err != nil:
			return false
		case q.function == "" && (got.Text == nil || !sameText(*got.Text, q.outputs[i])):
			return false
		case q.function != "" && !sameReturned(got.Value, q.outputs[i]):
			return false
		}
	}
	return true
}
