package compliance

import (
	"fmt"
	"strings"

	"github.com/mlperf-go/mlperf-go/internal/foreign"
	"github.com/mlperf-go/mlperf-go/internal/mllog"
	"github.com/mlperf-go/mlperf-go/internal/plural"
	"github.com/mlperf-go/mlperf-go/models"
)

// generalCheck selects variants of the checks that all tests share.
type generalCheck int

const (
	// errors that LoadGen logged are fatal, since the submission checker reads this log
	strictErrors   generalCheck = 1 << iota
	detailOptional              // submissions do not contain this test's detail log
)

// detail contains the values of a detail log that the verification needs.
type detail struct {
	path   string
	first  map[string]string // first value of each kept key
	errors int
	error  string // text of the first error
	marked bool   // whether LoadGen applied an audit configuration
	log    mllog.Detail
}

// kept lists the prefixes of the keys that detail keeps.
var kept = []string{"requested_", "effective_", "result_", "early_stopping"}

// Limits on the data that detail keeps of a hostile log.
const (
	maxKept  = 1000
	maxValue = 4 << 10
)

// readDetail reads a detail log, or returns it if it was read before.
func (a *audit) readDetail(path string) (*detail, error) {
	if d := a.facts[path]; d != nil {
		return d, nil
	}
	d := &detail{path: path, first: map[string]string{}}
	log, err := mllog.ReadDetailFile(path, func(e *mllog.Entry) error {
		d.take(e)
		return nil
	})
	if err != nil {
		return nil, err
	}
	d.log = log
	a.facts[path] = d
	return d, nil
}

func (d *detail) take(e *mllog.Entry) {
	if e.IsError {
		if d.errors++; d.errors == 1 {
			d.error = foreign.Line(e.Value.Text(), maxValue)
		}
	}
	if len(e.Value) > maxValue {
		return
	}
	if e.IsWarning && strings.HasPrefix(e.Value.Text(), mllog.AuditTaken) {
		d.marked = true
	}
	if _, seen := d.first[e.Key]; seen || len(d.first) >= maxKept {
		return
	}
	for _, p := range kept {
		if strings.HasPrefix(e.Key, p) {
			d.first[e.Key] = e.Value.Text()
			return
		}
	}
}

// general checks that the detail log belongs to this audit and this scenario. Every audit needs this check.
func (a *audit) general(how generalCheck) {
	if a.out.Rehearsal {
		a.out.add(Warning, "rehearsal", "", "the audit was scaled to %s, fewer than %s asks for: its verdict "+
			"does not count", plural.Count(a.asked.Records, "query", "queries"), a.out.Test)
	}
	path := a.log(mllog.DetailName)
	d, err := a.readDetail(path)
	switch {
	case err != nil && unreadable(err):
		a.out.add(severity(how&detailOptional == 0), "detail_missing", path,
			"without the detail log nothing shows that the audit's settings were in force: %v", err)
		return
	case err != nil:
		a.out.add(Fatal, "detail_broken", path, "%v", err)
		return
	}
	a.checkWhole(d)
	if !d.marked {
		a.out.add(Fatal, "audit_config_unused", path,
			"LoadGen did not log that it applied an audit.config: pass the audit's file with --audit-config")
	}
	if d.errors > 0 {
		a.out.add(severity(how&strictErrors != 0), "loadgen_errors", path, "LoadGen logged %s, the first: %.200s",
			plural.Count(d.errors, "error", "errors"), d.error)
	}
	a.expect(d, "effective_test_mode", "PerformanceOnly", "test_mode")
	if a.Scenario != "" {
		a.expect(d, "effective_scenario", string(a.loadGenScenario()), "scenario_differs")
	}
	a.checkSettings(d)
}

func severity(fatal bool) Severity {
	if fatal {
		return Fatal
	}
	return Warning
}

func (a *audit) checkWhole(d *detail) {
	switch {
	case d.log.Lines == 0:
		a.out.add(Fatal, "detail_broken", d.path, "the file has no entry of LoadGen")
	case d.log.Truncated:
		a.out.add(Fatal, "detail_broken", d.path, "the last line is incomplete: the run was cut off")
	case d.log.Broken > 0:
		a.out.add(Fatal, "detail_broken", d.path, "%s cannot be read, the first is line %d",
			plural.Count(d.log.Broken, "line", "lines"),
			d.log.FirstBroken)
	}
}

