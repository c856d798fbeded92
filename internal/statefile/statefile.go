package statefile

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
)

// maxSize is the maximum size of a file in bytes. The largest file, an experiment's, has up to 100,000 trials of about
// 500 bytes.
const maxSize = 64 << 20

// ErrNone is the cause of the error for a folder without the file.
var ErrNone = errors.New("there is no state")

// File is the state file of one kind of folder.
type File[S any] struct {
	Name     string // name of the file, such as tune.json
	Of       string // kind of folder, such as tune
	Schema   string // the only schema that can be read
	SchemaOf func(*S) string
	Check    func(*S) error // rejects values that no version of the program writes
}

// Read reads the file of a folder. The error is ErrNone if the folder has none, and an OtherVersion for a file of
// another version that passes Check.
func (f File[S]) Read(folder string) (*S, error) {
	text, err := atomicfile.ReadBelow(folder, f.Name, maxSize)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, missing{folder, f.Name}
	case err != nil:
		return nil, err
	}
	s, err := f.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(folder, f.Name), err)
	}
	return s, nil
}

// missing is ErrNone with the names of the folder and the file.
type missing struct{ folder, name string }

func (m missing) Error() string     { return fmt.Sprintf("%s: there is no %s", m.folder, m.name) }
func (m missing) Is(err error) bool { return err == ErrNone }

// Parse parses the text of a file.
func (f File[S]) Parse(text []byte) (*S, error) {
	s := new(S)
	err := Decode(text, s, func() string { return f.SchemaOf(s) }, f.Schema)
	var other *OtherVersion
	switch {
	case errors.As(err, &other):
		if failed := f.Check(s); failed != nil { // such a state may not be printed
			return nil, fmt.Errorf("%s; %w", other.Error(), failed)
		}
		return nil, err
	case err != nil && f.SchemaOf(s) != "" && f.SchemaOf(s) != f.Schema:
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("not the JSON of a %s: %w", f.Of, err)
	}
	return s, f.Check(s)
}
