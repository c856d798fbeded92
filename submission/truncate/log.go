package truncate

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/submission/layout"
)

// The organisers' form of a truncated log (docs/reference/submission-rules.md#truncation).
const (
	endSize  = 4096  // bytes that stay at each end; a shorter log stays whole
	doneSize = 10240 // a hashed log below this size counts as truncated
	gap      = "\n\n...\n\n"
)

// maxText bounds accuracy.txt: a page of figures, perhaps with the scorer's progress.
const maxText = 64 << 20

// truncate does one log: copy to the backup, hash into accuracy.txt, cut. Each step is complete before the next begins.
func (w *work) truncate(l accuracyLog) {
	t := Target{Path: path.Join(l.dir, logName), State: Refused}
	err := w.steps(l, &t)
	w.add(t, err)
}

func (w *work) steps(l accuracyLog, t *Target) error {
	f, err := atomicfile.OpenIn(w.tree, t.Path)
	if err != nil {
		return fmt.Errorf("%w; an accuracy run leaves it there", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	t.Before, t.After = info.Size(), info.Size()
	textPath := path.Join(l.dir, txtName)
	text, err := w.readText(textPath, l.kind.needsText)
	if err != nil {
		return err
	}
	sum, err := sha256Of(f)
	if err != nil {
		return err
	}
	c, err := l.kind.plan(f, t.Before, sum, text)
	if err != nil {
		return err
	}
	if c.state == Hashed {
		t.State = Hashed
		return nil
	}
	if err := w.keep(l, sum); err != nil {
		return err
	}
	if c.text != nil {
		if err := atomicfile.WriteBytesIn(w.tree, textPath, c.text); err != nil {
			return err
		}
	}
	if c.log != nil {
		if err := atomicfile.WriteBytesIn(w.tree, t.Path, c.log); err != nil {
			return err
		}
		t.After = int64(len(c.log))
	}
	t.State, t.SHA256 = Truncated, sum
	return nil
}

func sha256Of(r io.Reader) (string, error) {
	h := sha256.New()
	if _, err := io.Copy(h, r); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// change is what becomes of a log and its accuracy.txt; nil where one stays as it is.
type change struct {
	state     State
	text, log []byte
}

// plan says what to do with a log of size bytes whose hash is sum, beside an accuracy.txt that holds text. It touches
// no file.
func (k kind) plan(log io.ReaderAt, size int64, sum string, text []byte) (change, error) {
	known := layout.TruncationHash(text)
	switch {
	case known == sum && size >= endSize: // a death after the hash was written: only the cut is missing
	case known != "" && size < doneSize:
		return change{state: Hashed}, nil
	case known != "":
		return change{}, fmt.Errorf("%s beside it holds the hash %.64s already, and the log of %d bytes is not the one "+
			"that it was made of (%s): this log was replaced after truncation; take out the hash line if the new log is the "+
			"right one, else copy the original back from the backup",
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

func (w *work) readText(name string, needed bool) ([]byte, error) {
	f, err := atomicfile.OpenIn(w.tree, name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !needed:
		return nil, nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("there is no %s: score the log before it is cut, and write the scores there", name)
	case err != nil:
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxText+1))
	if err == nil && len(text) > maxText {
		err = fmt.Errorf("%s has more than %d MiB: it should hold the scorer's figures", name, maxText>>20)
	}
	return text, err
}

// keep puts the log, and accuracy.txt as it was, into the backup. A copy that is there already must be the same log.
func (w *work) keep(l accuracyLog, sum string) error {
	backup, err := w.backup.open()
	if err != nil {
		return err
	}
	dir, err := atomicfile.MakeFolderIn(backup, l.dir)
	if err != nil {
		return fmt.Errorf("making the backup folder: %w", err)
	}
	defer dir.Close()
	copied := filepath.Join(dir.Name(), logName)
	switch old, err := atomicfile.SHA256In(dir, logName); {
	case err == nil && old == sum:
		return nil
	case err == nil:
		return fmt.Errorf("the backup %s holds another log (%s): name a backup folder of its own for this tree", copied, old)
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("looking into the backup: %w", err)
	}
	// accuracy.txt first: where the log's copy is found, both are there.
	if _, err := w.save(l, dir, txtName); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	switch got, err := w.save(l, dir, logName); {
	case err != nil:
		return err
	case got != sum:
		return fmt.Errorf("the backup %s has the hash %s instead of %s: the log changed while it was copied; end what "+
			"writes it, and start again", copied, got, sum)
	}
	return nil
}

// copyIn is atomicfile.CopyIn; a test lets it write something else.
var copyIn = atomicfile.CopyIn

// save copies a file of the log's folder into the backup, reads the copy and returns its hash.
func (w *work) save(l accuracyLog, backup *os.Root, name string) (string, error) {
	f, err := atomicfile.OpenIn(w.tree, path.Join(l.dir, name))
	if err != nil {
		return "", err
	}
	defer f.Close()
	want, err := copyIn(backup, name, f)
	if err != nil {
		return "", err
	}
	got, err := atomicfile.SHA256In(backup, name)
	switch {
	case err != nil:
		return "", fmt.Errorf("reading the backup again: %w", err)
	case got != want:
		return "", fmt.Errorf("the backup %s does not hold what was written: its hash is %s instead of %s; look at the disk",
			filepath.Join(backup.Name(), name), got, want)
	}
	return got, nil
}

// shorten gives both ends of the log around the gap; nil where it stays whole. A log of 4096 to 8191 bytes grows: its
// ends overlap.
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
