package bench

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/record"
)

// Resume returns the record of the run that an earlier command finished in the folder of o. It returns nil for a run
// that is still to be made: the folder is empty, or it holds an interrupted run, which Resume lets o replace. The note
// is one sentence for the user about the earlier run. A run with another profile or model is an error.
func Resume(o *Options) (r *Record, note string, err error) {
	if !Holds(o.Folder) {
		return nil, "", nil
	}
	differences, err := DifferencesTo(o.Folder, o.Profile)
	if err != nil {
		return nil, "", exit.Usage(exit.CodeRunFolder, "Choose another --output", "the run in %s cannot be resumed: %w",
			o.Folder, err)
	}
	if len(differences) > 0 {
		return nil, "", exit.Usage(exit.CodeOutputUsed, "Choose another --output, or give --force instead of --resume",
			"the run in %s has another profile (its values first): %s", o.Folder, strings.Join(differences, "; "))
	}
	if _, err := os.Stat(filepath.Join(o.Folder, RecordName)); errors.Is(err, fs.ErrNotExist) {
		return nil, startOver(o), nil // the run was killed
	}
	r, err = Read(o.Folder)
	if err != nil {
		return nil, "", err
	}
	if o.Model != "" && r.Model != o.Model {
		return nil, "", exit.Usage(exit.CodeOutputUsed, "Choose another --output",
			"the run in %s is of the model %.100q, not %.100q", o.Folder, r.Model, o.Model)
	}
	if r.Verdict == record.Interrupted {
		return nil, startOver(o), nil
	}
	return r, o.Folder + " is finished and kept (--resume)", nil
}

// startOver lets a run replace the files of an interrupted one, and returns the note.
func startOver(o *Options) string {
	o.Force = true
	return "the run in " + o.Folder + " was interrupted and starts over (--resume)"
}
