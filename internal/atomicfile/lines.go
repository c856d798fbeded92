package atomicfile

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// LinesBuffer is the size of the write buffer in bytes. It holds about a thousand request lines.
const LinesBuffer = 256 << 10

// Lines is a file of JSON lines that is written during a test. It is visible under its final name only after Close.
// Its methods may be called from any goroutine.
type Lines struct {
	mu    sync.Mutex
	path  string
	file  *unfinished
	pack  io.WriteCloser // compressor that writes to file; nil for plain text
	flush func() error   // flushes the compressor; nil for plain text
	out   *bufio.Writer
	count int
	err   error // first failure; later calls return it
	ended bool
}

var (
	errEnded   = errors.New("the file is already closed")
	errAborted = errors.New("the file was dropped")
)

// CreateLines begins path. A name that ends in .zst or .gz is compressed.
func (a Access) CreateLines(path string) (*Lines, error) {
	// With one goroutine the encoder works inside Write and returns its errors immediately.
	return a.createLines(path, zstd.WithEncoderConcurrency(1))
}

// Settings for compressing a .zst file of CreateBulk: the number of processors, and the window, of which each processor
// keeps four (docs/reference/measurements.md#after-the-last-answer).
const (
	bulkProcessors = 4
	bulkWindow     = 64 << 10
)

// CreateBulk is like CreateLines, for many lines that are already known. It compresses a .zst file on several
// processors, so a later write or Close may return the error of an earlier write.
func (a Access) CreateBulk(path string) (*Lines, error) {
	return a.createLines(path, zstd.WithEncoderConcurrency(min(bulkProcessors, runtime.GOMAXPROCS(0))),
		zstd.WithConcurrentBlocks(true), zstd.WithWindowSize(bulkWindow))
}

func (a Access) createLines(path string, how ...zstd.EOption) (*Lines, error) {
	f, err := a.create(path)
	if err != nil {
		return nil, err
	}
	l := &Lines{path: path, file: f}
	below := io.Writer(f)
	switch {
	case strings.HasSuffix(path, ".zst"):
		z, err := zstd.NewWriter(f, append(how, zstd.WithEncoderLevel(zstd.SpeedFastest))...)
		if err != nil {
			f.discard()
			return nil, fmt.Errorf("starting compression of %s: %w", path, err)
		}
		l.pack, l.flush, below = z, z.Flush, z
	case strings.HasSuffix(path, ".gz"):
		z := gzip.NewWriter(f)
		l.pack, l.flush, below = z, z.Flush, z
	}
	l.out = bufio.NewWriterSize(below, LinesBuffer)
	return l, nil
}

// Append adds v as one line of JSON.
func (l *Lines) Append(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encoding line %d of %s as JSON: %w", l.Count()+1, l.path, err)
	}
	return l.AppendRaw(line)
}

// AppendRaw adds one line of encoded JSON, given without its newline.
func (l *Lines) AppendRaw(line []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(); err != nil {
		return err
	}
	_, err := l.out.Write(line)
	if err == nil {
		err = l.out.WriteByte('\n')
	}
	if err != nil {
		return l.fail(err)
	}
	l.count++
	return nil
}

// AppendLines adds n lines of encoded JSON, each with its newline. A file whose texts
// all have at least LinesBuffer bytes needs no copy in the write buffer.
func (l *Lines) AppendLines(text []byte, n int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(); err != nil {
		return err
	}
	if _, err := l.out.Write(text); err != nil {
		return l.fail(err)
	}
	l.count += n
	return nil
}

// Count returns the number of lines so far.
func (l *Lines) Count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.count
}

// Flush writes all lines so far to the unfinished file, so that they can be read after a crash.
func (l *Lines) Flush() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(); err != nil {
		return err
	}
	if err := l.out.Flush(); err != nil {
		return l.fail(err)
	}
	if l.flush != nil {
		if err := l.flush(); err != nil {
			return l.fail(err)
		}
	}
	return nil
}

// Close completes the file and renames it to its final name. After a failed write it drops the file and returns the
// failure.
func (l *Lines) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return l.err
	}
	err := l.err
	if err == nil {
		if err = l.out.Flush(); err != nil {
			err = l.fail(err)
		}
	}
	if l.pack != nil {
		if packErr := l.pack.Close(); err == nil && packErr != nil {
			err = l.fail(packErr)
		}
	}
	l.ended = true
	if err != nil {
		l.file.discard()
		return err
	}
	l.err = l.file.publish()
	return l.err
}

// Abort discards the file. After Close it does nothing.
func (l *Lines) Abort() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return
	}
	l.ended = true
	l.err = fmt.Errorf("writing %s: %w", l.path, errAborted)
	if l.pack != nil {
		_ = l.pack.Close() // frees the compressor; the file with its output is discarded below
	}
	l.file.discard()
}

func (l *Lines) usable() error {
	switch {
	case l.err != nil:
		return l.err
	case l.ended:
		return fmt.Errorf("writing %s: %w", l.path, errEnded)
	}
	return nil
}

func (l *Lines) fail(err error) error {
	l.err = explain(l.path, err)
	return l.err
}
