package judge

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/sandbox"
)

// Grader asks the user's own program whether two expressions are equal. The program reads one JSON object, {"given":
// ..., "truth": ...}, from a line of its standard input, and answers with one line, {"equal": true} or {"equal":
// false}. A model wrote the given expression, and algebra systems evaluate what they read; each question therefore gets
// its own process in the sandbox.
type Grader struct {
	command string
	*runtime
	files map[string][]byte
}

// Limits for one comparison, since algebra systems may never finish.
const (
	answerTime  = 60 * time.Second
	answerBytes = 64 << 10
)

// mostGraderBytes is the maximum size of a file in the command.
const mostGraderBytes = 64 << 20

// pythonPlaces makes an interpreter print its own file, and then the folders with its modules.
var pythonPlaces = []string{"-c",
	"import sys; print(sys.executable, sys.base_prefix, sys.prefix, *sys.path, sep='\\n')"}

// NewGrader returns a grader that runs a command line, split at spaces without a shell, after trying it. The sandbox
// contains the command and its own folder, and the files and folders that its arguments name. Without a sandbox the
// error is a *sandbox.Unavailable.
func NewGrader(ctx context.Context, command string, environ []string) (*Grader, error) {
	words := strings.Fields(command)
	if len(words) == 0 {
		return nil, errors.New("the command of the math grader is empty")
	}
	path, _ := which(ctx, environ, words[0], nil)
	if path == "" {
		return nil, fmt.Errorf("cannot start the math grader: program %q not found", words[0])
	}
	// python may be a script that starts another interpreter.
	if interpreter := interpreterOf(path); interpreter != nil && !isPython(words[0]) {
		words = slices.Concat(interpreter, []string{path}, words[1:])
	}
	g := &Grader{command: command, files: map[string][]byte{}}
	l := &language{command: words[0], view: tools, heavy: true}
	if isPython(words[0]) {
		l.ask = pythonPlaces
	}
	var err error
	if l.args, l.view, err = g.arguments(words[1:], l.view); err != nil {
		return nil, err
	}
	g.runtime = &runtime{language: l}
	if missing := g.locate(ctx, environ); missing != "" {
		return nil, fmt.Errorf("cannot start the math grader: %s", missing)
	}
	if l.ask != nil {
		_, folders := which(ctx, environ, words[0], l.ask)
		g.env = append(g.env, "PYTHONPATH="+strings.Join(slices.DeleteFunc(folders,
			func(f string) bool { return !filepath.IsAbs(f) }), ":"))
	}
	return g, g.try(ctx)
}

func isPython(command string) bool { return strings.HasPrefix(filepath.Base(command), "python") }

// interpreterOf returns the command in a script's first line, or nil if the file is not a script.
func interpreterOf(path string) []string {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	line, err := bufio.NewReaderSize(f, 512).ReadSlice('\n')
	rest, script := bytes.CutPrefix(line, []byte("#!"))
	if err != nil || !script {
		return nil
	}
	words := strings.Fields(string(rest))
	if len(words) > 1 && filepath.Base(words[0]) == "env" {
		return words[1:]
	}
	return words
}

// arguments puts the files named by words into the sandbox's folder, and folders into the view.
func (g *Grader) arguments(words, view []string) (args, shown []string, err error) {
	shown = slices.Clone(view)
	for _, word := range words {
		info, err := os.Stat(word)
		switch {
		case err != nil: // the word is not a path
		case info.IsDir():
			if word, err = filepath.Abs(word); err != nil {
				return nil, nil, err
			}
			below := func(folder string) bool { return word == folder || strings.HasPrefix(word, folder+"/") }
			if below("/tmp") || below(sandbox.Home) {
				return nil, nil, fmt.Errorf("the grader's folder %s is not visible in the sandbox, which has its own /tmp and %s "+
					"of "+
					"move it elsewhere", word, sandbox.Home)
			}
			shown = append(shown, word)
		case info.Mode().IsRegular():
			name := filepath.Base(word)
			if g.files[name] != nil || info.Size() > mostGraderBytes {
				return nil, nil, fmt.Errorf("the grader's file %s is larger than %d MiB or has the same name as another one", word,
					mostGraderBytes>>20)
			}
			if g.files[name], err = os.ReadFile(word); err != nil {
				return nil, nil, fmt.Errorf("reading the grader: %w", err)
			}
			word = name
		}
		args = append(args, word)
	}
	return args, shown, nil
}

// try asks about a pair that is equal.
func (g *Grader) try(ctx context.Context) error {
	equal, err := g.Equal(ctx, "1", "1")
	if err == nil && !equal {
		err = fmt.Errorf("the grader %q does not confirm within %v that 1 equals 1", g.command, answerTime)
	}
	return err
}

// Equal asks about one pair. If the grader hits a limit or crashes, the pair counts as unequal: since the grader passed
// its trial, the expression is to blame.
func (g *Grader) Equal(ctx context.Context, given, truth string) (bool, error) {
	line, err := json.Marshal(map[string]string{"given": given, "truth": truth})
	if err != nil {
		return false, err
	}
	p := g.program(maps.Clone(g.files))
	p.Stdin = append(line, '\n')
	l := g.limits(answerTime)
	l.Output = answerBytes
	r, err := sandbox.Run(ctx, p, l)
	if err != nil {
		return false, fmt.Errorf("asking the grader %q: %w", g.command, err)
	}
	if slices.Contains([]sandbox.End{sandbox.AtWall, sandbox.AtMemory, sandbox.AtCPUTime, sandbox.BySignal}, r.End) {
		return false, nil
	}
	var answer struct {
		Equal *bool `json:"equal"`
	}
	first, _, _ := bytes.Cut(r.Stdout, []byte("\n"))
	if err := json.Unmarshal(first, &answer); err != nil || answer.Equal == nil {
		return false, fmt.Errorf("asking the grader %q whether %.80q equals %.80q: it answered %.100q, expected {\"equal\": "+
			"true} or {\"equal\": false}; its errors end with: %s",
			g.command, given, truth, first, tail(r.Stderr))
	}
	return *answer.Equal, nil
}

// tail returns the end of a text on one line.
func tail(text []byte) string {
	const most = 300
	line := strings.Join(strings.Fields(strings.ToValidUTF8(string(text), "?")), " ")
	return fmt.Sprintf("%q", line[max(0, len(line)-most):])
}
