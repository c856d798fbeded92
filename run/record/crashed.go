package record

import (
	"os"
	"path/filepath"
	"time"
)

// Crashed is what the folder of a run without a record contains.
type Crashed struct {
	Began time.Time `json:"began"` // when config.yaml was written, which is before the test
	Parts []string  `json:"parts"` // entries of the run
}

// ReadCrashed describes a folder with the settings and another part of a run, but without a record; nil for others.
// The run was killed, or still goes on.
func ReadCrashed(folder string) *Crashed {
	config, err := os.Lstat(filepath.Join(folder, ConfigName))
	if err != nil {
		return nil
	}
	c := &Crashed{Began: config.ModTime().UTC().Truncate(time.Second)}
	for _, name := range Entries {
		if _, err := os.Lstat(filepath.Join(folder, name)); err != nil || name == ReserveName {
			continue
		}
		if name == FileName {
			return nil
		}
		c.Parts = append(c.Parts, name)
	}
	if len(c.Parts) < 2 {
		return nil
	}
	return c
}
