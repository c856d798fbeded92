package campaign

import (
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
)

// copyRun copies the regular files of a folder with their permissions.
func copyRun(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		below, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		const others = 0o077
		access := atomicfile.Shared
		if info.Mode().Perm()&others == 0 {
			access = atomicfile.Private
		}
		switch target := filepath.Join(to, below); {
		case d.IsDir():
			return os.MkdirAll(target, access.Folder())
		case d.Type().IsRegular():
			_, err = access.Copy(path, target)
		}
		return err
	})
}
