package judge

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"
)

// Grader asks the user's own program whether two expressions are equal: it gets one JSON object a line, {"given": ..., "truth": ...},
// on its standard input, and answers each with one line, {"equal": true} or {"equal": false}. It is started on first use, as many
// times as answers are graded at once, and ends when its input does.
type Grader struct {
	command []string
	idle    chan *grading
}

// answerTime bounds one comparison: algebra systems may not come back.
const answerTime = 60 * time.Second

// mostGradings is how many graders may wait for work.
const mostGradings = 256

// grading is one running grader.
type grading struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	stop context.CancelFunc
}

// NewGrader makes a grader of a command line: words separated by spaces, no shell.
func NewGrader(command string) (*Grader, error) {
	words := strings.Fields(command)
	if len(words) == 0 {
		return nil, errors.New("the command of the grader of mathematics is empty")
	}
	if _, err := exec.LookPath(words[0]); err != nil {
		return nil, fmt.Errorf("the grader of mathematics can not be started: %w", err)
	}
	return &Grader{words, make(chan *grading, mostGradings)}, nil
}

// Equal asks for one pair.
func (g *Grader) Equal(ctx context.Context, given, truth string) (bool, error) {
	var r *grading
	select {
	case r = <-g.idle:
	default:
		var err error
		if r, err = g.start(); err != nil {
			return false, fmt.Errorf("starting the grader %q: %w", g.command, err)
		}
	}
	equal, err := r.ask(ctx, given, truth)
	if err != nil {
		return false, errors.Join(fmt.Errorf("asking the grader %q whether %.80q equals %.80q: %w", g.command, given, truth, err), r.end())
	}
	select {
	case g.idle <- r:
	default:
		return equal, r.end()
	}
	return equal, nil
}

// Close ends the graders that wait.
func (g *Grader) Close() error {
	var err error
	for {
		select {
		case r := <-g.idle:
			err = errors.Join(err, r.end())
		default:
			return err
		}
	}
}

func (g *Grader) start() (*grading, error) {
	ctx, stop := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, g.command[0], g.command[1:]...)
	cmd.WaitDelay = time.Second
	in, err := cmd.StdinPipe()
	if err == nil {
		var out io.ReadCloser
		if out, err = cmd.StdoutPipe(); err == nil {
			if err = cmd.Start(); err == nil {
				return &grading{cmd, in, bufio.NewReaderSize(io.LimitReader(out, 1<<30), 1<<16), stop}, nil
			}
		}
	}
	stop()
	return nil, err
}

// ask writes a line and reads one; a grader that does not answer in time is ended.
func (r *grading) ask(ctx context.Context, given, truth string) (bool, error) {
	late := time.AfterFunc(answerTime, r.stop)
	defer late.Stop()
	cancelled := context.AfterFunc(ctx, r.stop)
	defer cancelled()
	line, err := json.Marshal(map[string]string{"given": given, "truth": truth})
	if err != nil {
		return false, err
	}
	if _, err := r.in.Write(append(line, '\n')); err != nil {
		return false, fmt.Errorf("it takes no question: %w", err)
	}
	text, err := r.out.ReadSlice('\n')
	if err != nil {
		return false, fmt.Errorf("it gives no answer within %v, or one that is too long: %w", answerTime, err)
	}
	var answer struct {
		Equal *bool `json:"equal"`
	}
	if err := json.Unmarshal(text, &answer); err != nil || answer.Equal == nil {
		return false, fmt.Errorf("it answers %.100q, expected {\"equal\": true} or {\"equal\": false}", text)
	}
	return *answer.Equal, nil
}

// end closes the grader's input, gives it a moment, and ends it.
func (r *grading) end() error {
	_ = r.in.Close()
	after := time.AfterFunc(time.Second, r.stop)
	defer after.Stop()
	defer r.stop()
	if err := r.cmd.Wait(); err != nil && r.cmd.ProcessState == nil {
		return err
	}
	return nil // how a grader ends is its own affair
}
