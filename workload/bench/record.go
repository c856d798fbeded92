package bench

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/internal/plural"
	"github.com/mlperf-go/mlperf-go/internal/statefile"
	"github.com/mlperf-go/mlperf-go/ledger"
	"github.com/mlperf-go/mlperf-go/metrics/hostinfo"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/servers"
	"github.com/mlperf-go/mlperf-go/workload/engine"
	"github.com/mlperf-go/mlperf-go/workload/eventlog"
	"github.com/mlperf-go/mlperf-go/workload/floor"
	"github.com/mlperf-go/mlperf-go/workload/measure"
	"github.com/mlperf-go/mlperf-go/workload/profile"
)

// Schema identifies the format of bench.json (docs/reference/bench.md).
const Schema = "mlperf-go/bench/1"

// Record is bench.json.
type Record struct {
	Schema    string         `json:"schema"`
	Rehearsal string         `json:"rehearsal,omitempty"` // why it is one
	Tool      record.Tool    `json:"tool"`
	Host      hostinfo.Facts `json:"host"`
	Command   []string       `json:"command"`
	ID        string         `json:"id"`
	Profile   string         `json:"profile"` // its name
	UseCase   string         `json:"use_case,omitempty"`
	Stack     string         `json:"stack,omitempty"` // name of the servers' deployment, if the environment has it
	// Experiment is the id of the experiment that the run belongs to, if the environment has it.
	Experiment string                `json:"experiment,omitempty"`
	Seed       uint64                `json:"seed"`
	Model      string                `json:"model"` // that requests name
	Backend    string                `json:"backend"`
	API        string                `json:"api"`
	Started    time.Time             `json:"started"`
	Verdict    record.Verdict        `json:"verdict"`
	Reasons    []record.Cause        `json:"reasons"`
	Notes      []string              `json:"notes,omitempty"`
	Stages     []Stage               `json:"stages"`
	Measured   *measure.Measured     `json:"figures"`
	Client     Client                `json:"client"`
	Endpoints  []Endpoint            `json:"endpoints"`
	Source     *profile.Source       `json:"source,omitempty"` // the profile's, if it is another tool's
	DataFiles  []DataFile            `json:"data_files,omitempty"`
	Spread     *Spread               `json:"spread,omitempty"`  // of a run that several processes made
	Servers    *servers.Facts        `json:"servers,omitempty"` // that were started for the run
	Metrics    *record.ServerMetrics `json:"server_metrics,omitempty"`
	// Calibration has the client's own limits, if it was calibrated.
	Calibration *floor.Use `json:"calibration,omitempty"`
	Price       *Price     `json:"price,omitempty"` // of tokens, if the price of the servers is known
}

// Stage is a stage as planned and as it took place.
type Stage struct {
	engine.Span
	Name        string          `json:"name,omitempty"`
	Arrival     profile.Arrival `json:"arrival"`
	Rate        float64         `json:"asked_rate_per_s,omitempty"`
	Concurrency int             `json:"concurrency,omitempty"`
	Warmup      bool            `json:"warmup,omitempty"`
	Probe       bool            `json:"probe,omitempty"` // it looked for the limits of a sweep; Warmup is set too
}

// Endpoint is one server.
type Endpoint struct {
	URL         string `json:"url"`
	Server      string `json:"server,omitempty"`
	Version     string `json:"version,omitempty"`
	Connections int64  `json:"connections"`
	// PrefixCache is what happened to the server's prefix cache before the first request; empty: it was not asked.
	PrefixCache record.PrefixCache `json:"prefix_cache,omitempty"`
}

// Client records what the client itself used, and how late it was.
type Client struct {
	ScheduleDelayUS ledger.LagUS         `json:"schedule_delay_us"` // due to sent, limits on requests in flight included
	ClientDelayUS   ledger.LagUS         `json:"client_delay_us"`   // ready to be sent to sent: this program's own
	ReportLagUS     ledger.LagUS         `json:"report_lag_us"`     // last token readable to completion
	CPUS            float64              `json:"cpu_s"`
	CPUUSPerRequest float64              `json:"cpu_us_per_request"`
	RSSMaxBytes     int64                `json:"rss_max_bytes"`
	ThreadsMax      int                  `json:"threads_max"`
	GCPauseMaxS     float64              `json:"gc_pause_max_s"`
	ClockDriftUS    float64              `json:"clock_drift_us"`
	Loops           []backends.LoopStats `json:"loops"`
	Exhausted       backends.Exhausted   `json:"exhausted,omitzero"`
}

