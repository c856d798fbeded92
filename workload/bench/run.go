package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"time"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/internal/crash"
	"github.com/mlperf-go/mlperf-go/internal/foreign"
	"github.com/mlperf-go/mlperf-go/internal/plural"
	"github.com/mlperf-go/mlperf-go/internal/results"
	"github.com/mlperf-go/mlperf-go/ledger"
	"github.com/mlperf-go/mlperf-go/metrics/hostinfo"
	"github.com/mlperf-go/mlperf-go/objectstore"
	"github.com/mlperf-go/mlperf-go/report/live"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/child"
	"github.com/mlperf-go/mlperf-go/run/environment"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/prefixcache"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/run/servermetrics"
	"github.com/mlperf-go/mlperf-go/workload/engine"
	"github.com/mlperf-go/mlperf-go/workload/eventlog"
	"github.com/mlperf-go/mlperf-go/workload/measure"
	"github.com/mlperf-go/mlperf-go/workload/shard"
)

// written are the files that a run replaces in its folder.
var written = []string{RecordName, eventlog.FileName, ProfileName, FailedName, SummaryName, record.ReportName,
	record.MetricsName, MarkerName, objectstore.RecordName}

// rewritten are further files of a folder, which each run overwrites, so that they need not be removed first.
var rewritten = []string{record.MachineName, record.ServersName}

// Check rejects a folder that holds an earlier run, unless force is set, or something else, such as a file that a run
// would replace although no run wrote it.
func Check(folder string, force bool) error {
	if other := results.Holds(folder, results.Workload); other != "" {
		return exit.Usage(exit.CodeOutputUsed, "Choose another --output", "the output folder %s is the folder of %s",
			folder, plural.Article(other))
	}
	if Holds(folder) {
		if force {
			return nil
		}
		return exit.Usage(exit.CodeOutputUsed, "Choose another --output, or give --force",
			"the output folder %s holds an earlier run", folder)
	}
	if err := results.Foreign(folder, slices.Concat(written, rewritten)); err != nil {
		return exit.Usage(exit.CodeOutputUsed, "Choose another --output", "%w", err)
	}
	return nil
}

// Run runs a workload and returns its record, which it also writes into the folder. An error means that the client
// failed; a server that fails makes the run INVALID.
func Run(ctx context.Context, o Options) (*Record, error) {
	if err := o.Profile.Validate(); err != nil {
		return nil, exit.Usage(exit.CodeProfile, "", "%w", err)
	}
	if err := Check(o.Folder, o.Force); err != nil {
		return nil, err
	}
	t, err := find(ctx, &o)
	if err != nil {
		return nil, err
	}
	if err := t.reserve(o.Profile); err != nil {
		return nil, err
	}
	r := &trial{Options: o, target: t}
	if err := r.watchServers(); err != nil {
		return nil, err
	}
	lock, err := child.Acquire(ctx, o.Folder, child.Owner{What: "workload's run", File: lockName, Flag: "--output",
		Busy: exit.CodeRunActive, Access: o.Access, Hint: "Wait for its end, or choose another --output"})
	if err != nil {
		return nil, err
	}
	defer lock.Release()
	if err := Check(o.Folder, o.Force); err != nil { // another run may have ended in between
		return nil, err
	}
	if err := r.emptyCaches(ctx); err != nil { // before an earlier run is removed, as open
		return nil, err
	}
	if err := r.open(); err != nil {
		return nil, err
	}
	if err := r.prepare(); err != nil {
		return nil, err
	}
	return r.run(ctx)
}

// trial is one run in progress.
type trial struct {
	Options
	*target
	started  time.Time
	caches   []record.PrefixCache // emptied ones, by endpoint; nil: no server was asked
	log      *eventlog.Writer
	failures failures
	recent   *recent                 // nil without Details
	metrics  *servermetrics.Recorder // nil: they are not recorded
	scan     *measure.Scan           // of the requests so far; nil: the figures read the log once more
	engine   *engine.Engine
	gate     *shard.Gate // nil: stages start by themselves
}

// emptyCaches empties the servers' prefix caches, which the preflight and earlier runs have filled.
func (t *trial) emptyCaches(ctx context.Context) error {
	did, notes, err := prefixcache.Empty(ctx, cmp.Or(t.ResetCache, "auto"), t.driver, t.config)
	t.caches, t.notes = did, append(t.notes, notes...)
	return err
}

func (t *trial) path(name string) string { return filepath.Join(t.Folder, name) }

