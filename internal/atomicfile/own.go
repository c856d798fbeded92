package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// MakeOwnFolder creates a folder for files that are written through links. If the path exists, it must be a folder of
// this user: a link, another user's folder, and a folder that others may write to are errors.
func (a Access) MakeOwnFolder(path string) error {
	err := os.Mkdir(path, a.Folder())
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	return CheckOwnFolder(info, path)
}

// CheckOwnFolder rejects anything but a folder of this user that no one else may write to.
func CheckOwnFolder(info fs.FileInfo, path string) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !ok || !info.IsDir() || int(stat.Uid) != os.Geteuid():
		return fmt.Errorf("%s is not a folder of this user", path)
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("others may write to %s: chmod go-w %[1]s", path)
	}
	return nil
}