// Read returns the record of a run's folder. If the program was killed before it wrote one, the record is computed
// from the event log, and its verdict is INTERRUPTED. The error of a record of another version is a
// statefile.OtherVersion, whose value has figures, if necessary those of the event log.
func Read(folder string) (*Record, error) {
	text, err := os.ReadFile(filepath.Join(folder, RecordName))
	if errors.Is(err, fs.ErrNotExist) && Holds(folder) {
		return recovered(folder)
	}
	if err != nil {
		return nil, exit.Usage(exit.CodeRunFolder, "Give the folder of a run of `mlperf-go bench run`",
			"no workload's run in %s: %w", folder, err)
	}
	r := &Record{}
	err = statefile.Decode(text, r, func() string { return r.Schema }, Schema)
	if err == nil && r.Measured == nil {
		err = errors.New("it has no figures")
	}
	var other *statefile.OtherVersion
	if errors.As(err, &other) && r.Measured == nil {
		again, failed := recovered(folder)
		if failed != nil {
			return nil, failed
		}
		r.Measured = again.Measured
	}
	if err != nil {
		return nil, exit.Usage(exit.CodeRunFolder, "Give the folder of a run of this version",
			"%s cannot be used as the record of a workload's run: %w", filepath.Join(folder, RecordName), err)
	}
	return r, nil
}

// recovered returns the record of a run that was killed, or is still running.
func recovered(folder string) (*Record, error) {
	p, err := profile.Read(filepath.Join(folder, ProfileName))
	if err != nil {
		return nil, exit.Usage(exit.CodeRunFolder, "", "the profile of the run: %w", err)
	}
	m, err := measure.Log(filepath.Join(folder, eventlog.FileName), measure.Options{Load: &p.Load, Classes: p.API.Classes,
		Limits: measure.ProfileLimits(&p.SLO)})
	if err != nil {
		return nil, exit.Usage(exit.CodeRunFolder, "", "the event log of the run: %w", err)
	}
	r := &Record{Schema: Schema, Rehearsal: m.Header.Rehearsal, Tool: record.ThisTool(), ID: m.Header.ID,
		Profile: p.Name, UseCase: p.UseCase, Seed: p.Seed, Model: m.Header.Model, Backend: m.Header.Backend, API: p.API.Kind,
		Started: time.Unix(0, m.Header.StartNS).UTC(), Measured: m, Verdict: record.Interrupted, Source: p.Source}
	for i := range p.Load.Stages {
		s := &p.Load.Stages[i]
		r.Stages = append(r.Stages, Stage{Span: engine.Span{Stage: i}, Name: s.Name, Arrival: s.Arrival, Rate: s.Rate,
			Concurrency: s.Concurrency, Warmup: s.Warmup})
	}
	why := "the event log has no end: the program was killed, or is still running"
	if m.End != nil {
		why = "the run has no record: " + m.End.Cause
	}
	r.Reasons = []record.Cause{{Code: record.CodeInterrupted, Text: fmt.Sprintf("%s; %d requests were recorded", why,
		total(m).Total)}}
	return r, nil
}

// Holds reports whether a folder contains the run of a workload, complete or not.
func Holds(folder string) bool {
	for _, name := range []string{RecordName, eventlog.FileName} {
		if _, err := os.Stat(filepath.Join(folder, name)); err == nil {
			return true
		}
	}
	return false
}

// ExitCode returns the exit code for the verdict of the run.
func (r *Record) ExitCode() int {
	if r.Verdict == record.Valid {
		return exit.StatusValid
	}
	return exit.StatusInvalid
}

// Headline returns the result in one line.
func (r *Record) Headline() string {
	t := &r.Measured.Total
	return plural.Figure(t.Throughput.Requests) + " requests/s, " + plural.Figure(t.Throughput.OutputTokens) +
		" output tokens/s"
}

func nameOf(s *Stage) string {
	if s.Name != "" {
		return fmt.Sprintf("%d (%s)", s.Span.Stage, s.Name)
	}
	return fmt.Sprint(s.Span.Stage)
}

// ReadSeries reads the requests of a run's folder.
func ReadSeries(folder string) (*measure.Series, error) {
	p, err := profile.Read(filepath.Join(folder, ProfileName))
	if err != nil {
		return nil, exit.Usage(exit.CodeRunFolder, "", "the profile of the run: %w", err)
	}
	return measure.ReadSeries(filepath.Join(folder, eventlog.FileName), measure.Options{Load: &p.Load})
}

// Remeasure computes the figures of a run again, by other definitions or with other limits.
func Remeasure(folder string, r *Record, definition string, limits []measure.Limit) (*measure.Measured, error) {
	p, err := profile.Read(filepath.Join(folder, ProfileName))
	if err != nil {
		return nil, exit.Usage(exit.CodeRunFolder, "", "the profile of the run: %w", err)
	}
	return measure.Log(filepath.Join(folder, eventlog.FileName), measure.Options{Definition: definition, Load: &p.Load,
		Classes: p.API.Classes, Limits: append(measure.ProfileLimits(&p.SLO), limits...)})
}
