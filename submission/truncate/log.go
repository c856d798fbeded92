package truncate

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/submission/layout"
)

// The organisers' form of a truncated log (spec/submission.md §6).
const (
	endSize  = 4096  // bytes that stay at each end; a shorter log stays whole
	doneSize = 10240 // a hashed log below this size counts as truncated
	gap      = "\n\n...\n\n"
)

// maxText bounds accuracy.txt: a page of figures, perhaps with the scorer's progress.
const maxText = 64 << 20

// truncate does one log: copy to the backup, hash into accuracy.txt, cut. Each step is complete before the next begins.
func (l accuracyLog) truncate(root, backup string) (Target, error) {
	path := filepath.Join(root, l.dir, logName)
	t := Target{Path: filepath.ToSlash(filepath.Join(l.dir, logName)), State: Refused}
	err := l.steps(root, backup, path, &t)
	if err != nil {
		t.State, t.Reason = Refused, err.Error()
		err = fmt.Errorf("truncating %s: %w", path, err)
	}
	return t, err
}

func (l accuracyLog) steps(root, backup, path string, t *Target) error {
	size, err := regularSize(path)
	if err != nil {
		return err
	}
	t.Before, t.After = size, size
	textPath := filepath.Join(root, l.dir, txtName)
	text, err := readText(textPath, l.kind.needsText)
	if err != nil {
		return err
	}
	sum, err := atomicfile.SHA256(path)
	if err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	c, err := l.kind.plan(f, size, sum, text)
	if err != nil {
		return err
	}
	if c.state == Hashed {
		t.State = Hashed
		return nil
	}
	if err := l.keep(root, backup, sum); err != nil {
		return err
	}
	if c.text != nil {
		if err := atomicfile.WriteBytes(textPath, c.text); err != nil {
			return err
		}
	}
	if c.log != nil {
		if err := atomicfile.WriteBytes(path, c.log); err != nil {
			return err
		}
		t.After = int64(len(c.log))
	}
	t.State, t.SHA256 = Truncated, sum
	return nil
}

// change is what becomes of a log and its accuracy.txt; nil where one stays as it is.
type change struct {
	state     State
	text, log []byte
}

// plan says what to do with a log of size bytes whose hash is sum, beside an accuracy.txt that holds text. It touches no file.
func (k kind) plan(log io.ReaderAt, size int64, sum string, text []byte) (change, error) {
	known := layout.TruncationHash(text)
	switch {
	case known == sum && size >= endSize: // a death after the hash was written: only the cut is missing
	case known != "" && size < doneSize:
		return change{state: Hashed}, nil
	case known != "":
		return change{}, fmt.Errorf("%s beside it holds the hash %.64s already, and the log of %d bytes is not the one that it was made of (%s): this log was replaced after truncation; take out the hash line if the new log is the right one, else copy the original back from the backup",
			txtName, known, size, sum)
	}
	short, err := shorten(log, size)
	if err != nil {
		return change{}, err
	}
	c := change{state: Truncated, log: short}
	if known == "" {
		c.text = k.withHash(text, sum)
	}
	return c, nil
}

// withHash is accuracy.txt with the hash as the organisers' tool writes it.
func (k kind) withHash(text []byte, sum string) []byte {
	line := "hash=" + sum + "\n"
	if !k.needsText {
		return []byte(line)
	}
	return append(bytes.Clone(text), "\n"+line...)
}

func regularSize(path string) (int64, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return 0, fmt.Errorf("it can not be looked at: %w; an accuracy run leaves it there", err)
	}
	if !info.Mode().IsRegular() {
		return 0, fmt.Errorf("it is no plain file but %s: put the log itself there", info.Mode().Type())
	}
	return info.Size(), nil
}

func readText(path string, needed bool) ([]byte, error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !needed:
		return nil, nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("there is no %s: score the log before it is cut, and write the scores there", path)
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no plain file but %s: put the scores themselves there", path, info.Mode().Type())
	case info.Size() > maxText:
		return nil, fmt.Errorf("%s has %d bytes, more than %d MiB: it should hold the scorer's figures", path, info.Size(), maxText>>20)
	}
	return os.ReadFile(path)
}

// keep puts the log, and accuracy.txt as it was, into the backup. A copy that is there already must be the same log.
func (l accuracyLog) keep(root, backup, sum string) error {
	dir := filepath.Join(backup, l.dir)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("making the backup folder: %w", err)
	}
	copied := filepath.Join(dir, logName)
	switch old, err := atomicfile.SHA256(copied); {
	case err == nil && old == sum:
		return nil
	case err == nil:
		return fmt.Errorf("the backup %s holds another log (%s): name a backup folder of its own for this tree", copied, old)
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("looking into the backup: %w", err)
	}
	// accuracy.txt first: where the log's copy is found, both are there.
	text := filepath.Join(root, l.dir, txtName)
	if _, err := atomicfile.Copy(text, filepath.Join(dir, txtName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if _, err := atomicfile.Copy(filepath.Join(root, l.dir, logName), copied); err != nil {
		return err
	}
	switch got, err := atomicfile.SHA256(copied); {
	case err != nil:
		return fmt.Errorf("reading the backup again: %w", err)
	case got != sum:
		return fmt.Errorf("the backup %s has the hash %s instead of %s: the log changed while it was copied; end what writes it, and start again", copied, got, sum)
	}
	return nil
}

// shorten gives both ends of the log around the gap; nil where it stays whole. A log of 4096 to 8191 bytes grows: its ends
// overlap.
func shorten(log io.ReaderAt, size int64) ([]byte, error) {
	if size < endSize {
		return nil, nil
	}
	head, tail := make([]byte, endSize), make([]byte, endSize)
	if _, err := log.ReadAt(head, 0); err != nil {
		return nil, fmt.Errorf("reading its beginning: %w", err)
	}
	// The organisers' tool counts characters here; where those are bytes both agree.
	if i := bytes.IndexFunc(head, func(r rune) bool { return r == '\r' || r > '~' }); i >= 0 {
		return nil, fmt.Errorf("byte %d is none that LoadGen writes into an accuracy log: look whether this is one", i)
	}
	if _, err := log.ReadAt(tail, size-endSize); err != nil {
		return nil, fmt.Errorf("reading its end: %w", err)
	}
	return slices.Concat(head, []byte(gap), tail), nil
}
