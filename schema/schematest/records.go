package schematest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mlperf-go/mlperf-go/schema"
)

// record is a file with the record of a run, and its schema.
type record struct {
	schema string // name of its file
	form   func() (*jsonschema.Schema, error)
}

// records are the files of records by their names.
var records = map[string]record{
	"run.json":         recordOf("run.schema.json", schema.Run),
	"bench.json":       recordOf("bench.schema.json", schema.Bench),
	"calibration.json": recordOf("calibration.schema.json", schema.Calibration),
	"search.json":      recordOf("search.schema.json", schema.Search),
	"tune.json":        recordOf("tune.schema.json", schema.Tune),
}

// probes are the forms of probe.json, the file of a step of a tune, a sweep or an experiment, by their "schema" fields.
var probes = map[string]record{
	"mlperf-go/tune-probe/1":       recordOf("tune.schema.json#/$defs/probe_file", schema.Tune),
	"mlperf-go/sweep-probe/1":      recordOf("sweep.schema.json#/$defs/probe_file", schema.Sweep),
	"mlperf-go/experiment-probe/1": recordOf("experiment.schema.json#/$defs/probe_file", schema.Experiment),
}

// probeName is the name of those files.
const probeName = "probe.json"

// probe returns the schema of the text of a probe.json.
func probe(text []byte) (r record, err error) {
	var file struct{ Schema string }
	if err = json.Unmarshal(text, &file); err != nil {
		return r, err
	}
	r, ok := probes[file.Schema]
	if !ok {
		return r, fmt.Errorf("no probe.json has the schema %q", file.Schema)
	}
	return r, nil
}

func recordOf(name string, text []byte) record {
	return record{name, sync.OnceValues(func() (*jsonschema.Schema, error) { return Compile(name, text) })}
}

// Compile compiles a schema and asserts its formats. The name is that of its file, or of a part of it after a #.
func Compile(name string, text []byte) (*jsonschema.Schema, error) {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	file, _, _ := strings.Cut(name, "#")
	if err := c.AddResource(file, v); err != nil {
		return nil, err
	}
	return c.Compile(name)
}

// Validate validates the text of a run.json.
func Validate(text []byte) error { return records["run.json"].validate(text) }

func (r record) validate(text []byte) error {
	s, err := r.form()
	if err != nil {
		return err
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("no JSON: %w", err)
	}
	return s.Validate(v)
}

// tester is the part of testing.TB that Records needs.
type tester interface {
	Helper()
	Errorf(format string, args ...any)
}

// Records validates every run.json, bench.json, calibration.json, tune.json and probe.json below a folder. The folder
// may be missing.
func Records(t tester, folder string) {
	t.Helper()
	if err := Check(folder, nil); err != nil {
		t.Errorf("%v", err)
	}
}

// Check is Records without a test. It skips a record if except returns true for its text, such as one that a test has
// damaged; except may be nil.
func Check(folder string, except func(text []byte) bool) error {
	var faults error
	err := filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			return nil
		}
		if err != nil {
			return err
		}
		r, ok := records[e.Name()]
		if !ok && e.Name() != probeName || !e.Type().IsRegular() {
			return nil
		}
		text, err := os.ReadFile(path)
		if err == nil && !ok {
			r, err = probe(text)
		}
		if err == nil && (except == nil || !except(text)) {
			err = r.validate(text)
		}
		if err != nil {
			faults = errors.Join(faults, fmt.Errorf("%s does not fit schema/%s: %w", path, r.schema, err))
		}
		return nil
	})
	return errors.Join(err, faults)
}
