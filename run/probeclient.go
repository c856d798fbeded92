package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/reach"
	"github.com/mlperf-go/mlperf-go/internal/crash"
	"github.com/mlperf-go/mlperf-go/internal/mllog"
	"github.com/mlperf-go/mlperf-go/internal/schedule"
	"github.com/mlperf-go/mlperf-go/ledger"
	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
	"github.com/mlperf-go/mlperf-go/metrics/hostinfo"
	"github.com/mlperf-go/mlperf-go/metrics/scrape"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/plan"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/sut"
)

// ProbeClient is the client of a test without LoadGen: the same requests, connections, event loops and ledger, under
// another schedule. It can send any number of probes, and none of them is a result.
type ProbeClient struct {
	e *evidence

	mu      sync.Mutex
	started time.Time // of the last probe
	ledger  *ledger.Ledger
	ends    ends
}

// Probe is the result of one probe.
type Probe struct {
	Data    *ledger.Test
	Metrics ledger.Metrics
	Causes  []record.Cause // why the probe does not count, by the rules of a run; empty: it does
	Spoiled string         // words for the first cause, with the first failure; empty: the probe counts
}

// OpenProbes prepares a client in an existing folder: it reads the data set, probes the endpoints, builds the
// requests of all samples that a performance test draws from, and opens one backend per shard. The plan must have a
// data set and an endpoint.
func OpenProbes(ctx context.Context, p *Plan, o Observer, folder string) (*ProbeClient, error) {
	return openProbes(ctx, p, o, folder, false)
}

// OpenAssigned is OpenProbes for loads that choose the endpoint of each query with Place.
func OpenAssigned(ctx context.Context, p *Plan, o Observer, folder string) (*ProbeClient, error) {
	return openProbes(ctx, p, o, folder, true)
}

func openProbes(ctx context.Context, p *Plan, o Observer, folder string, assigned bool) (*ProbeClient, error) {
	if !loadgen.Built {
		return nil, exit.Environment(exit.CodeNoLoadGen, "Build it with 'make build'",
			"this program was built without LoadGen")
	}
	if o == nil {
		o = silent{}
	}
	c := &ProbeClient{e: &evidence{inputs: inputs{plan: p.inner(), observer: o}}}
	if err := c.e.prepareProbes(ctx, folder, assigned); err != nil {
		return nil, err
	}
	return c, nil
}

func (e *evidence) prepareProbes(ctx context.Context, folder string, assigned bool) error {
	p := e.plan
	var err error
	if e.dataset, err = p.ReadDataset(); err != nil {
		return err
	}
	choice, err := bind(ctx, p, len(e.dataset.Samples), e.observer)
	if err != nil {
		return err
	}
	if e.driver, e.config, err = p.OpenDriver(); err != nil {
		return err
	}
	metrics := e.findMetrics(free(filepath.Join(folder, record.MetricsName)))
	if err := errors.Join(e.findKeys(), e.findCounter(ctx), metrics); err != nil {
		return err
	}
	if assigned {
		e.config.Balance, e.keys = backends.BalanceAssigned, make([]uint64, len(e.dataset.Samples))
	}
	if e.pre, err = (&prober{p, e.driver, e.config, e.observer}).preflight(ctx, e.dataset.Samples, folder); err != nil {
		return err
	}
	e.pre.choose(choice)
	e.observer.Preflighted(e.pre, e.pre.notes())
	conf := filepath.Join(folder, record.UserConfName)
	if err := p.WriteUserConf(conf); err != nil {
		return err
	}
	if e.settings, err = p.TestSettings(conf); err != nil {
		return err
	}
	if err := e.openClient(folder); err != nil {
		return err
	}
	indices := make([]int, e.performanceCount())
	for i := range indices {
		indices[i] = i
	}
	if err := e.requests.load(indices); err != nil {
		return err
	}
	e.metrics.Start(ctx)
	quiet(len(e.backends))
	return nil
}

// free returns the path of a file that does not exist: --resume keeps what an earlier process has recorded.
func free(path string) string {
	name, folder := filepath.Base(path), filepath.Dir(path)
	for n := 2; ; n++ {
		if _, err := os.Lstat(path); err != nil {
			return path
		}
		path = filepath.Join(folder, fmt.Sprintf("%d-%s", n, name))
	}
}

// Look adds the state of the last probe to a progress: the samples that ended since the last call, and the servers'
// metrics. It may be called while Send runs.
func (c *ProbeClient) Look(p *Progress) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p.Servers = c.e.takeSignals()
	if c.ledger == nil {
		return
	}
	now := time.Now()
	counts := c.ledger.Counts()
	p.Elapsed, p.Issued, p.Failed = now.Sub(c.started), counts.Issued, counts.Failed
	p.Done, p.InFlight = counts.Completed+counts.Failed, counts.InFlight()
	p.Ended, p.Names, p.EndedUntil = c.ends.look(c.ledger, now), c.ledger.Names(), c.ends.till
	p.TTFTp99 = time.Duration(c.ledger.TTFT().Quantile(.99))
	p.TPOTp99 = time.Duration(c.ends.tpot.Quantile(.99))
}

