package bench

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/workload/profile"
)

// DataFile is a file from which the workload was read.
type DataFile struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"` // of its bytes after the run, hexadecimal
}

// dataFiles hashes the files that a profile names, so that a later run can show that it sent the same data. Of a folder
// these are all regular files, in ascending order of their names.
func dataFiles(p *profile.Profile) (files []DataFile, err error) {
	paths := []string{p.Data.Path, p.Data.Corpus}
	for _, t := range []*profile.TraceFile{p.Data.Trace, p.Load.Trace} {
		if t != nil {
			paths = append(paths, t.Path)
		}
	}
	slices.Sort(paths)
	add := func(path string) error {
		sum, err := atomicfile.SHA256(path)
		files = append(files, DataFile{path, sum})
		return err
	}
	for _, path := range slices.Compact(paths) {
		if path == "" {
			continue
		}
		s, err := os.Stat(path)
		switch {
		case err != nil:
		case s.IsDir():
			err = filepath.WalkDir(path, func(name string, e fs.DirEntry, err error) error {
				if err != nil || !e.Type().IsRegular() {
					return err
				}
				return add(name)
			})
		case s.Mode().IsRegular(): // a pipe cannot be read again
			err = add(path)
		}
		if err != nil {
			return nil, err
		}
	}
	return files, nil
}
