package child

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/run/exit"
)

// Owner describes the command that locks a folder.
type Owner struct {
	What string // kind of folder, such as "campaign"
	File string // name of the lock file in the folder
	Hint string // what a user may do while another process works in the folder
	Flag string // flag that names the folder; empty: --output-dir

	Busy   exit.Code         // exit code if another process works in the folder
	Access atomicfile.Access // access to a folder that is created
}

// lockWait is how long the children of a killed owner may take to end. They get a signal when the owner dies.
const lockWait = 30 * time.Second

// Lock is the right to work in a folder. Every child holds it too, so if the owner dies, the folder stays locked
// until the last child has ended.
type Lock struct {
	file *os.File
	made string // the folder, if Acquire created it
}

// Acquire creates the folder and takes its lock. A lock held by a live owner is an error of usage; it waits for the
// children of a dead one.
func Acquire(ctx context.Context, folder string, o Owner) (*Lock, error) {
	made := ""
	if _, err := os.Lstat(folder); errors.Is(err, fs.ErrNotExist) {
		made = folder
	}
	for deadline := time.Now().Add(lockWait); ; {
		f, err := o.open(folder)
		if err != nil {
			return nil, err
		}
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil && isAt(f) {
			l := &Lock{f, made}
			if err := errors.Join(l.sign(), ctx.Err()); err != nil {
				l.Release()
				return nil, err
			}
			return l, nil
		}
		holder := holder(f)
		_ = f.Close() // only read
		switch {
		case err == nil: // the owner before removed it
			continue
		case !errors.Is(err, syscall.EWOULDBLOCK):
			return nil, exit.Environment(exit.CodeOutputDir, "Choose another "+o.flag()+" on a file system with locks",
				"cannot lock the folder %s of the %s: %w", folder, o.What, err)
		case holder.alive() || time.Now().After(deadline):
			return nil, exit.Usage(o.Busy, o.Hint, "the folder %s is in use by another %s (process %d)", folder, o.What,
				holder.pid)
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// open creates the folder and the file of its lock.
func (o Owner) open(folder string) (*os.File, error) {
	if err := os.MkdirAll(folder, o.Access.Folder()); err != nil {
		return nil, exit.Environment(exit.CodeOutputDir, "Choose another "+o.flag()+", or change its permissions",
			"cannot create the folder of the %s: %w", o.What, err)
	}
	f, err := os.OpenFile(filepath.Join(folder, o.File), os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o644)
	if err != nil {
		return nil, exit.Environment(exit.CodeOutputDir, "Choose another "+o.flag()+", or change its permissions",
			"cannot lock the folder of the %s: %w", o.What, err)
	}
	return f, nil
}

func (o Owner) flag() string { return cmp.Or(o.Flag, "--output-dir") }

// isAt reports whether a file still has its name.
func isAt(f *os.File) bool {
	named, err := os.Lstat(f.Name())
	if err != nil {
		return false
	}
	opened, err := f.Stat()
	return err == nil && os.SameFile(named, opened)
}

// Release removes the file of the lock, and the folder if Acquire created it and nothing was written into it. It
// releases the lock even if another process still has the file open, such as a child between fork and exec.
func (l *Lock) Release() {
	if isAt(l.file) {
		_ = os.Remove(l.file.Name()) // a file that stays is not locked
	}
	if l.made != "" {
		_ = os.Remove(l.made) // it may contain something
	}
	_ = syscall.Flock(int(l.file.Fd()), syscall.LOCK_UN) // closing does it too if no other process has the file
	_ = l.file.Close()
}

// sign writes the holder's identity into the lock file.
func (l *Lock) sign() error {
	if err := l.file.Truncate(0); err != nil {
		return err
	}
	_, err := l.file.WriteAt([]byte(self().String()+"\n"), 0)
	return err
}

// process identifies a process. Its number alone is not enough, because numbers are reused.
type process struct {
	pid     int
	started string // field 22 of /proc/PID/stat: ticks since the machine's start
}

func self() process { return process{os.Getpid(), startOf(os.Getpid())} }

func (p process) String() string { return fmt.Sprintf("process %d %s", p.pid, p.started) }

func (p process) alive() bool { return p.pid > 0 && p.started != "" && startOf(p.pid) == p.started }

// holder reads who signed a lock file; the zero process if it is not signed yet.
func holder(f io.ReaderAt) process {
	text := make([]byte, 128)
	n, _ := f.ReadAt(text, 0) // an empty or short file has no identity in it
	words := strings.Fields(string(text[:n]))
	if len(words) != 3 {
		return process{}
	}
	pid, err := strconv.Atoi(words[1])
	if err != nil {
		return process{}
	}
	return process{pid, words[2]}
}

// startOf returns when a process was started; empty: it does not exist.
func startOf(pid int) string {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return ""
	}
	// The name in parentheses may contain spaces and parentheses; the fields after it do not. The first is the state.
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) < 20 || fields[0] == "Z" {
		return ""
	}
	return fields[19]
}

// Running reports whether a live owner holds the folder.
func (o Owner) Running(folder string) bool {
	f, err := os.Open(filepath.Join(folder, o.File))
	if err != nil {
		return false
	}
	defer f.Close()
	if syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) == nil { // released when the file is closed
		return false
	}
	return true
}