// begin makes Look show a new probe.
func (c *ProbeClient) begin(l *ledger.Ledger) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.started, c.ledger, c.ends = time.Now(), l, ends{}
}

// Load returns the settings that determine how many queries the full-length test has. set is the number of samples
// that LoadGen issues equally often; 0: LoadGen does not use equal issue.
func (c *ProbeClient) Load() (scheduleSeed uint64, minDuration time.Duration, minQueries, set int) {
	l := c.e.serverLoad()
	return l.Seed, l.MinDuration, l.MinQueries, l.Set
}

// SampleSeed returns the seed of LoadGen's order of the samples.
func (c *ProbeClient) SampleSeed() uint64 { return c.e.settings.SampleIndexRNGSeed }

// Order returns the samples that the test sends with its first n queries.
func (c *ProbeClient) Order(n int) []int {
	s := &c.e.settings
	o := schedule.Order{SetSeed: s.QSLRNGSeed, SampleSeed: s.SampleIndexRNGSeed, Samples: c.e.performanceCount(),
		EqualIssue: s.SampleConcatenatePermutation, MinQueries: int(s.MinQueryCount)}
	return o.Sequence(n)
}

// RepeatsPrompts reports whether a prompt may be sent again in the next probe: each server empties its prefix cache
// between two probes. It is known after the first.
func (c *ProbeClient) RepeatsPrompts() bool {
	return len(c.e.caches) > 0 && !slices.ContainsFunc(c.e.caches, func(p record.PrefixCache) bool {
		return p != record.CacheEmptied
	})
}

// Limits returns the limits of the full-length test, and the percentile of the queries that must meet each.
func (c *ProbeClient) Limits() (limits []record.Tail, percentile float64) {
	for _, l := range liveLimits(&c.e.settings) {
		if l.Limit > 0 && l.Limit < plan.NoLimit {
			limits = append(limits, l.Tail)
		}
	}
	return limits, c.e.settings.ServerTargetLatencyPercentile
}

// Shards returns how many shards a probe needs.
func (c *ProbeClient) Shards() int { return len(c.e.backends) }

// Samples returns how many samples a probe draws from.
func (c *ProbeClient) Samples() int { return c.e.performanceCount() }

// Endpoints returns the URLs of the servers, by the numbers of Place.
func (c *ProbeClient) Endpoints() []string {
	var urls []string
	for _, endpoint := range c.e.config.Endpoints {
		urls = append(urls, endpoint.URL)
	}
	return urls
}

// Place sets the endpoint of a sample's next query. The thread that issues the query calls it before; the client must
// be one of OpenAssigned.
func (c *ProbeClient) Place(index, endpoint int) { c.e.keys[index] = uint64(endpoint) }

// Length returns about how many tokens a sample costs a server: those of its prompt, and those of its reference answer
// if the data set has one. Texts are estimated from their bytes.
func (c *ProbeClient) Length(index int) int {
	s := &c.e.dataset.Samples[index]
	input := cmp.Or(s.InputLen, len(s.InputIDs), max(len(s.Input), s.MessageBytes)/bytesPerToken)
	return input + len(s.Target)/bytesPerToken
}

// Watch records the metrics pages of the endpoints in a file of package metrics/series until stop is called.
func (c *ProbeClient) Watch(ctx context.Context, path string) (stop func() error, err error) {
	pages, err := c.e.metricsPages()
	if err != nil {
		return nil, err
	}
	collector, err := scrape.Start(ctx, scrape.Options{Access: c.e.plan.Access(), Path: path, Targets: pages,
		Interval: c.e.plan.Config.Duration("metrics-interval")})
	if err != nil {
		return nil, err
	}
	return func() error {
		_, err := collector.Stop()
		return err
	}, nil
}

// ProbeLoad issues the queries of a probe.
type ProbeLoad interface {
	Shards() []sut.Shard // as many as the client's
	Due() []int64        // times in ns after StartNS by Seq; nil: latencies count from the issue
	StartNS() int64      // wall-clock time
	Stop()               // Stop issues no more queries
}

// Send runs one probe to the end of its queries. A failed query ends the probe: Send sends no further query, and waits
// for those in flight, so that the next probe finds the servers idle.
func (c *ProbeClient) Send(ctx context.Context, l ProbeLoad) (*Probe, error) {
	e, schedule := c.e, l.Due()
	if err := e.emptyCaches(ctx); err != nil {
		return nil, err
	}
	book := ledger.New(len(e.backends), max(len(schedule), 1))
	open := make([]backends.Backend, len(e.backends))
	for i, b := range e.backends {
		open[i] = staysOpen{b}
	}
	e.ledger = book
	c.begin(book)
	failed := make(chan backends.Attempt, 1)
	s := sut.NewWithout(sut.Options{Backends: open, Ledger: book, FirstTokens: e.plan.FirstTokens(), MaxErrors: -1,
		DrainTimeout: e.plan.Config.Duration("drain-timeout"),
		Failed: func(a backends.Attempt) {
			select {
			case failed <- a:
			default:
			}
		}}, l.Shards())
	before := e.traffic()
	clock, err := hostinfo.WatchClocks()
	if err != nil {
		return nil, err
	}
	s.Start(ctx)
	over := make(chan struct{})
	go func() {
		defer crash.Catch()
		endFailed(s, l, book, over)
	}()
	ended := s.Wait()
	close(over)
	drift, err := clock.Stop()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, err
	}
	p := &Probe{Data: &ledger.Test{Entries: book.Entries(), Names: book.Names(), Schedule: schedule, T0NS: l.StartNS(),
		Origin: ledger.FromSchedule}}
	if schedule == nil {
		p.Data.Origin = ledger.FromIssue
	}
	p.Metrics = p.Data.Metrics()
	c.judge(p, ended, drift, before)
	if len(p.Causes) > 0 {
		p.Spoiled = p.Causes[0].Text
		select {
		case a := <-failed:
			p.Spoiled += fmt.Sprintf("; the first failure: %s: %s", a.Reason, a.Detail)
		default:
		}
	}
	return p, nil
}

