package run

import (
	"errors"
	"os"
	"syscall"

	"github.com/mlperf-go/mlperf-go/run/exit"
)

// folderLock is the right to write a run's folder. The kernel takes it back when the process ends, however it ends.
type folderLock struct{ dir *os.File }

// lockFolder takes a folder for this run. A folder that another run is writing is an error of usage, with --force too:
// two tests' logs in one folder could pass for one test. A file system without locks gives a lock that holds nobody
// off.
func lockFolder(folder string) (*folderLock, error) {
	dir, err := os.Open(folder)
	if err != nil {
		return nil, exit.Environment("output_dir", "Choose another --output-dir, or change its rights",
			"the output folder can not be read: %w", err)
	}
	if err := syscall.Flock(int(dir.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); errors.Is(err, syscall.EWOULDBLOCK) {
		_ = dir.Close() // only read
		return nil, exit.Usage("run_active", "Wait for its end, or choose another --output-dir",
			"another run is writing the output folder %s at this moment", folder)
	}
	return &folderLock{dir}, nil
}

// release gives the folder up; nil: it was never had.
func (l *folderLock) release() {
	if l != nil {
		_ = syscall.Flock(int(l.dir.Fd()), syscall.LOCK_UN) // closing does it too where no child has the file
		_ = l.dir.Close()
	}
}

// idle says whether nobody writes a folder; one that can not be opened tells its own story elsewhere.
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