// prepare removes what an earlier run left, and opens the files of this one.
func (t *trial) prepare() error {
	for _, name := range written {
		atomicfile.RemoveUnfinished(t.path(name))
		if err := os.Remove(t.path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return exit.Environment(exit.CodeOutputDir, "Choose another --output", "an earlier run cannot be removed: %w", err)
		}
	}
	switch left, err := results.RemoveDerived(t.Folder); {
	case err != nil:
		return exit.Environment(exit.CodeOutputDir, "Choose another --output",
			"the files in %s of an earlier run cannot be removed: %w", t.path(results.Derived), err)
	case left:
		t.notes = append(t.notes, results.Derived+"/ has files that this program did not write; they belong to an "+
			"earlier run")
	}
	err := environment.Write(t.Folder, &environment.Facts{Access: t.Access, Secrets: t.Secrets, Environ: t.Environ,
		Servers: t.probes})
	if err != nil {
		return exit.Environment(exit.CodeOutputDir, "Choose another --output", "the environment cannot be written: %w", err)
	}
	if err := t.keepProfile(); err != nil {
		return err
	}
	t.started = time.Now()
	t.log, err = eventlog.Create(t.path(eventlog.FileName), eventlog.Header{ID: t.id(), StartNS: t.started.UnixNano(),
		Model: t.config.ServedModel, Backend: t.name, Rehearsal: t.rehearsal()})
	if err == nil && t.Access != atomicfile.Private {
		err = os.Chmod(t.path(eventlog.FileName), t.Access.File())
	}
	t.failures = failures{path: t.path(FailedName), access: t.Access, start: t.started.UnixNano(), secrets: t.Secrets,
		show: t.showFailure}
	for _, e := range t.config.Endpoints {
		t.failures.urls = append(t.failures.urls, e.URL)
	}
	return err
}

// watchServers finds the metrics pages of the servers, if they are to be recorded.
func (t *trial) watchServers() error {
	if t.MetricsEvery == 0 || t.Part.Index > 0 { // the first part reads the pages for all
		return nil
	}
	targets, err := servermetrics.Targets(t.config, t.MetricsURLs, t.Secrets)
	t.metrics = &servermetrics.Recorder{Access: t.Access, Path: t.path(record.MetricsName), Targets: targets,
		Interval: t.MetricsEvery}
	return err
}

func (t *trial) keepProfile() error {
	text, err := t.Profile.Encode()
	if err == nil {
		err = t.Access.WriteBytes(t.path(ProfileName), text)
	}
	return err
}

func (t *trial) id() string {
	return cmp.Or(t.Profile.Name, "workload") + "-" + results.TimeName(t.started)
}

// coalesceWakeups is the default of a LoadGen test (docs/reference/measurements.md#pausing-after-a-wake-up).
const coalesceWakeups = 50 * time.Microsecond

// open makes the engine and its event loops. It writes nothing.
func (t *trial) open() error {
	t.engine = &engine.Engine{Profile: t.Profile, Source: t.source, Encoder: t.encoder, Failed: t.failures.add,
		Part: t.Part}
	if t.Details {
		t.recent = new(recent)
	}
	if l := &t.Profile.Load; l.Sweep == nil && l.Warmup.Requests == 0 && l.Cooldown.Requests == 0 {
		t.scan = measure.NewScan(l) // it stores no single requests
	}
	t.engine.Ended = t.ended
	if file := t.Profile.Load.Trace; file != nil {
		recorded, err := t.trace(file)
		if err != nil {
			return exit.Usage(exit.CodeProfile, "", "load.trace: %w", err)
		}
		t.engine.Arrivals = recorded.TimesNS
	}
	t.recorded = nil // the source and the engine keep the parts that they need
	shards := max(t.Shards, 1)
	for range shards {
		own := *t.config
		if t.Profile.API.SessionHeader != "" {
			own.Head = t.engine.Head
		}
		if t.Profile.NamesModels() {
			own.Model = t.modelOf
		}
		odd := t.Profile.Load.Leave != nil || t.Profile.Load.Slow != nil
		if odd {
			own.Conduct = t.engine.Conduct
		}
		own.Body, own.Loops, own.CoalesceWakeups = t.engine.Body, shards, coalesceWakeups
		own.KernelTimes = true
		b, err := t.driver.Open(&own)
		if err != nil {
			return err
		}
		if odd && !b.Features().Conducts {
			return exit.Usage(exit.CodeProfile, "Remove these keys, or use HTTP/1.1",
				"load.leave and load.slow: the client of HTTP/2 reads every answer at once until its end")
		}
		t.engine.Backends = append(t.engine.Backends, b)
	}
	return nil
}

// modelOf returns the model that the request in a slot names; empty: the run's.
func (t *trial) modelOf(index int) string {
	if m := t.engine.Model(index); m != t.config.ServedModel {
		return m
	}
	return ""
}

// ended processes a request that was added to the log.
func (t *trial) ended(e *eventlog.Request) {
	if t.scan != nil {
		t.scan.Add(e)
	}
	// Observers are not concerned with clients that left or were slow on purpose, nor with the end of the run.
	if !e.Cancelled && e.Reason != ledger.FailCancelled && e.Ordinary() {
		t.show(e)
	}
}

// show passes a request on to observers.
func (t *trial) show(e *eventlog.Request) {
	counter := t.counter()
	if t.recent == nil && counter == nil {
		return
	}
	entry, due := entryOf(e)
	if t.recent != nil {
		t.recent.add(&entry, due)
	}
	if counter != nil {
		counter.Add(&entry, due)
	}
}

// counter returns what counts the requests for a page of all shards; nil: nothing does.
func (t *trial) counter() *live.Counter {
	if t.gate == nil {
		return nil
	}
	return t.gate.Counter()
}

