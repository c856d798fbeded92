package hostinfo

import (
	"fmt"
	"math"
	"os"
	"runtime/metrics"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/crash"
)

// Process holds what this process used since its Sampler started; maxima count from the start of the process.
type Process struct {
	CPUUserS        float64 `json:"cpu_user_s"`
	CPUSystemS      float64 `json:"cpu_system_s"`
	ChildrenCPUS    float64 `json:"children_cpu_s"` // user and system of children that have ended and were waited for
	RSSMaxBytes     int64   `json:"rss_max_bytes"`
	RSSAnonMaxBytes int64   `json:"rss_anon_max_bytes"` // largest anonymous part of it, seen by the sampler
	ThreadsMax      int     `json:"threads_max"`        // largest number seen by the sampler
	GCPauses        uint64  `json:"gc_pauses"`
	GCPauseMaxS     float64 `json:"gc_pause_max_s"` // upper end of the longest pause's bucket
	OtherPauses     uint64  `json:"other_pauses"`   // stops of all goroutines for other reasons
	OtherPauseMaxS  float64 `json:"other_pause_max_s"`
	// upper end of the bucket: how long goroutines that could run waited
	SchedLatencyP99S float64 `json:"sched_latency_p99_s"`
	SchedLatencyMaxS float64 `json:"sched_latency_max_s"`
	VoluntarySwitch  int64   `json:"voluntary_switches"`
	PreemptiveSwitch int64   `json:"preemptive_switches"`
}

// CPUS is all CPU time: run.json's client.cpu_s.
func (p Process) CPUS() float64 { return p.CPUUserS + p.CPUSystemS + p.ChildrenCPUS }

// Sampler watches this process. Its one goroutine ends with Stop.
type Sampler struct {
	start   usage
	stop    chan struct{}
	stopped chan struct{}
	once    sync.Once

	mu      sync.Mutex
	work    *usage // at Mark; nil: not marked
	threads int
	anon    int64 // bytes
}

// usage is a reading of the counters, which only grow.
type usage struct {
	self, children syscall.Rusage
	rss, anon      int64                                          // largest so far, in bytes
	runtime        [len(runtimeMetrics)]*metrics.Float64Histogram // nil: the runtime of this version of Go lacks it
}

// runtimeMetrics are histograms of the Go runtime, in s.
var runtimeMetrics = [...]string{"/sched/pauses/total/gc:seconds", "/sched/pauses/total/other:seconds",
	"/sched/latencies:seconds"}

// StartSampler starts to sample this process: threads and memory once every interval.
func StartSampler(interval time.Duration) (*Sampler, error) {
	start, err := readUsage()
	if err != nil {
		return nil, err
	}
	s := &Sampler{start: start, stop: make(chan struct{}), stopped: make(chan struct{})}
	s.sample()
	go s.loop(interval)
	return s, nil
}

func (s *Sampler) loop(interval time.Duration) {
	defer crash.Catch()
	defer close(s.stopped)
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-tick.C:
			s.sample()
		}
	}
}

func (s *Sampler) sample() {
	status := read("/", "proc/self/status")
	n, err := strconv.Atoi(value(status, "Threads", ":"))
	if err != nil {
		return // no /proc: the counts stay unknown
	}
	s.mu.Lock()
	s.threads, s.anon = max(s.threads, n), max(s.anon, kibibytes(value(status, "RssAnon", ":")))
	s.mu.Unlock()
}

// Mark ends the work whose CPU time and memory count: those of Read end with the last Mark. Without one they end with
// Read.
func (s *Sampler) Mark() {
	now := &usage{}
	if err := now.readTimes(); err != nil {
		return // Read reports the same error
	}
	s.mu.Lock()
	now.anon = s.anon
	s.work = now
	s.mu.Unlock()
}

