package run

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/internal/hostinfo"
	"github.com/mlperf-go/mlperf-go/ledger"
	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
)

// Client says what the measuring side itself took, and how late it was. docs/reference/run-record.md explains each
// field.
type Client struct {
	IssueLagUS    ledger.LagUS `json:"issue_lag_us"`    // scheduled to issued
	DispatchLagUS ledger.LagUS `json:"dispatch_lag_us"` // scheduled to sent
	// last token readable, at the earliest, to completion reported
	ReportLagUS       ledger.LagUS            `json:"report_lag_us"`
	StagesUS          map[string]ledger.LagUS `json:"stages_us"` // the parts of a sample's way
	IssueLagCounts    []ledger.Bucket         `json:"issue_lag_counts"`
	DispatchLagCounts []ledger.Bucket         `json:"dispatch_lag_counts"`

	CPUS             float64 `json:"cpu_s"`
	CPUUserS         float64 `json:"cpu_user_s"`
	CPUSystemS       float64 `json:"cpu_system_s"`
	CPUUSPerSample   float64 `json:"cpu_us_per_sample"`
	ThreadsMax       int     `json:"threads_max"`
	RSSMaxBytes      int64   `json:"rss_max_bytes"`
	RSSAnonMaxBytes  int64   `json:"rss_anon_max_bytes"` // the part that no file backs
	PreemptiveSwitch int64   `json:"preemptive_switches"`

	GCPauses         uint64  `json:"gc_pauses"`
	GCPauseMaxS      float64 `json:"gc_pause_max_s"`
	OtherPauses      uint64  `json:"other_pauses"` // of all goroutines, for other reasons than collection
	OtherPauseMaxS   float64 `json:"other_pause_max_s"`
	SchedLatencyP99S float64 `json:"sched_latency_p99_s"` // of goroutines that were ready to run
	SchedLatencyMaxS float64 `json:"sched_latency_max_s"`

	ClockDriftUS    float64              `json:"clock_drift_us"` // wall clock against monotonic clock over the test
	IssueThread     loadgen.ThreadInfo   `json:"issue_thread"`
	LoopRealtime    bool                 `json:"loop_realtime"` // all loops had real-time priority
	Loops           []backends.LoopStats `json:"loops"`         // one per shard; none with net/http
	RingWakes       int                  `json:"ring_wakes"`
	RingFullWaits   int                  `json:"ring_full_waits"`
	RequestBytes    int64                `json:"request_bytes"`
	RequestsSpilled bool                 `json:"requests_spilled"`
	ScratchBytes    int64                `json:"scratch_bytes"` // largest length of the scratch file
}

func (t *test) client(data *ledger.Test, m *ledger.Metrics, process hostinfo.Process, drift time.Duration) Client {
	c := Client{
		IssueLagUS: m.IssueLag.LagUS(), DispatchLagUS: m.DispatchLag.LagUS(), ReportLagUS: m.ReportLag.LagUS(),
		StagesUS: data.Stages(),
		CPUS:     process.CPUS(), CPUUserS: process.CPUUserS, CPUSystemS: process.CPUSystemS,
		ThreadsMax: process.ThreadsMax, RSSMaxBytes: process.RSSMaxBytes, RSSAnonMaxBytes: process.RSSAnonMaxBytes,
		PreemptiveSwitch: process.PreemptiveSwitch,
		GCPauses:         process.GCPauses, GCPauseMaxS: process.GCPauseMaxS,
		OtherPauses: process.OtherPauses, OtherPauseMaxS: process.OtherPauseMaxS,
		SchedLatencyP99S: process.SchedLatencyP99S, SchedLatencyMaxS: process.SchedLatencyMaxS,
		ClockDriftUS: float64(drift.Nanoseconds()) / 1e3, IssueThread: t.thread, RingWakes: t.wakes, RingFullWaits: t.full,
		RequestBytes: t.loaded.Load(), RequestsSpilled: t.library.Spilled(), ScratchBytes: t.library.ScratchBytes(),
		Loops: []backends.LoopStats{},
	}
	c.IssueLagCounts, c.DispatchLagCounts = data.LagHistograms()
	for _, b := range t.backends {
		// A loop that was left behind by an early end is still running: it has no figures.
		if loop := b.Features().Loop; loop != nil && t.joined {
			c.Loops = append(c.Loops, loop())
		}
	}
	c.LoopRealtime = len(c.Loops) > 0
	for _, l := range c.Loops {
		c.LoopRealtime = c.LoopRealtime && l.Realtime
	}
	if n := t.ledger.Counts().Issued; n > 0 {
		c.CPUUSPerSample = process.CPUS() * 1e6 / float64(n)
	}
	return c
}

