package run

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf-go/accuracy"
	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/internal/mllog"
	"github.com/mlperf-go/mlperf-go/internal/schedule"
	"github.com/mlperf-go/mlperf-go/ledger"
	"github.com/mlperf-go/mlperf-go/ledger/spans"
	"github.com/mlperf-go/mlperf-go/metrics/hostinfo"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/plan"
	"github.com/mlperf-go/mlperf-go/run/record"
)

// finish reads what the test left, and judges it.
func (t *test) finish(ctx context.Context) (*record.Record, error) {
	process, err := t.sampler.Stop()
	if err != nil {
		return nil, err
	}
	drift, err := t.clock.Stop()
	if err != nil {
		return nil, err
	}
	t.models.end(t.ended == nil)
	metrics, notes := t.metrics.Stop()
	t.notes = append(t.notes, notes...)
	lost := errors.Join(t.failures.close(), t.freeReserve())
	gone, err := t.replaceLost()
	if err != nil {
		return nil, err
	}
	logs, states, err := t.readLogs(gone)
	if err != nil {
		return nil, err
	}
	lost = errors.Join(t.unsaved, lost)
	result, score, unwritten := t.score(ctx, logs)
	lost = errors.Join(lost, unwritten, t.scorer.close())
	requests := t.requestLog(gone)
	<-requests.ready
	data := requests.data // once, because after an early end LoadGen may continue to issue
	r := t.record(data, <-requests.figures, logs, process, drift, result, score, t.accuracyLog())
	r.Metrics = metrics
	metrics.Yield(r.Tokens.Output)
	r.Notes = append(r.Notes, t.writeSpans(data)...)
	r.Profile, notes = t.endProfile()
	r.Notes = append(r.Notes, notes...)
	if lost = errors.Join(lost, t.result(requests)); lost != nil {
		r.Lose(lost)
	}
	if err := hideLogs(t.path(record.LogFolder), t.plan.Access()); err != nil {
		r.Lose(err)
	}
	if r.Files, err = hashFiles(t.folder); err != nil {
		return nil, err
	}
	if !slices.Equal(states, t.logs.states()) {
		r.Lose(errors.New("another program changed LoadGen's logs after the test had ended"))
	}
	if words := r.Overruled(); words != "" {
		r.Notes = append(r.Notes, words)
	}
	if err := t.plan.WriteJSON(t.path(record.FileName), r); err != nil {
		return nil, err
	}
	if gone != nil {
		return nil, exit.Environment(exit.CodeOutputLost, "Leave a folder alone while a test writes it, and run again",
			"%s; what was measured is saved in %s, and is not valid", gone.words(), t.folder)
	}
	if errors.Is(t.ended, hostinfo.ErrRoom) {
		return nil, exit.Environment(exit.CodeLimits, "", "%w; what was measured is saved in %s, and is not valid", t.ended,
			t.folder)
	}
	return r, nil
}

// readLogs reads LoadGen's logs, and the states of the files at that moment. A log that another program changed during
// the test, or whose folder was lost, is incomplete whatever it contains.
func (t *test) readLogs(gone *lostFolder) (logs *mllog.Result, states []string, err error) {
	faults := t.logs.stop()
	if gone != nil {
		faults = []string{gone.words()} // the other faults follow from it
	} else if len(faults) > 0 {
		t.unsaved = errors.Join(t.unsaved, os.MkdirAll(t.path(record.LogFolder), t.plan.Access().Folder()),
			t.logs.restore(t.plan.Access(), t.path(record.LogFolder)))
	}
	states = t.logs.states()
	logs, err = mllog.Summarize(t.path(record.LogFolder))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, states, nil
	case err != nil:
		return nil, nil, err
	case len(faults) > 0:
		logs.Complete, logs.Missing = false, append(faults, logs.Missing...)
	}
	return logs, states, nil
}

