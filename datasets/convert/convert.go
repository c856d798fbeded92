package convert

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/models"
)

// The kinds of errors that concern the job and not the contents of a file.
var (
	ErrFormat    = errors.New("unknown suffix of the output file")
	ErrExists    = errors.New("the file exists")
	ErrAnswers   = errors.New("answers require the form calls")
	ErrTemporary = errors.New("cannot create a temporary folder for the rows")
)

// Job is one conversion. Empty fields take their defaults.
type Job struct {
	From    []string // files in the order of their records
	To      string
	Format  string // format of To; empty: the suffix of To decides
	Form    string // form of files without rows, one of the datasets.Form constants; empty: the files have rows
	Answers string // file with the correct answers, if Form needs one
	// Select selects the rows that a benchmark uses; nil: all rows
	Select  *models.Selection
	Force   bool // whether to replace existing files
	Options datasets.Options
}

// Done is the result of a job.
type Done struct {
	*datasets.Conversion
	Format  string
	Lengths string // file with the prompt lengths next to a .npy file; empty: none
}

// Run converts the files. To and the file of lengths appear only when they are complete. Errors that concern a file's
// contents or the reading options are those of package datasets.
func (j Job) Run() (*Done, error) {
	done := &Done{Format: j.Format}
	if done.Format == "" {
		done.Format = datasets.FormatOfName(j.To)
	}
	if done.Format == "" {
		return nil, fmt.Errorf("%w %s", ErrFormat, j.To)
	}
	if done.Format == datasets.FormatNPY {
		done.Lengths = strings.TrimSuffix(j.To, ".npy") + ".lengths.npy"
	}
	if err := j.protect(j.To, done.Lengths); err != nil {
		return nil, err
	}
	if j.Answers != "" && j.Form == "" {
		return nil, ErrAnswers
	}
	rows, err := j.rows()
	defer rows.remove()
	if err == nil && j.Select != nil {
		err = j.choose(rows)
	}
	if err != nil {
		return nil, err
	}
	o := j.Options
	if rows.folder != "" { // the rows are JSON, whatever the format of the files is
		o.Format = ""
	}
	var fault error // error about an input file
	err = atomicfile.Write(j.To, func(w io.Writer) error {
		done.Conversion, fault = datasets.Convert(w, rows.paths, o, done.Format)
		return fault
	})
	if already := (*datasets.Error)(nil); errors.As(fault, &already) || errors.Is(fault, datasets.ErrOption) {
		return nil, fault
	}
	if rows.read != nil {
		done.From, done.Notes = rows.read.From, rows.read.Notes
	}
	if err == nil && done.Lengths != "" {
		err = atomicfile.Write(done.Lengths, done.WriteLengths)
	}
	if err != nil {
		return nil, err
	}
	return done, nil
}

// protect rejects paths where writing would lose data. If a user passes a shell pattern but no output file, the last
// input file would be overwritten.
func (j Job) protect(paths ...string) error {
	for _, path := range paths {
		if path != "" && !j.Force && HasContent(path) {
			return fmt.Errorf("cannot write the data set to %s: %w", path, ErrExists)
		}
	}
	return nil
}

// HasContent reports whether a path names a regular file that is not empty.
func HasContent(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Size() > 0 && info.Mode().IsRegular()
}

// rowFiles are the files with the rows to write.
type rowFiles struct {
	paths  []string
	folder string               // temporary folder that contains the paths; empty: the paths are the user's files
	read   *datasets.Conversion // conversion of the user's files into the paths; nil: there was none
}

// remove removes the temporary folder.
func (r *rowFiles) remove() {
	if r.folder != "" {
		_ = os.RemoveAll(r.folder) // what remains is in the system's temporary folder
	}
}

// rows returns the files with rows. These are the user's files, or one JSON Lines file if there is a form or a
// selection.
func (j Job) rows() (*rowFiles, error) {
	if j.Form == "" && j.Select == nil {
		return &rowFiles{paths: j.From}, nil
	}
	folder, err := os.MkdirTemp("", "mlperf-go-rows-*")
	if err != nil {
		return &rowFiles{}, fmt.Errorf("%w: %w", ErrTemporary, err)
	}
	r := &rowFiles{folder: folder, paths: []string{filepath.Join(folder, filepath.Base(j.From[0]))}}
	f, err := os.Create(r.paths[0])
	if err != nil {
		return r, fmt.Errorf("%w: %w", ErrTemporary, err)
	}
	if j.Form != "" {
		_, err = datasets.Recast(f, j.Form, j.From, j.Answers)
	} else {
		r.read, err = datasets.Convert(f, j.From, j.Options, datasets.FormatJSONL)
	}
	return r, errors.Join(err, f.Close())
}
