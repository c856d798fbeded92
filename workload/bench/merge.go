package bench

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/metrics/series"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/workload/eventlog"
	"github.com/mlperf-go/mlperf-go/workload/measure"
	"github.com/mlperf-go/mlperf-go/workload/profile"
	"github.com/mlperf-go/mlperf-go/workload/shard"
)

// Shard is the run of one part of a workload.
type Shard struct {
	Folder string
	Offset shard.Offset // of its clock
}

// Spread is how a run was divided, in its record.
type Spread struct {
	Shards []shard.Offset `json:"shards"` // the clocks, by index
	// BoundNS is how far apart two shards may have started, by the bounds of their clocks.
	BoundNS int64 `json:"start_bound_ns"`
}

// Merge merges the runs of all parts into one run, in a new folder. Its figures come from the events of all shards,
// so they equal those of one process that sent the same requests. The run is VALID only if every shard is.
func Merge(shards []Shard, output string, limits []measure.Limit) (*Record, error) {
	if err := Check(output, false); err != nil {
		return nil, err
	}
	records, logs, err := readShards(shards)
	if err != nil {
		return nil, err
	}
	first := shards[0].Folder
	p, err := profile.Read(filepath.Join(first, ProfileName))
	if err != nil {
		return nil, exit.Usage(exit.CodeRunFolder, "", "the profile of shard 0: %w", err)
	}
	if err := os.MkdirAll(output, 0o700); err != nil {
		return nil, err
	}
	if _, err := atomicfile.Private.Copy(filepath.Join(first, ProfileName), filepath.Join(output,
		ProfileName)); err != nil {
		return nil, err
	}
	log := filepath.Join(output, eventlog.FileName)
	scan := measure.NewScan(&p.Load)
	if _, err := shard.Merge(logs, log, scan.Add); err != nil {
		return nil, exit.Usage(exit.CodeRunFolder, "", "merging the event logs: %w", err)
	}
	m, err := measure.Log(log, measure.Options{Load: &p.Load, Scan: scan, Classes: p.API.Classes,
		Limits: append(measure.ProfileLimits(&p.SLO), limits...)})
	if err != nil {
		return nil, err
	}
	r := merged(records, shards)
	r.Measured = m
	if r.Price != nil {
		r.Price = NewPrice(r.Price.PerHour, &m.Total.Throughput)
	}
	r.Client.ScheduleDelayUS = lagOf(m.Total.Latency["schedule_delay"])
	r.Client.ClientDelayUS = lagOf(m.Total.Latency["client_delay"])
	if n := total(m).Total; n > 0 {
		r.Client.CPUUSPerRequest = r.Client.CPUS * 1e6 / float64(n)
	}
	if err := r.addFiles(shards, output); err != nil {
		return nil, err
	}
	r.judgeShards(p, records, append(measure.ProfileLimits(&p.SLO), limits...))
	return r, atomicfile.WriteJSON(filepath.Join(output, RecordName), r)
}

// addFiles copies what the shards recorded beside their requests: their environments, and the servers' metrics, which
// the first shard has.
func (r *Record) addFiles(shards []Shard, output string) error {
	notes, err := mergeEnvironments(shards, output)
	r.Notes = append(r.Notes, notes...)
	if r.Metrics == nil || err != nil {
		return err
	}
	r.Metrics.Yield(r.Measured.Total.Tokens.Output)
	ahead := time.Duration(shards[0].Offset.AheadNS)
	err = series.Copy(atomicfile.Private, filepath.Join(shards[0].Folder, record.MetricsName),
		filepath.Join(output, record.MetricsName), -ahead)
	if err != nil {
		r.Notes = append(r.Notes, "the servers' metrics of shard 0 cannot be copied: "+err.Error())
	}
	return nil
}

func readShards(shards []Shard) (records []*Record, logs []shard.Log, err error) {
	if len(shards) == 0 {
		return nil, nil, exit.Usage(exit.CodeRunFolder, "Name the folders of the shards", "there is no shard to merge")
	}
	for i, s := range shards {
		r, err := Read(s.Folder)
		if err != nil {
			return nil, nil, fmt.Errorf("shard %d: %w", i, err)
		}
		if i > 0 && (r.Profile != records[0].Profile || r.Seed != records[0].Seed) {
			return nil, nil, exit.Usage(exit.CodeRunFolder, "Merge the shards of one run",
				"shard %d ran the profile %q with the "+
					"seed %d, and shard 0 %q with %d", i, r.Profile, r.Seed, records[0].Profile, records[0].Seed)
		}
		records = append(records, r)
		logs = append(logs, shard.Log{Path: filepath.Join(s.Folder, eventlog.FileName), Offset: s.Offset})
	}
	return records, logs, nil
}

