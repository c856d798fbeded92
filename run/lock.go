package run

import (
	"errors"
	"os"
	"syscall"

	"github.com/mlperf-go/mlperf-go/run/exit"
)

// folderLock is the exclusive right to write a run's folder. The kernel releases it when the process ends, however that
// happens.
type folderLock struct{ dir *os.File }

// lockFolder locks a folder for this run. A folder that another run is writing is a usage error, even with --force:
// logs of two tests in one folder could look like one test. On a file system without locks the lock has no effect.
func lockFolder(folder string) (*folderLock, error) {
	dir, err := os.Open(folder)
	if err != nil {
		return nil, exit.Environment(exit.CodeOutputDir, "Choose another --output-dir, or change its rights",
			"the output folder cannot be read: %w", err)
	}
	if err := syscall.Flock(int(dir.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); errors.Is(err, syscall.EWOULDBLOCK) {
		_ = dir.Close() // only read
		return nil, exit.Usage(exit.CodeRunActive, "Wait for its end, or choose another --output-dir",
			"another run is writing to the output folder %s", folder)
	}
	return &folderLock{dir}, nil
}

// release unlocks the folder. It does nothing for nil.
func (l *folderLock) release() {
	if l != nil {
		_ = syscall.Flock(int(l.dir.Fd()), syscall.LOCK_UN) // closing does it too where no child has the file
		_ = l.dir.Close()
	}
}

// idle returns an error if another run is writing the folder, and nil otherwise, also if the folder cannot be opened.
func idle(folder string) error {
	l, err := lockFolder(folder)
	if err == nil {
		l.release()
	}
	if known := (*Error)(nil); errors.As(err, &known) && known.Code == "run_active" {
		return err
	}
	return nil
}
