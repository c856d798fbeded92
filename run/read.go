package run

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
)

// maxRecord bounds a run.json: every list in it is as long as the settings, the endpoints or the files of a run.
const maxRecord = 64 << 20

// ReadRecord reads a folder's run.json.
func ReadRecord(folder string) (*Record, error) {
	f, err := atomicfile.OpenBelow(folder, RecordName)
	if err != nil {
		return nil, fmt.Errorf("the record of %s can not be read: %w", folder, err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxRecord))
	if err != nil {
		return nil, fmt.Errorf("the record of %s can not be read: %w", folder, err)
	}
	r := &Record{}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("the record of %s is no JSON: %w", folder, err)
	}
	if r.Schema != Schema {
		return nil, fmt.Errorf("the record of %s has the schema %q, and %q is known", folder, r.Schema, Schema)
	}
	return r, nil
}