// merged sums the records of all shards, except their figures.
func merged(records []*Record, shards []Shard) *Record {
	r := *records[0]
	r.Notes, r.Reasons, r.Stages, r.Spread = nil, nil, nil, &Spread{}
	r.Client = Client{}
	for i, s := range records {
		r.Spread.Shards = append(r.Spread.Shards, shards[i].Offset)
		r.addClient(&s.Client)
		r.addStages(s.Stages, shards[i].Offset.AheadNS)
		if s.Started.Before(r.Started) {
			r.Started = s.Started
		}
		if r.Rehearsal == "" {
			r.Rehearsal = s.Rehearsal
		}
		for _, note := range s.Notes {
			r.Notes = append(r.Notes, fmt.Sprintf("shard %d: %s", i, note))
		}
		if i > 0 {
			for n := range min(len(r.Endpoints), len(s.Endpoints)) {
				r.Endpoints[n].Connections += s.Endpoints[n].Connections
				if did := s.Endpoints[n].PrefixCache; did != record.CacheEmptied {
					r.Endpoints[n].PrefixCache = did
				}
			}
		}
	}
	bound := shard.Bound(r.Spread.Shards)
	r.Spread.BoundNS = int64(bound)
	r.Notes = append(r.Notes, fmt.Sprintf("%d shards, whose starts may differ by up to %v", len(records),
		bound.Round(time.Microsecond)))
	return &r
}

// addClient adds a shard's resource use; lags are the longest of any shard.
func (r *Record) addClient(c *Client) {
	to := &r.Client
	to.CPUS += c.CPUS
	to.RSSMaxBytes += c.RSSMaxBytes
	to.ThreadsMax += c.ThreadsMax
	to.GCPauseMaxS = max(to.GCPauseMaxS, c.GCPauseMaxS)
	to.ClockDriftUS = max(to.ClockDriftUS, c.ClockDriftUS)
	to.Loops = append(to.Loops, c.Loops...)
	to.Exhausted.Add(c.Exhausted)
	if c.ReportLagUS.P99 > to.ReportLagUS.P99 {
		to.ReportLagUS = c.ReportLagUS
	}
}

func (r *Record) addStages(stages []Stage, aheadNS int64) {
	for i, s := range stages {
		s.StartNS -= aheadNS
		s.EndNS -= aheadNS
		if s.SaturatedNS > 0 {
			s.SaturatedNS -= aheadNS
		}
		if i == len(r.Stages) {
			r.Stages = append(r.Stages, s)
			continue
		}
		to := &r.Stages[i]
		to.StartNS, to.EndNS = min(to.StartNS, s.StartNS), max(to.EndNS, s.EndNS)
		to.Requests += s.Requests
		to.Unsent += s.Unsent
		to.Stopped = cmp.Or(to.Stopped, s.Stopped)
		to.BySaturation = to.BySaturation || s.BySaturation
		if to.SaturatedNS == 0 || s.SaturatedNS > 0 && s.SaturatedNS < to.SaturatedNS {
			to.SaturatedNS = s.SaturatedNS
		}
	}
}

// judgeShards applies the rules to all requests, and adds the reasons why a shard itself was not valid.
func (r *Record) judgeShards(p *profile.Profile, records []*Record, limits []measure.Limit) {
	e := evidence(r, p, limits)
	e.Record.Answers = record.Answers{Identified: true}
	e.ClockDrift = time.Duration(r.Client.ClockDriftUS * 1e3)
	judged := *r
	if slices.ContainsFunc(records, func(s *Record) bool { return s.Verdict == record.Interrupted }) {
		judged.Stages = nil // the shards report why they ended early
	}
	r.Verdict, r.Reasons = verdict(e, &judged)
	for i, s := range records {
		if s.Verdict == record.Valid {
			continue
		}
		if r.Verdict != record.Interrupted {
			r.Verdict = s.Verdict
		}
		for _, cause := range s.Reasons {
			cause.Text = fmt.Sprintf("shard %d: %s", i, cause.Text)
			r.Reasons = append(r.Reasons, cause)
		}
	}
	slices.SortStableFunc(r.Reasons, func(a, b record.Cause) int { return interruptedFirst(a) - interruptedFirst(b) })
}

func interruptedFirst(c record.Cause) int {
	if c.Code == record.CodeInterrupted {
		return 0
	}
	return 1
}