// record creates run.json from the ledger, the logs and the process's own figures.
func (e *evidence) record(data *ledger.Test, m ledger.Metrics, logs *mllog.Result, process hostinfo.Process,
	drift time.Duration, result *accuracy.Result, score *record.Score, log string) *record.Record {
	p := e.plan
	r := &record.Record{
		Schema: record.Schema, Rehearsal: len(p.Rehearsal) > 0, RehearsalReasons: p.Rehearsal,
		Tool: record.ThisTool(), Host: hostinfo.Collect(), Command: p.Command,
		Environment: record.EnvironmentFolder,
		Model:       p.Row.Name, LoadGenModel: p.LoadGenModel(), ServedModel: e.config.ServedModel, Round: p.Round.Name,
		Scenario: string(p.Scenario.Scenario), Mode: string(p.Mode), Backend: p.Config.String("backend"),
		BackendChoice: e.pre.Backend,
		Started:       e.started.UTC(), FirstIssue: wallTime(m.FirstIssueNS), DurationS: m.DurationS,
		Notes:   slices.Concat(e.pre.notes(), p.LoadGenNotes(), e.notes, e.models.notes),
		LoadGen: loadgenResult(logs), Throughput: m.Throughput,
		LatencyS:  record.NewLatencies(&m, e.ledger.ITL().Stats()),
		Answers:   e.answers(),
		Client:    e.client(data, &m, process, drift),
		Endpoints: e.endpoints(data.Entries),
		Dataset:   record.DatasetFacts{Path: e.dataset.Path, SHA256: e.dataset.SHA256, Samples: len(e.dataset.Samples)},
		Sampling:  plan.SamplingFields(e.config.Sampling),
		Breaches:  p.Breaches(),
		Tails:     e.tails(),
		Accuracy:  score,
	}
	if asked := p.Percentiles(); len(asked) > 0 {
		r.Percentiles = &record.Percentiles{Percents: asked, Percentiles: data.Percentiles(asked),
			ITL: e.ledger.ITL().Percentiles(asked)}
	}
	var err error
	servers, notes := e.servers()
	r.Servers, r.Notes = servers, slices.Concat(r.Notes, notes, e.finishes.notes())
	judged := &record.Evidence{}
	e.count(r, judged, data)
	if r.Tokens.Recount, err = e.recount(r, data, log); err != nil {
		r.Notes = append(r.Notes, "the servers' token counts could not be compared with the tokenizer's: "+err.Error())
	}
	r.Tokenizer = e.countedBy(r)
	judged.Record, judged.Logs, judged.Result, judged.Ended, judged.Interrupted = r, logs, result, e.ended, e.outside
	judged.Terms, judged.ClockDrift, judged.AuditApplied = p.Terms(), drift, audited(logs)
	judged.MedianTokens, judged.OtherModels = medianOutput(data.Entries), e.models.others
	r.Verdict, r.Reasons = judged.Judge()
	return r
}

// wallTime returns a time in ns since 1970; zero for 0.
func wallTime(ns int64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns).UTC()
}

// timed joins the entries with LoadGen's schedule, which LoadGen does not log.
func (e *evidence) timed() *ledger.Test {
	data := &ledger.Test{Entries: e.ledger.Entries(), Names: e.ledger.Names(), Origin: ledger.FromIssue}
	switch e.plan.Scenario.LoadGen {
	case models.Offline:
		data.Origin = ledger.FromStart
	case models.Server:
		// An accuracy test of several sample sets restarts the schedule with each set. So latencies count from the
		// issue there.
		if e.plan.Mode == models.Performance {
			data.Origin = ledger.FromSchedule
			if n := len(data.Entries); n <= len(e.planned) {
				data.Schedule = e.planned[:n]
			} else {
				data.Schedule = schedule.ServerDeltas(e.settings.ScheduleRNGSeed, e.settings.ServerTargetQPS, n)
			}
		}
	}
	data.T0NS = ledger.EstimateStart(data.Entries, data.Schedule)
	return data
}

func (t *test) writeRequests(path string, data *ledger.Test) error {
	if !t.plan.Config.Bool("request-log") {
		return nil
	}
	return ledger.WriteRequests(t.plan.Access(), path, data)
}

// writeSpans writes the file of --trace-spans, and returns what the user should know about it. The file is not part of
// the result.
func (t *test) writeSpans(data *ledger.Test) []string {
	path := t.plan.Config.String("trace-spans")
	if path == "" {
		return nil
	}
	var o spans.Options
	for _, e := range t.config.Endpoints {
		o.Endpoints = append(o.Endpoints, e.URL)
	}
	written, err := spans.Write(t.plan.Access(), path, data, o)
	switch {
	case err != nil:
		return []string{"--trace-spans: the file was not written: " + err.Error()}
	case written.Left > 0:
		return []string{fmt.Sprintf("--trace-spans: %s has the first %d requests; %d more would exceed its %d MiB",
			path, written.Requests, written.Left, spans.MaxBytes>>20)}
	}
	return nil
}

