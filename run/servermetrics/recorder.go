package servermetrics

import (
	"context"
	"sync"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/metrics/scrape"
	"github.com/mlperf-go/mlperf-go/run/record"
)

// Recorder records metrics pages beside a test. Its failures are notes of the record: they never change a verdict. A
// nil Recorder records nothing.
type Recorder struct {
	Access   atomicfile.Access
	Path     string // of the file
	Targets  []scrape.Target
	Interval time.Duration

	collector *scrape.Collector // nil: not running
	failed    error             // why it is not running

	mu   sync.Mutex
	seen []Signals // since the last Take
}

// Signals are the figures of one metrics page at one reading.
type Signals struct {
	Number int // of the page
	Page   string
	At     time.Time
	Values map[string]float64 // by the key of a signal (docs/reference/metrics.md#signals)
}

// mostSeen bounds the readings that wait for the next Take.
const mostSeen = 4096

func (r *Recorder) add(number int, at time.Time, signals map[string]float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.seen) < mostSeen {
		r.seen = append(r.seen, Signals{number, r.Targets[number].Name, at, signals})
	}
}

// Take returns the readings since the last call.
func (r *Recorder) Take() []Signals {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.seen
	r.seen = nil
	return list
}

// Start begins to record, and returns after the first reading of each page.
func (r *Recorder) Start(ctx context.Context) {
	if r != nil {
		r.collector, r.failed = scrape.Start(ctx, scrape.Options{Access: r.Access, Path: r.Path, Targets: r.Targets,
			Interval: r.Interval, Seen: r.add})
	}
}

// Stop ends the recording and returns its summary for the record, which is nil without one, and notes.
func (r *Recorder) Stop() (*record.ServerMetrics, []string) {
	switch {
	case r == nil:
		return nil, nil
	case r.failed != nil:
		return nil, []string{"the servers' metrics were not recorded: " + r.failed.Error()}
	case r.collector == nil:
		return nil, nil
	}
	outcomes, err := r.collector.Stop()
	r.collector = nil
	if err != nil {
		return nil, []string{"the servers' metrics were lost: " + err.Error()}
	}
	return record.ReadServerMetrics(r.Path, outcomes)
}
