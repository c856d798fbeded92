package worker

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Listed is a folder of results on a volume.
type Listed struct {
	Name  string `json:"name"`
	Ended bool   `json:"ended"` // whether its command ended; File contains the exit code
}

// List returns the folders of a volume by name. Others may share the volume: a folder without an ended command may
// belong to them. Names that begin with a dot are left out.
func List(volume string) ([]Listed, error) {
	entries, err := os.ReadDir(volume)
	if err != nil {
		return nil, fmt.Errorf("listing the results: %w", err)
	}
	list := []Listed{}
	for _, e := range entries {
		if !e.IsDir() || e.Name()[0] == '.' {
			continue
		}
		_, err := os.Lstat(filepath.Join(volume, e.Name(), File))
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
			return nil, err
		}
		list = append(list, Listed{e.Name(), err == nil})
	}
	return list, nil
}