// showFailure passes a failed attempt on to those who show it.
func (t *trial) showFailure(f *Failure) {
	f.Detail = foreign.Line(t.Secrets.Values(f.Detail), mostDetail)
	t.recent.fail(f)
	if counter := t.counter(); counter != nil {
		counter.Fail(run.Failure(*f))
	}
}

// readings returns the readings of the servers' metrics pages since the last call, and counts them for a page of all
// shards.
func (t *trial) readings() []servermetrics.Signals {
	list := t.metrics.Take()
	if counter := t.counter(); counter != nil {
		for _, r := range list {
			counter.Read(run.ServerSignals(r))
		}
	}
	return list
}

// listen creates the coordinator's socket, through which the coordinator may call stop.
func (t *trial) listen(stop func()) error {
	if t.Control == "" {
		return nil
	}
	var err error
	t.gate, err = shard.Listen(t.Control, func() shard.Progress {
		l := t.engine.Live()
		return shard.Progress{Stage: l.Stage, Sent: l.Sent, Ended: l.Ended, Failed: l.Failed,
			Cancelled: l.Cancelled, Output: l.OutputTokens}
	}, stop)
	if err != nil {
		return exit.Environment(exit.CodeOutputDir, "Choose another --control", "%w", err)
	}
	t.engine.Gate = t.gate.Wait
	return nil
}

// garbageRoom is how many bytes the timed phase may allocate before a collection.
const garbageRoom = 64 << 20

// figuresGarbage is the share of the memory in percent that the figures may allocate before a collection.
const figuresGarbage = 25

func (t *trial) run(ctx context.Context) (*Record, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if err := t.listen(func() { cancel(live.Stopped) }); err != nil {
		return nil, errors.Join(err, t.log.Close(eventlog.End{Cause: err.Error()}))
	}
	if t.gate != nil {
		defer t.gate.Close() // only a socket
	}
	t.engine.Log, t.engine.Name = t.log, strconv.FormatInt(t.started.UnixNano(), 36)
	if n := len(t.engine.Backends) + 2; runtime.GOMAXPROCS(0) < n {
		runtime.GOMAXPROCS(n)
	}
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	defer debug.SetGCPercent(debug.SetGCPercent(int(min(400, max(25, garbageRoom*100/max(m.HeapAlloc, 1))))))
	sampler, err := hostinfo.StartSampler(100 * time.Millisecond)
	if err != nil {
		return nil, err
	}
	clock, err := hostinfo.WatchClocks()
	if err != nil {
		return nil, err
	}
	t.metrics.Start(ctx)
	stop := t.watch()
	outcome, broken := t.engine.Run(ctx)
	t.markEnd(outcome)
	stop()
	metrics, notes := t.metrics.Stop()
	t.notes = append(t.notes, notes...)
	t.engine.Arrivals = nil // the figures need the memory
	debug.SetGCPercent(figuresGarbage)
	drift, err := clock.Stop()
	process, unread := sampler.Stop()
	end := eventlog.End{Complete: broken == nil && outcome != nil && outcome.Ended == nil}
	if broken != nil {
		end.Cause = broken.Error()
	} else if outcome.Ended != nil {
		end.Cause = outcome.Ended.Error()
	}
	broken = errors.Join(broken, t.log.Close(end), t.failures.close())
	if broken != nil {
		return nil, fmt.Errorf("the run was ended, and what it recorded until then is in %s: %w", t.Folder, broken)
	}
	if err := errors.Join(err, unread); err != nil {
		return nil, err
	}
	return t.finish(outcome, process, drift, metrics)
}

// watch reports the progress until the returned function is called.
func (t *trial) watch() (stop func()) {
	if t.Observer == nil {
		return func() {}
	}
	for _, n := range t.notes {
		t.Observer.Note(n)
	}
	done, over := make(chan struct{}), make(chan struct{})
	plan := schedules(t.Profile)
	go func() {
		defer crash.Catch()
		defer close(over)
		tick := time.NewTicker(500 * time.Millisecond)
		defer tick.Stop()
		rate := ledger.NewRate(t.started)
		for last := false; !last; {
			select {
			case <-done:
				last = true
			case <-tick.C:
			}
			now := time.Now()
			p := Progress{Live: t.engine.Live(), Stages: len(t.Profile.Load.Stages), Elapsed: now.Sub(t.started),
				Expected: plan.Duration, Requests: int(plan.Requests)}
			p.RatePerS = rate.PerSecond(now, p.Ended-p.Cancelled)
			p.Servers = t.readings()
			t.recent.take(&p)
			t.Observer.Progress(p)
		}
	}()
	return func() { close(done); <-over }
}

// traffic sums up the counters of all loops.
func (t *trial) traffic() (sum backends.Traffic) {
	sum.Connections = make([]int64, len(t.config.Endpoints))
	for _, b := range t.engine.Backends {
		if of := b.Features().Traffic; of != nil {
			one := of()
			sum.Unasked += one.Unasked
			sum.Strays += one.Strays
			sum.Exhausted.Add(one.Exhausted)
			for i, n := range one.Connections {
				sum.Connections[i] += n
			}
		}
	}
	return sum
}
