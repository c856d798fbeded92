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

// The organisers' format of a truncated log (docs/reference/submission-rules.md#truncation).
const (
	endSize  = 4096  // bytes kept at each end; a shorter log is not changed
	doneSize = 10240 // a hashed log below this size counts as truncated
	gap      = "\n\n...\n\n"
)

// maxText limits accuracy.txt, which has figures and perhaps the scorer's progress.
const maxText = 64 << 20

// truncate processes one log: it copies it to the backup, writes the hash to accuracy.txt, and truncates it, in this
// order.
func (w *work) truncate(l accuracyLog) {
	t := Target{Path: path.Join(l.dir, logName), State: Refused}
	err := w.steps(l, &t)
	w.add(t, err)
}

func (w *work) steps(l accuracyLog, t *Target) error {
	f, err := atomicfile.OpenIn(w.tree, t.Path)
	if err != nil {
		return fmt.Errorf("%w; copy the log of the accuracy run there", err)
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

// change holds the new content of a log and its accuracy.txt, nil if unchanged.
type change struct {
	state     State
	text, log []byte
}

// plan returns the change of a log with that size and hash, and of an accuracy.txt with that text. It writes no file.
func (k kind) plan(log io.ReaderAt, size int64, sum string, text []byte) (change, error) {
	known := layout.TruncationHash(text)
	switch {
	case known == sum && size >= endSize: // an earlier call crashed before truncating
	case known != "" && size < doneSize:
		return change{state: Hashed}, nil
	case known != "":
		return change{}, fmt.Errorf("%s already has the hash %.64s, but the log of %d bytes has the hash %s: the log was "+
			"replaced after truncation; remove the hash line if the new log is the right one, else copy the original back "+
			"from the backup", txtName, known, size, sum)
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

// withHash returns accuracy.txt with the hash in the format of the organisers' tool.
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
		return nil, fmt.Errorf("no file %s: score the log before truncating it, and write the scores to this file", name)
	case err != nil:
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxText+1))
	if err == nil && len(text) > maxText {
		err = fmt.Errorf("%s has more than %d MiB, but should contain only the scorer's output", name, maxText>>20)
	}
	return text, err
}

// keep copies the log and accuracy.txt to the backup. An existing copy must be of the same log.
func (w *work) keep(l accuracyLog, sum string) error {
	backup, err := w.backup.open()
	if err != nil {
		return err
	}
	dir, err := atomicfile.MakeFolderIn(backup, l.dir)
	if err != nil {
		return fmt.Errorf("create the backup folder: %w", err)
	}
	defer dir.Close()
	copied := filepath.Join(dir.Name(), logName)
	switch old, err := atomicfile.SHA256In(dir, logName); {
	case err == nil && old == sum:
		return nil
	case err == nil:
		return fmt.Errorf("the backup %s is of another log (%s): use a separate backup folder for this tree", copied, old)
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("read the backup: %w", err)
	}
	// accuracy.txt is copied first, so that a copy of the log proves that both exist.
	if _, err := w.save(l, dir, txtName); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	switch got, err := w.save(l, dir, logName); {
	case err != nil:
		return err
	case got != sum:
		return fmt.Errorf("the backup %s has the hash %s instead of %s: the log changed while it was copied; stop the "+
			"program that writes it, and try again", copied, got, sum)
	}
	return nil
}

// copyIn is atomicfile.CopyIn, replaced by a test.
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
		return "", fmt.Errorf("read the backup: %w", err)
	case got != want:
		return "", fmt.Errorf("the backup %s differs from what was written: its hash is %s instead of %s; check the disk",
			filepath.Join(backup.Name(), name), got, want)
	}
	return got, nil
}

// shorten returns both ends of the log around the gap, or nil for a shorter log. A log of 4096 to 8191 bytes grows,
// because its ends overlap.
func shorten(log io.ReaderAt, size int64) ([]byte, error) {
	if size < endSize {
		return nil, nil
	}
	head, tail := make([]byte, endSize), make([]byte, endSize)
	if _, err := log.ReadAt(head, 0); err != nil {
		return nil, fmt.Errorf("read its beginning: %w", err)
	}
	// The organisers' tool counts characters, which equals bytes only for ASCII.
	if i := bytes.IndexFunc(head, func(r rune) bool { return r == '\r' || r > '~' }); i >= 0 {
		return nil, fmt.Errorf("unexpected byte %d: not a LoadGen accuracy log", i)
	}
	if _, err := log.ReadAt(tail, size-endSize); err != nil {
		return nil, fmt.Errorf("read its end: %w", err)
	}
	return slices.Concat(head, []byte(gap), tail), nil
}
