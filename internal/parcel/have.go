package parcel

import (
	"os"
	"path"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
)

// Have returns the files of a manifest that exist below root with the same content, for the next Send.
func Have(root *os.Root, m *Manifest) []File {
	if m == nil {
		return nil
	}
	var have []File
	for _, f := range m.Files {
		if got, err := describe(root, f.Path); err == nil && got == f {
			have = append(have, f)
		}
	}
	return have
}

func makeFolderOf(root *os.Root, name string) error {
	dir, err := atomicfile.Private.MakeFolderIn(root, path.Dir(name))
	if err != nil {
		return err
	}
	return dir.Close()
}