// count fills in what the ledger counted. The numbers of samples match the request log.
func (e *evidence) count(r *record.Record, judged *record.Evidence, data *ledger.Test) {
	c := ledger.Counts{Issued: int64(len(data.Entries))}
	failed, sources := map[ledger.Reason]int64{}, map[ledger.TokenSource]bool{}
	last := ledger.Code(0) // most samples have the same source
	sendsIDs := !e.plan.SendsText()
	for i := range data.Entries {
		entry := &data.Entries[i]
		if !entry.Succeeded() {
			if entry.DoneNS != 0 {
				c.Failed++
				failed[data.Names.Reason(entry)]++
			}
			continue
		}
		c.Completed++
		if entry.Source != last {
			last = entry.Source
			if source := data.Names.Source(entry); source != "" {
				sources[source] = true
			}
		}
		if entry.OutputTokens == 1 {
			judged.OneToken++
		}
		if sent := e.promptTokens(int(entry.Index)); sendsIDs && sent > 0 && entry.InputTokens > 0 &&
			int(entry.InputTokens) != sent {
			judged.OtherPrompts++
		}
	}
	all := e.ledger.Counts()
	r.Samples = record.SampleCounts{
		Issued: c.Issued, Completed: c.Completed + c.Failed, Failed: c.Failed, Retried: all.Retried,
		FirstTokens: all.FirstTokens,
		Empty:       all.Empty + failed[ledger.FailEmpty], FailureRate: c.FailureRate(), FailedByReason: failed,
	}
	judged.Misreported = all.Duplicates + all.Unknown
	r.Tokens = record.TokenCounts{
		Input: all.InputTokens, Output: all.OutputTokens, Source: ledger.JoinSources(slices.Sorted(maps.Keys(sources))),
		Mismatches: failed[ledger.FailTokenCount], Events: all.Events, Merged: all.Merged,
	}
}

// promptTokens returns the number of a sample's token ids; 0: the sample is text, whose tokens the server counts.
func (in *inputs) promptTokens(index int) int {
	if index < 0 || index >= len(in.dataset.Samples) {
		return 0
	}
	return len(in.dataset.Samples[index].InputIDs)
}

func (e *evidence) answers() record.Answers {
	unidentified := func(e backends.Endpoint) bool { return e.IDs != backends.IDsRequired }
	sum := e.traffic()
	return record.Answers{Identified: !slices.ContainsFunc(e.config.Endpoints, unidentified), Unasked: sum.Unasked,
		Strays: sum.Strays}
}

// traffic returns the sums of all backends, except those by endpoint.
func (e *evidence) traffic() (sum backends.Traffic) {
	for _, b := range e.backends {
		if traffic := b.Features().Traffic; traffic != nil {
			counted := traffic()
			sum.Unasked, sum.Strays = sum.Unasked+counted.Unasked, sum.Strays+counted.Strays
			sum.Exhausted.Add(counted.Exhausted)
		}
	}
	return sum
}

func (e *evidence) endpoints(entries []ledger.Entry) []record.EndpointCounts {
	list := make([]record.EndpointCounts, len(e.config.Endpoints))
	for i, endpoint := range e.config.Endpoints {
		list[i].URL = endpoint.URL
		if e.caches != nil {
			list[i].PrefixCache = e.caches[i]
		}
	}
	for _, b := range e.backends {
		traffic := b.Features().Traffic
		if traffic == nil {
			continue
		}
		counted := traffic()
		for i, n := range counted.Connections {
			list[i].Connections += n
		}
		for i, n := range counted.Exclusions {
			list[i].Excluded += n
		}
	}
	for i := range entries {
		entry := &entries[i]
		if entry.DoneNS == 0 || int(entry.Endpoint) >= len(list) || entry.Endpoint < 0 {
			continue
		}
		of := &list[entry.Endpoint]
		of.Requests++
		of.Retried += int64(entry.Retries)
		if !entry.Succeeded() {
			of.Failed++
		}
	}
	return list
}

func loadgenResult(logs *mllog.Result) record.LoadGenResult {
	if logs == nil {
		return record.LoadGenResult{Result: map[string]any{}}
	}
	r := record.LoadGenResult{Valid: logs.Valid, Complete: logs.Complete, Errors: logs.Errors, Warnings: logs.Warnings,
		Missing: logs.Missing, Result: map[string]any{}}
	for key, v := range logs.Result {
		if strings.HasPrefix(key, "result_") || strings.HasPrefix(key, "effective_") ||
			strings.HasPrefix(key, "early_stopping") {
			r.Result[key] = jsonValue(v)
		}
	}
	return r
}

// jsonValue returns values that JSON cannot represent, such as LoadGen's -nan for the rate of one query, as text.
func jsonValue(v any) any {
	if f, ok := v.(float64); ok && (math.IsNaN(f) || math.IsInf(f, 0)) {
		return fmt.Sprint(f)
	}
	return v
}

func audited(logs *mllog.Result) bool {
	return logs != nil && slices.ContainsFunc(logs.WarningTexts,
		func(t mllog.Text) bool { return strings.HasPrefix(t.Text, mllog.AuditTaken) })
}

func medianOutput(entries []ledger.Entry) int {
	var n []int32
	for i := range entries {
		if entries[i].Succeeded() {
			n = append(n, entries[i].OutputTokens)
		}
	}
	if len(n) == 0 {
		return 0
	}
	slices.Sort(n)
	return int(n[len(n)/2])
}
