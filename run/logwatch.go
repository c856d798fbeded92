package run

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/internal/crash"
	"github.com/mlperf-go/mlperf-go/internal/mllog"
)

// logNames are LoadGen's files.
var logNames = []string{mllog.DetailName, mllog.SummaryName, mllog.AccuracyName, mllog.TraceName}

// logWatch keeps LoadGen's logs open while the test runs. A log only grows and stays the same file; anything else is a
// change by another program, which LoadGen does not notice. The open files also keep the data when their names are
// removed.
type logWatch struct {
	folder string // of the logs
	end    chan struct{}
	done   sync.WaitGroup
	mu     sync.Mutex
	logs   []watchedLog
	faults []string // changes from outside, each once
}

type watchedLog struct {
	name     string
	file     *os.File
	size     int64
	reported bool
}

// How often the logs are checked: until LoadGen has created them, and afterwards.
const (
	logOpenEvery  = 20 * time.Millisecond
	logWatchEvery = 250 * time.Millisecond
)

// watchLogs starts to watch a folder of LoadGen's that contains no log yet.
func watchLogs(folder string) *logWatch {
	w := &logWatch{folder: folder, end: make(chan struct{})}
	w.done.Go(func() {
		defer crash.Catch()
		for {
			wait := logOpenEvery
			if w.look() == len(logNames) {
				wait = logWatchEvery
			}
			select {
			case <-w.end:
				return
			case <-time.After(wait):
			}
		}
	})
	return w
}

// stop ends the watch with a last look and returns the changes by other programs.
func (w *logWatch) stop() []string {
	close(w.end)
	w.done.Wait()
	w.look()
	return slices.Clone(w.faults)
}

// look compares every log with its earlier state, and returns how many are open.
func (w *logWatch) look() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, name := range logNames {
		if len(w.logs) == 0 && !w.begun() {
			return 0
		}
		if !slices.ContainsFunc(w.logs, func(l watchedLog) bool { return l.name == name }) {
			w.open(name)
		}
	}
	for i := range w.logs {
		l := &w.logs[i]
		if fault := l.fault(w.folder); fault != "" && !l.reported {
			l.reported = true
			w.faults = append(w.faults, fault)
		}
	}
	return len(w.logs)
}

// begun reports whether LoadGen has written a line. It creates all files before the first line. Files without a line
// may be the bridge's, which tests the folder.
func (w *logWatch) begun() bool {
	info, err := os.Lstat(filepath.Join(w.folder, mllog.DetailName))
	return err == nil && info.Size() > 0
}

// open opens a log if it exists. One that cannot be opened is reported as missing when the logs are read.
func (w *logWatch) open(name string) {
	f, err := os.OpenFile(filepath.Join(w.folder, name), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		_ = f.Close() // only read
		return
	}
	w.logs = append(w.logs, watchedLog{name: name, file: f})
}

// fault returns the change that another program made to a log, or "".
func (l *watchedLog) fault(folder string) string {
	held, err := l.file.Stat()
	if err != nil {
		return fmt.Sprintf("%s cannot be read any more: %v", l.name, err)
	}
	was := l.size
	l.size = held.Size()
	named, err := os.Lstat(filepath.Join(folder, l.name))
	switch {
	case held.Size() < was:
		return fmt.Sprintf("%s was truncated from %d to %d bytes while LoadGen wrote it", l.name, was, held.Size())
	case errors.Is(err, fs.ErrNotExist):
		return l.name + " was removed while LoadGen wrote it"
	case err != nil:
		return fmt.Sprintf("%s cannot be read any more: %v", l.name, err)
	case !os.SameFile(held, named):
		return l.name + " was replaced by another file while LoadGen wrote it"
	}
	return ""
}

// freeze stops LoadGen's writes after an early end: LoadGen goes on issuing, and would change logs whose hashes are in
// the record. It redirects LoadGen's descriptors to /dev/null.
func (w *logWatch) freeze() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	nowhere, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("LoadGen's logs cannot be frozen: %w", err)
	}
	defer nowhere.Close()
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return fmt.Errorf("LoadGen's logs cannot be frozen: %w", err)
	}
	for _, e := range open {
		fd, err := strconv.Atoi(e.Name())
		if err != nil || !w.writes(fd) {
			continue
		}
		if err := unix.Dup3(int(nowhere.Fd()), fd, unix.O_CLOEXEC); err != nil {
			return fmt.Errorf("LoadGen's logs cannot be frozen: %w", err)
		}
	}
	return nil
}

// writes reports whether a descriptor of this process writes one of the logs.
func (w *logWatch) writes(fd int) bool {
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err != nil || flags&unix.O_ACCMODE == unix.O_RDONLY {
		return false
	}
	var has unix.Stat_t
	if unix.Fstat(fd, &has) != nil {
		return false
	}
	return slices.ContainsFunc(w.logs, func(l watchedLog) bool {
		var log unix.Stat_t
		return unix.Fstat(int(l.file.Fd()), &log) == nil && log.Dev == has.Dev && log.Ino == has.Ino
	})
}

// restore copies removed logs from the open files into a folder.
func (w *logWatch) restore(access atomicfile.Access, folder string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	var lost error
	for _, l := range w.logs {
		path := filepath.Join(folder, l.name)
		if _, err := os.Lstat(path); err == nil || !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		lost = errors.Join(lost, access.Write(path, func(to io.Writer) error {
			info, err := l.file.Stat()
			if err == nil {
				_, err = io.Copy(to, io.NewSectionReader(l.file, 0, info.Size()))
			}
			return err
		}))
	}
	return lost
}

// states returns a text for each log that changes with its size or time.
func (w *logWatch) states() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var list []string
	for _, l := range w.logs {
		if info, err := l.file.Stat(); err == nil {
			list = append(list, fmt.Sprintf("%s %d %d", l.name, info.Size(), info.ModTime().UnixNano()))
		}
	}
	return list
}

// close closes the files.
func (w *logWatch) close() {
	for _, l := range w.logs {
		_ = l.file.Close() // only read
	}
}
