package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/internal/statefile"
)

// maxBytes bounds a run.json. Its lists are as long as the settings, the endpoints or the files of a run.
const maxBytes = 64 << 20

// Read reads the run.json of a folder. A file with another schema is an error; if it is another version of the schema,
// the error is a statefile.OtherVersion with what could be decoded.
func Read(folder string) (*Record, error) {
	text, err := atomicfile.ReadBelow(folder, FileName, maxBytes)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, missing(folder)
	case err != nil:
		return nil, fmt.Errorf("the record of %s cannot be read: %w", folder, err)
	}
	r := &Record{}
	err = statefile.Decode(text, r, func() string { return r.Schema }, Schema)
	switch {
	case err == nil:
		return r, nil
	case r.Schema != Schema && json.Valid(text):
		return nil, fmt.Errorf("the record of %s cannot be used: %w", folder, err)
	}
	return nil, fmt.Errorf("the record of %s is not valid JSON: %w", folder, err)
}

// missing is fs.ErrNotExist for a folder without a record, or for no folder.
type missing string

func (folder missing) Error() string {
	if _, err := os.Lstat(string(folder)); errors.Is(err, fs.ErrNotExist) {
		return "there is no folder " + string(folder)
	}
	return "the folder " + string(folder) + " has no " + FileName
}

func (missing) Is(err error) bool { return err == fs.ErrNotExist }

// Intact compares the files of a run that go into a submission, below its folder, with the checksums in its record.
func (r *Record) Intact(folder string) error {
	for _, name := range slices.Sorted(maps.Keys(r.Files)) {
		if name != UserConfName && !strings.HasPrefix(name, LogFolder+"/") {
			continue
		}
		sum, err := atomicfile.SHA256(filepath.Join(folder, filepath.FromSlash(name)))
		if err != nil {
			return fmt.Errorf("cannot read a log of the run: %w", err)
		}
		if sum != r.Files[name] {
			return fmt.Errorf("%s was changed after the run: its SHA-256 is %s and was %s", name, sum, r.Files[name])
		}
	}
	return nil
}