// openBackends makes one backend per shard. They share what is bounded for all of them together.
func (t *test) openBackends(driver backends.Driver) error {
	c := t.plan.Config
	shards := c.Int("shards")
	if bound := atMost(shards, t.config.Concurrency, t.config.PerEndpoint); bound < shards {
		t.notes = append(t.notes, fmt.Sprintf("%d shards instead of %d: the requests that may be in flight allow no more",
			bound, shards))
		shards = bound
	}
	pins, err := pinning(c.String("pin-loop"), shards)
	if err != nil {
		return usage("pin-loop", err, "Use off, auto, or as many numbers of processors as there are shards, with commas")
	}
	t.config.CoalesceWakeups = c.Duration("coalesce-wakeups")
	// docs/reference/measurements.md#cost-of-a-pause: a pause delays first tokens by up to its length.
	if limit := c.Duration("ttft-limit"); limit > 0 && limit < pausesInLimit*t.config.CoalesceWakeups {
		t.config.CoalesceWakeups = 0
	}
	for i := range shards {
		own := *t.config
		own.Loops, own.PinLoop = shards, pins[i]
		own.Concurrency, own.PerEndpoint = share(own.Concurrency, shards, i), share(own.PerEndpoint, shards, i)
		b, err := driver.Open(&own)
		if err != nil {
			return err
		}
		t.backends = append(t.backends, b)
	}
	return nil
}

// pausesInLimit is how much longer than a pause a limit of the first token has to be.
const pausesInLimit = 100

// atMost is n, or the smallest limit below it; 0 is no limit.
func atMost(n int, limits ...int) int {
	for _, limit := range limits {
		if limit > 0 {
			n = min(n, limit)
		}
	}
	return n
}

// share is what the i-th of n gets of a number.
func share(of, n, i int) int {
	if i < of%n {
		return of/n + 1
	}
	return of / n
}

// coresToPin is how many processors there have to be before "auto" keeps some of them for the loops.
const coresToPin = 4

// pinning gives each loop's processor, counted from 1; 0: any. auto takes the last ones, where there are enough for the
// rest.
func pinning(setting string, shards int) ([]int, error) {
	pins := make([]int, shards)
	switch setting {
	case "", "off":
		return pins, nil
	case "auto":
		var set unix.CPUSet
		if err := unix.SchedGetaffinity(0, &set); err != nil || set.Count() < max(coresToPin, 2*shards) {
			return pins, nil
		}
		for cpu, i := len(set)*64-1, 0; cpu >= 0 && i < shards; cpu-- {
			if set.IsSet(cpu) {
				pins[i] = cpu + 1
				i++
			}
		}
		return pins, nil
	}
	fields := strings.Split(setting, ",")
	if len(fields) != shards {
		return nil, fmt.Errorf("--pin-loop %s names %d processors for %d shards", setting, len(fields), shards)
	}
	for i, f := range fields {
		cpu, err := strconv.Atoi(strings.TrimSpace(f))
		if err != nil || cpu < 0 || cpu >= 1024 {
			return nil, fmt.Errorf("--pin-loop %s: %q is no number of a processor", setting, f)
		}
		pins[i] = cpu + 1
	}
	return pins, nil
}

// roomToRun lets as many threads run Go code as there are loops, and two more
// (docs/reference/measurements.md#threads-for-go).
func roomToRun(shards int) {
	if runtime.GOMAXPROCS(0) < shards+2 {
		runtime.GOMAXPROCS(shards + 2)
	}
}

// largestBook bounds the entries of the ledger that are made before the test, in samples; more are made when they are
// needed.
const largestBook = 1 << 18
