package mlflow

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/internal/plural"
	"github.com/mlperf-go/mlperf-go/internal/results"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/submission/campaign"
	"github.com/mlperf-go/mlperf-go/submission/layout"
	"github.com/mlperf-go/mlperf-go/workload/bench"
)

// Bounds of a run's files that are read whole.
const (
	maxRecord = 64 << 20 // bytes
	maxConfig = 4 << 20
	maxDepth  = 12 // of the values of a record
)

// Run is what MLflow is to know of a run.
type Run struct {
	Name       string
	Start, End time.Time
	Digest     string // SHA-256 of the record
	Tags       map[string]string
	Params     map[string]string
	Metrics    map[string]float64
	Folder     string // folder of the files to send
	Flat       bool   // whether files in its subfolders are left out
	NoFiles    bool   // whether no file is sent
	Children   []*Run
}

// Read reads the folder of a test, of a workload or of a campaign.
func Read(folder string) (*Run, error) {
	folder = filepath.Clean(folder)
	if _, err := os.Lstat(filepath.Join(folder, layout.StateName)); err == nil {
		return readCampaign(folder)
	}
	if bench.Holds(folder) {
		return readWorkload(folder)
	}
	if kind := results.Holds(folder, "run"); kind != "" {
		return nil, fmt.Errorf("%s is the folder of %s: MLflow accepts the folders of runs, workloads and campaigns",
			folder, plural.Article(kind))
	}
	return readTest(folder, filepath.Base(folder))
}

// sections are the parts of a record whose numbers become metrics.
var (
	testSections = []string{"throughput", "latency_s", "samples", "tokens", "answers", "tails", "server_metrics",
		"accuracy"}
	workloadSections = []string{"figures"}
)

// readTest reads the folder of a LoadGen test.
func readTest(folder, title string) (*Run, error) {
	text, err := atomicfile.ReadBelow(folder, record.FileName, maxRecord)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s has no %s: give the folder of a finished run", folder, record.FileName)
	} else if err != nil {
		return nil, err
	}
	rec, err := record.Read(folder)
	if err != nil {
		return nil, err
	}
	r, err := newRun(folder, title, text, testSections)
	if err != nil {
		return nil, err
	}
	r.Start, r.End = rec.Started, rec.Started.Add(time.Duration(rec.DurationS*float64(time.Second)))
	r.verdict(rec.Verdict, rec.Reasons)
	r.Tags["rehearsal"] = strconv.FormatBool(rec.Rehearsal)
	r.Metrics["duration_s"] = rec.DurationS
	for key, value := range rec.LoadGen.Result {
		if n, ok := number(value); ok && strings.HasPrefix(key, "result_") {
			r.Metrics["loadgen/"+strings.TrimPrefix(key, "result_")] = n
		}
	}
	if rec.LoadGen.Valid != nil {
		r.Metrics["loadgen/valid"], _ = number(*rec.LoadGen.Valid)
	}
	if err := r.settings(record.ConfigName); err != nil {
		return nil, err
	}
	return r, nil
}

// readWorkload reads the folder of `bench run`.
func readWorkload(folder string) (*Run, error) {
	text, err := atomicfile.ReadBelow(folder, bench.RecordName, maxRecord)
	if err != nil {
		return nil, err
	}
	rec, err := bench.Read(folder)
	if err != nil {
		return nil, err
	}
	r, err := newRun(folder, filepath.Base(folder), text, workloadSections)
	if err != nil {
		return nil, err
	}
	r.Start, r.End = rec.Started, rec.Started
	if rec.Measured != nil {
		r.End = rec.Started.Add(time.Duration(rec.Measured.Total.DurationS * float64(time.Second)))
	}
	r.verdict(rec.Verdict, rec.Reasons)
	r.Tags["rehearsal"] = strconv.FormatBool(rec.Rehearsal != "")
	for key, value := range map[string]string{"profile": rec.Profile, "use_case": rec.UseCase, "model": rec.Model,
		"backend": rec.Backend, "api": rec.API, "seed": strconv.FormatUint(rec.Seed, 10)} {
		r.Params[key] = value
	}
	return r, nil
}

