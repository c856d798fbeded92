package report

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/internal/foreign"
	"github.com/mlperf-go/mlperf-go/internal/statefile"
	"github.com/mlperf-go/mlperf-go/ledger"
	"github.com/mlperf-go/mlperf-go/metrics/series"
	"github.com/mlperf-go/mlperf-go/run/record"
)

// Run is what a run's folder contains.
type Run struct {
	Name     string // the folder that was named
	Record   *record.Record
	Requests *ledger.Test            // nil: no request log
	Cut      bool                    // Requests are only those before a damage of the log
	Metrics  *series.Set             // nil: none were recorded
	Failures []*Failure              // by cause, the most frequent first
	Config   string                  // config.yaml
	Notes    []string                // what could not be read
	Workload *Workload               // nil: a run of LoadGen
	Crashed  *record.Crashed         // of a folder without a record; Record is then made of its other files
	Other    *statefile.OtherVersion // of a record of another version, which is shown as far as it is understood
}

// Failure is a cause of failed and repeated requests.
type Failure struct {
	Reason   ledger.Reason
	Count    int
	Retried  int     // of them, attempts that were repeated
	FirstS   float64 // seconds since the start of the run
	LastS    float64
	Endpoint string    // of the example
	Detail   string    // of the example
	Body     string    // of the example: the beginning of what the server sent
	TimesS   []float64 // of at most maxFailureTimes of them

	endpoints map[string]int // failures of each, of at most maxFailedEndpoints
}

// ByEndpoint returns the number of failures of each endpoint, the most first.
func (f *Failure) ByEndpoint() []row {
	names := slices.SortedFunc(maps.Keys(f.endpoints), func(a, b string) int {
		return cmp.Or(f.endpoints[b]-f.endpoints[a], strings.Compare(a, b))
	})
	var list []row
	for _, name := range names {
		list = append(list, row{name, strconv.Itoa(f.endpoints[name])})
	}
	return list
}

// Limits on what is read, because a folder may come from another machine.
const (
	maxConfig       = 1 << 20 // bytes
	maxFailureLine  = 64 << 10
	maxExample      = 300 // bytes of each text of an example; the file has the whole text
	maxFailures     = 1_000_000
	maxFailureTimes = 100_000
	maxReasons      = 200

	maxFailedEndpoints = 100 // endpoints whose failures are counted, for each reason
)

// Read reads a run's folder, also that of another version or of a run that was killed. Only a folder that is not a
// run's, or whose record is damaged, is an error.
func Read(folder string) (*Run, error) {
	rec, err := record.Read(folder)
	var other *statefile.OtherVersion
	if errors.As(err, &other) {
		rec, _ = other.Value.(*record.Record)
	}
	if rec == nil {
		if c := record.ReadCrashed(folder); c != nil {
			return readCrashed(folder, c), nil
		}
		return nil, err
	}
	r := &Run{Name: folder, Record: rec, Other: other}
	r.note("request log", func() error { return r.readRequests(folder) })
	if rec.Metrics != nil {
		r.AddMetrics(folder)
	}
	r.AddFailures(folder)
	r.addConfig(folder)
	return r, nil
}

func (r *Run) addConfig(folder string) {
	r.note("configuration", func() error {
		text, err := atomicfile.ReadBelow(folder, record.ConfigName, maxConfig)
		r.Config = string(text)
		return err
	})
}

// readRequests reads the request log. Of a damaged log it keeps the requests before the damage.
func (r *Run) readRequests(folder string) error {
	t, err := ledger.ReadRequests(filepath.Join(folder, record.RequestsName))
	if t == nil || len(t.Entries) == 0 {
		return err
	}
	r.Requests, r.Cut = t, err != nil
	if r.Cut {
		r.Notes = append(r.Notes, fmt.Sprintf("the request log is cut after %d requests, and the charts show only these: %v",
			len(t.Entries), err))
	}
	return nil
}

// AddMetrics reads the servers' metrics of a run's folder.
func (r *Run) AddMetrics(folder string) {
	r.note("servers' metrics", func() (err error) {
		r.Metrics, err = series.Read(filepath.Join(folder, filepath.FromSlash(record.MetricsName)), series.IsSignal)
		return err
	})
}

// note reads one part, or records why it cannot be shown.
func (r *Run) note(part string, read func() error) {
	err := read()
	switch {
	case err == nil:
	case errors.Is(err, fs.ErrNotExist):
		r.Notes = append(r.Notes, "the folder has no "+part)
	default:
		r.Notes = append(r.Notes, fmt.Sprintf("the %s cannot be shown: %v", part, err))
	}
}

// AddFailures reads the failures of the run's folder, if there are any.
func (r *Run) AddFailures(folder string) {
	if s := &r.Record.Samples; s.Failed+s.Retried > 0 {
		r.note("failures", func() error { return r.readFailures(folder) })
	}
}

// failureLine is a line of failures.jsonl.
type failureLine struct {
	Endpoint string        `json:"endpoint"`
	AtS      float64       `json:"at_s"`
	Reason   ledger.Reason `json:"reason"`
	Retried  bool          `json:"retried"`
	Detail   string        `json:"detail"`
	Body     string        `json:"body"`
}

// readFailures reads the list of failures, also an unfinished list of a killed run.
func (r *Run) readFailures(folder string) error {
	name := record.FailuresName
	if left := atomicfile.Left(filepath.Join(folder, name)); left != "" {
		name = filepath.Base(left)
	}
	f, err := atomicfile.OpenBelow(folder, name)
	if err != nil {
		return err
	}
	defer f.Close()
	causes := map[ledger.Reason]*Failure{}
	in := bufio.NewScanner(f)
	in.Buffer(nil, maxFailureLine)
	n, end := 0, error(nil)
	for ; in.Scan() && n < maxFailures; n++ {
		var line failureLine
		if err := json.Unmarshal(in.Bytes(), &line); err != nil {
			end = fmt.Errorf("line %d is not a JSON object: %w", n+1, err)
			break
		}
		if causes[line.Reason] == nil {
			if len(causes) == maxReasons {
				continue
			}
			causes[line.Reason] = &Failure{Reason: line.Reason, FirstS: line.AtS, Endpoint: line.Endpoint,
				Detail: foreign.Lines(line.Detail, maxExample), Body: foreign.Lines(line.Body, maxExample)}
		}
		causes[line.Reason].add(&line)
	}
	r.Failures = slices.SortedFunc(maps.Values(causes), func(a, b *Failure) int {
		if a.Count != b.Count {
			return b.Count - a.Count
		}
		return strings.Compare(string(a.Reason), string(b.Reason))
	})
	return errors.Join(end, in.Err())
}

func (f *Failure) add(line *failureLine) {
	f.Count++
	if line.Retried {
		f.Retried++
	}
	f.LastS = line.AtS
	if f.endpoints == nil {
		f.endpoints = map[string]int{}
	}
	if _, known := f.endpoints[line.Endpoint]; known || len(f.endpoints) < maxFailedEndpoints {
		f.endpoints[line.Endpoint]++
	}
	if len(f.TimesS) < maxFailureTimes {
		f.TimesS = append(f.TimesS, line.AtS)
	}
}