// loadGenScenario returns LoadGen's name of the scenario.
func (a *audit) loadGenScenario() models.Scenario {
	if a.Scenario == models.Interactive {
		return models.Server
	}
	return a.Scenario
}

func (a *audit) expect(d *detail, key, want, code string) {
	if got, ok := d.first[key]; ok && got != want {
		a.out.add(Fatal, code, d.path, "%s is %.100s, but the audit needs %s", key, got, want)
	}
}

// loggedAs maps the keys of settings to their keys in the detail log, if these differ. LoadGen logs requested settings
// after it has read audit.config; effective settings may be adapted to the scenario.
var loggedAs = map[string]string{"min_duration": "requested_min_duration_ms", "mode": ""}

func (a *audit) checkSettings(d *detail) {
	if a.asked == nil {
		return
	}
	for _, s := range a.asked.Settings {
		key, renamed := loggedAs[s.Key]
		if !renamed {
			key = "requested_" + s.Key
		}
		got, ok := d.first[key]
		if !ok || got == s.Value || got == map[string]string{"1": "true", "0": "false"}[s.Value] {
			continue
		}
		a.out.add(Fatal, "setting_"+s.Key, d.path, "%s is %.100s, but the audit requires %s", key, got, s.Value)
	}
}

// maxSeen is the maximum number of samples that are distinguished.
const maxSeen = 1 << 21

// samples counts the records of an accuracy log and their different samples.
type samples struct {
	records   int
	sequences map[int64]struct{}
	distinct  map[int64]struct{}
}

func newSamples() *samples {
	return &samples{sequences: map[int64]struct{}{}, distinct: map[int64]struct{}{}}
}

func (s *samples) take(a *audit, path string, seq, sample int64) {
	s.records++
	if seq < 0 || sample < 0 {
		a.out.add(Fatal, "record_broken", path, "record %d has no seq_id or no qsl_idx", s.records)
		return
	}
	if _, twice := s.sequences[seq]; twice {
		a.out.add(Fatal, "sequence_repeated", path, "record %d has the seq_id %d of an earlier one; LoadGen uses each once",
			s.records, seq)
	}
	if len(s.sequences) < maxSeen {
		s.sequences[seq] = struct{}{}
	}
	if len(s.distinct) < maxSeen {
		s.distinct[sample] = struct{}{}
	}
	if n := a.sampleCount(); n > 0 && sample >= int64(n) {
		a.out.add(Fatal, "sample_unknown", path, "record %d belongs to sample %d, but the data set has %d", s.records,
			sample, n)
	}
}

// sampleCount returns the number of rows of the audit's data set; 0: unknown.
func (a *audit) sampleCount() int {
	switch {
	case a.asked != nil && a.asked.Samples > 0:
		return a.asked.Samples
	case a.Row == nil:
		return 0
	}
	for _, s := range a.Row.Scenarios {
		if s.Scenario == a.Scenario && s.Samples > 0 {
			return s.Samples
		}
	}
	return a.Row.DatasetSamples
}

// check adds a finding if the number of records is wrong.
func (s *samples) check(a *audit, path string) {
	a.out.Figures["records"], a.out.Figures["distinct_samples"] = s.records, len(s.distinct)
	want := 0
	if a.asked != nil {
		want = a.asked.Records
	}
	switch {
	case s.records == 0:
		a.out.add(Fatal, "no_records", path, "the accuracy log has no record, so nothing was verified%s", wanted(want))
	case s.records < want:
		a.out.add(Fatal, "few_records", path, "the accuracy log has %s%s", plural.Count(s.records, "record", "records"),
			wanted(want))
	}
	switch {
	case a.asked != nil && a.asked.Distinct && len(s.distinct) < min(s.records, maxSeen):
		a.out.add(Fatal, "samples_repeated", path, "%d records belong to %d samples; the audit requires each sample once",
			s.records, len(s.distinct))
	case a.out.Test != Test04 && s.records > 1 && len(s.distinct) == 1:
		a.out.add(Fatal, "samples_repeated", path, "all %d records belong to one sample", s.records)
	}
}

func wanted(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("; the audit requires %d", n)
}