// Read returns the figures so far.
func (s *Sampler) Read() (Process, error) {
	s.sample()
	now, err := readUsage()
	if err != nil {
		return Process{}, err
	}
	s.mu.Lock()
	now.anon = s.anon
	threads, work := s.threads, s.work
	s.mu.Unlock()
	if work == nil {
		work = &now
	}
	p := Process{
		CPUUserS:   since(work.self.Utime, s.start.self.Utime),
		CPUSystemS: since(work.self.Stime, s.start.self.Stime),
		ChildrenCPUS: since(work.children.Utime, s.start.children.Utime) + since(work.children.Stime,
			s.start.children.Stime),
		RSSMaxBytes:      work.rss,
		RSSAnonMaxBytes:  work.anon,
		ThreadsMax:       threads,
		VoluntarySwitch:  now.self.Nvcsw - s.start.self.Nvcsw,
		PreemptiveSwitch: now.self.Nivcsw - s.start.self.Nivcsw,
	}
	gc, other, latency := grown(now.runtime[0], s.start.runtime[0]), grown(now.runtime[1], s.start.runtime[1]),
		grown(now.runtime[2], s.start.runtime[2])
	p.GCPauses, p.GCPauseMaxS = gc.count(), gc.quantile(1)
	p.OtherPauses, p.OtherPauseMaxS = other.count(), other.quantile(1)
	p.SchedLatencyP99S, p.SchedLatencyMaxS = latency.quantile(.99), latency.quantile(1)
	return p, nil
}

// peakRSS returns the largest resident size of this process since its exec, in bytes. Without /proc it falls back to
// the kernel's resource usage, which includes the parent's size before the exec.
func peakRSS(u syscall.Rusage) int64 {
	if n := kibibytes(value(read("/", "proc/self/status"), "VmHWM", ":")); n > 0 {
		return n
	}
	return u.Maxrss << 10
}

// Stop ends the sampler and returns the last figures. It may be called more than once.
func (s *Sampler) Stop() (Process, error) {
	s.once.Do(func() { close(s.stop) })
	<-s.stopped
	return s.Read()
}

// readTimes reads what the operating system counts, except the anonymous memory, which only samples show.
func (u *usage) readTimes() error {
	for who, into := range map[int]*syscall.Rusage{syscall.RUSAGE_SELF: &u.self, syscall.RUSAGE_CHILDREN: &u.children} {
		if err := syscall.Getrusage(who, into); err != nil {
			return fmt.Errorf("reading the resource usage of process %d: %w", os.Getpid(), err)
		}
	}
	u.rss = peakRSS(u.self)
	return nil
}

func readUsage() (usage, error) {
	var u usage
	if err := u.readTimes(); err != nil {
		return usage{}, err
	}
	reading := make([]metrics.Sample, len(runtimeMetrics))
	for i, name := range runtimeMetrics {
		reading[i].Name = name
	}
	metrics.Read(reading)
	for i := range reading {
		if reading[i].Value.Kind() == metrics.KindFloat64Histogram {
			u.runtime[i] = reading[i].Value.Float64Histogram()
		}
	}
	return u, nil
}

func since(now, start syscall.Timeval) float64 {
	return float64(now.Nano()-start.Nano()) / 1e9
}

// growth holds the counts that a histogram gained between two readings.
type growth struct {
	counts []uint64
	bounds []float64 // one more than counts
}

func grown(now, start *metrics.Float64Histogram) growth {
	if now == nil || start == nil || len(now.Counts) != len(start.Counts) {
		return growth{}
	}
	g := growth{counts: make([]uint64, len(now.Counts)), bounds: now.Buckets}
	for i, n := range now.Counts {
		g.counts[i] = n - start.Counts[i]
	}
	return g
}

func (g growth) count() uint64 {
	total := uint64(0)
	for _, n := range g.counts {
		total += n
	}
	return total
}

// quantile returns the upper end of the bucket that contains quantile p; 0 without values.
func (g growth) quantile(p float64) float64 {
	total := g.count()
	if total == 0 {
		return 0
	}
	want, seen := uint64(math.Ceil(p*float64(total))), uint64(0)
	for i, n := range g.counts {
		if seen += n; seen >= want {
			// The last bucket extends to infinity, which JSON cannot represent: use its lower end.
			return g.bounds[min(i+1, len(g.bounds)-2)]
		}
	}
	return 0
}