// How often a probe looks for failed queries, and after a failure the longest time without an answer.
const (
	failedEvery = 20 * time.Millisecond
	failedQuiet = 30 * time.Second
)

// endFailed stops a load after its first failed query, and when the test ends: a closed loop would go on with queries
// that end at once. If the servers stop answering, it cancels the queries in flight. It returns when over is closed.
func endFailed(s *sut.SUT, l ProbeLoad, book *ledger.Ledger, over <-chan struct{}) {
	tick := time.NewTicker(failedEvery)
	defer tick.Stop()
	var ended int64
	var quiet time.Time // since when no query has ended; zero: none has failed
	for {
		select {
		case <-over:
			return
		case <-s.Stopped():
			l.Stop()
			return
		case now := <-tick.C:
			counts := book.Counts()
			if counts.Failed == 0 {
				continue
			}
			if n := counts.Completed + counts.Failed; quiet.IsZero() || n != ended {
				ended, quiet = n, now
				l.Stop()
			}
			if now.Sub(quiet) > failedQuiet {
				s.Stop(sut.ErrTooManyFailures)
			}
		}
	}
}

// judge applies the rules of a run. before has the counts from before this probe.
func (c *ProbeClient) judge(p *Probe, ended error, drift time.Duration, before backends.Traffic) {
	c.e.models.askAll()
	c.e.joined = ended == nil
	r := &record.Record{LatencyS: record.NewLatencies(&p.Metrics, c.e.ledger.ITL().Stats()), Answers: c.e.answers(),
		Client: record.Client{DispatchLagUS: p.Metrics.DispatchLag.LagUS(),
			ReportLagUS: p.Metrics.ReportLag.LagUS(), Loops: c.e.loops(), Exhausted: c.e.traffic().Exhausted}}
	r.Answers.Unasked -= before.Unasked
	r.Answers.Strays -= before.Strays
	r.Client.Exhausted.Add(backends.Exhausted{Ports: -before.Exhausted.Ports, Files: -before.Exhausted.Files})
	e := &record.Evidence{Terms: c.e.plan.Terms(), MedianTokens: medianOutput(p.Data.Entries), Logs: &mllog.Result{},
		Record: r, Ended: ended, ClockDrift: drift, OtherModels: c.e.models.others}
	c.e.count(r, e, p.Data)
	p.Causes = e.JudgeProbe()
}

// How long AwaitEndpoints waits for an endpoint that does not answer, and how often it asks.
const (
	awaitLongest = 10 * time.Minute
	awaitEvery   = 2 * time.Second
	answerWithin = 5 * time.Second
)

// AwaitEndpoints waits until every endpoint answers, and reports to the observer what it waits for. It returns an error
// after ten minutes.
func (c *ProbeClient) AwaitEndpoints(ctx context.Context) error {
	deadline, settings := time.Now().Add(awaitLongest), c.e.plan.Config
	for _, url := range settings.Strings("endpoint") {
		for {
			err := reach.Try(ctx, url, plan.Transport(settings), answerWithin)
			if err == nil {
				break
			}
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if time.Now().After(deadline) {
				return exit.Environment(exit.CodeEndpoint, "Start the server again, and continue with --resume",
					"an endpoint has not answered for %v: %w", awaitLongest, err)
			}
			c.e.observer.Waiting(fmt.Sprintf("waiting for %s: %v", url, err))
			select {
			case <-time.After(awaitEvery):
			case <-ctx.Done():
			}
		}
	}
	return nil
}

// Close frees the requests.
func (c *ProbeClient) Close() error {
	c.e.models.end(false)
	_, lost := c.e.metrics.Stop()
	for _, note := range lost {
		c.e.observer.Waiting(note)
	}
	return c.e.close()
}

// staysOpen is a backend whose connections stay open for the next probe.
type staysOpen struct{ backends.Backend }

func (b staysOpen) Serve(ctx context.Context, src loadgen.Source, sink backends.Sink) error {
	if serve := b.Features().WarmUp; serve != nil {
		return serve(ctx, src, sink)
	}
	return b.Backend.Serve(ctx, src, sink)
}
