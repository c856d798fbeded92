package run

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/internal/plural"
	"github.com/mlperf-go/mlperf-go/ledger"
	"github.com/mlperf-go/mlperf-go/metrics/hostinfo"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/record"
)

func (e *evidence) client(data *ledger.Test, m *ledger.Metrics, process hostinfo.Process,
	drift time.Duration) record.Client {
	c := record.Client{
		IssueLagUS: m.IssueLag.LagUS(), DispatchLagUS: m.DispatchLag.LagUS(), ReportLagUS: m.ReportLag.LagUS(),
		StagesUS: data.Stages(),
		CPUS:     process.CPUS(), CPUUserS: process.CPUUserS, CPUSystemS: process.CPUSystemS,
		ThreadsMax: process.ThreadsMax, RSSMaxBytes: process.RSSMaxBytes, RSSAnonMaxBytes: process.RSSAnonMaxBytes,
		PreemptiveSwitch: process.PreemptiveSwitch,
		GCPauses:         process.GCPauses, GCPauseMaxS: process.GCPauseMaxS,
		OtherPauses: process.OtherPauses, OtherPauseMaxS: process.OtherPauseMaxS,
		SchedLatencyP99S: process.SchedLatencyP99S, SchedLatencyMaxS: process.SchedLatencyMaxS,
		ClockDriftUS: float64(drift.Nanoseconds()) / 1e3, IssueThread: e.thread, RingWakes: e.wakes, RingFullWaits: e.full,
		RequestBytes: e.requests.loaded.Load(), RequestsSpilled: e.requests.library.Spilled(),
		ScratchBytes: e.requests.library.ScratchBytes(),
		Loops:        e.loops(), Exhausted: e.traffic().Exhausted,
	}
	c.IssueLagCounts, c.DispatchLagCounts = data.LagHistograms()
	c.LoopRealtime = len(c.Loops) > 0
	for _, l := range c.Loops {
		c.LoopRealtime = c.LoopRealtime && l.Realtime
	}
	if n := e.ledger.Counts().Issued; n > 0 {
		c.CPUUSPerSample = process.CPUS() * 1e6 / float64(n)
	}
	return c
}

// loops returns the figures of the event loops. An early end leaves a loop running, so it has none.
func (e *evidence) loops() []backends.LoopStats {
	list := []backends.LoopStats{}
	for _, b := range e.backends {
		if loop := b.Features().Loop; loop != nil && e.joined {
			list = append(list, loop())
		}
	}
	return list
}

// openBackends opens one backend per shard. They share the limits that apply to all of them together.
func (e *evidence) openBackends() error {
	c := e.plan.Config
	shards := c.Int("shards")
	if bound := atMost(shards, e.config.Concurrency, e.config.PerEndpoint); bound < shards {
		e.notes = append(e.notes, fmt.Sprintf("%s instead of %d: the requests that may be in flight allow no more",
			plural.Count(bound, "shard", "shards"), shards))
		shards = bound
	}
	pins, err := pinning(c.String("pin-loop"), shards)
	if err != nil {
		return exit.Usage(exit.CodePinLoop,
			"Use off, auto, or as many numbers of processors as there are shards, with commas", "%w", err)
	}
	e.config.CoalesceWakeups = c.Duration("coalesce-wakeups")
	// docs/reference/measurements.md#cost-of-a-pause: a pause delays first tokens by up to its length.
	if limit := c.Duration("ttft-limit"); limit > 0 && limit < pausesInLimit*e.config.CoalesceWakeups {
		e.config.CoalesceWakeups = 0
	}
	for i := range shards {
		own := *e.config
		own.Loops, own.PinLoop = shards, pins[i]
		own.Concurrency, own.PerEndpoint = share(own.Concurrency, shards, i), share(own.PerEndpoint, shards, i)
		b, err := e.driver.Open(&own)
		if err != nil {
			return err
		}
		e.backends = append(e.backends, b)
	}
	return nil
}

// pausesInLimit is how many pauses a limit of the first token must be able to contain.
const pausesInLimit = 100

// atMost returns n, or the smallest limit below it; 0 is no limit.
func atMost(n int, limits ...int) int {
	for _, limit := range limits {
		if limit > 0 {
			n = min(n, limit)
		}
	}
	return n
}

// share returns the i-th of n parts of a number.
func share(of, n, i int) int {
	if i < of%n {
		return of/n + 1
	}
	return of / n
}

// coresToPin is the number of processors from which on "auto" reserves some for the loops.
const coresToPin = 4

// pinning returns each loop's processor, counted from 1; 0: any. auto uses the last ones if enough remain for the
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
			return nil, fmt.Errorf("--pin-loop %s: %q is not the number of a processor", setting, f)
		}
		pins[i] = cpu + 1
	}
	return pins, nil
}

// roomToRun allows two more threads than loops to run Go code (docs/reference/measurements.md#threads-for-go).
func roomToRun(shards int) {
	if runtime.GOMAXPROCS(0) < shards+2 {
		runtime.GOMAXPROCS(shards + 2)
	}
}