// readCampaign reads the folder of a campaign. Its tests are separate runs, and its parameters contain the states of
// its steps.
func readCampaign(folder string) (*Run, error) {
	text, err := atomicfile.ReadBelow(folder, layout.StateName, maxRecord)
	if err != nil {
		return nil, err
	}
	state, outcomes, err := campaign.Inspect(folder)
	if err != nil {
		return nil, err
	}
	r, err := newRun(folder, filepath.Base(folder), text, nil)
	if err != nil {
		return nil, err
	}
	r.Flat, r.Start, r.End = true, state.Updated, state.Updated
	for key, value := range map[string]string{"model": state.Model, "system": state.System, "round": state.Round,
		"division": state.Division, "system_type": state.SystemType, "submitter": state.Submitter} {
		r.Params[key] = value
	}
	done := 0
	for _, o := range outcomes {
		r.Params["step/"+o.Step.ID()] = string(o.Entry.Status)
		if o.Entry.Status == campaign.Done {
			done++
		}
		if !o.Entry.Started.IsZero() && o.Entry.Started.Before(r.Start) {
			r.Start = o.Entry.Started
		}
		if o.Record == nil {
			continue
		}
		child, err := readTest(o.Folder, o.Step.ID())
		if err != nil {
			return nil, err
		}
		r.Children = append(r.Children, child)
	}
	r.Metrics["steps_done"], r.Metrics["steps"] = float64(done), float64(len(outcomes))
	return r, nil
}

// newRun returns a run with the numbers of the sections of its record.
func newRun(folder, title string, text []byte, sections []string) (*Run, error) {
	sum := sha256.Sum256(text)
	r := &Run{Name: title, Folder: folder, Digest: hex.EncodeToString(sum[:]), Params: map[string]string{},
		Metrics: map[string]float64{}, Tags: map[string]string{
			"mlflow.source.name": "mlperf-go", "mlflow.source.type": "LOCAL", "mlflow.runName": title}}
	var rec map[string]any
	if err := json.Unmarshal(text, &rec); err != nil {
		return nil, fmt.Errorf("the record of %s is not valid JSON: %w", folder, err)
	}
	for _, name := range sections {
		r.flatten(name, rec[name], maxDepth)
	}
	return r, nil
}

// flatten adds the numbers of a part of a record: latency_s/ttft/p99.
func (r *Run) flatten(key string, value any, depth int) {
	if depth == 0 {
		return
	}
	switch v := value.(type) {
	case map[string]any:
		for name, below := range v {
			r.flatten(key+"/"+name, below, depth-1)
		}
	case []any:
		for i, below := range v {
			r.flatten(key+"/"+element(below, i), below, depth-1)
		}
	default:
		if n, ok := number(v); ok {
			r.Metrics[key] = n
		}
	}
}

// element names an element of a list by its own name, or else by its number.
func element(value any, i int) string {
	if m, ok := value.(map[string]any); ok {
		for _, key := range []string{"name", "what"} {
			if text, ok := m[key].(string); ok && text != "" {
				return strings.ReplaceAll(text, "/", "_")
			}
		}
	}
	return strconv.Itoa(i)
}

// number returns a number, or a truth value as 0 or 1.
func number(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case bool:
		if v {
			return 1, true
		}
		return 0, true
	}
	return 0, false
}

func (r *Run) verdict(v record.Verdict, reasons []record.Cause) {
	r.Tags["verdict"] = string(v)
	r.Metrics["valid"], _ = number(v == record.Valid)
	var codes []string
	for _, cause := range reasons {
		codes = append(codes, string(cause.Code))
	}
	if len(codes) > 0 {
		r.Tags["reasons"] = strings.Join(codes, " ")
	}
}

// settings converts the effective settings to parameters. The file contains no secrets.
func (r *Run) settings(file string) error {
	text, err := atomicfile.ReadBelow(r.Folder, file, maxConfig)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	var set map[string]any
	if err := yaml.Unmarshal(text, &set); err != nil {
		return fmt.Errorf("%s: %w", filepath.Join(r.Folder, file), err)
	}
	for key, value := range set {
		switch v := value.(type) {
		case nil:
		case string, bool, int, int64, uint64, float64, time.Time:
			r.Params[key] = fmt.Sprint(v)
		default:
			text, err := json.Marshal(v)
			if err != nil { // a map with keys that are not text
				text = fmt.Append(nil, v)
			}
			r.Params[key] = string(text)
		}
	}
	return nil
}

// Adjust adds tags to a run and to those below it, and drops the files if they are not wanted.
func (r *Run) Adjust(tags map[string]string, files bool) {
	maps.Copy(r.Tags, tags)
	r.NoFiles = !files
	for _, child := range r.Children {
		child.Adjust(tags, files)
	}
}
