package wiretest

import (
	"bytes"
	"fmt"
	"sync"
	"syscall"

	"github.com/stretchr/testify/require"

	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"

	"github.com/mlperf-go/mlperf-go/backends"
)

// Result is the outcome of one query, and the calls that reported it.
type Result struct {
	backends.Outcome
	First       []int32 // ids that came with the first token
	FirstCalls  int
	Completions int
	threads     map[int]bool
}

// Recorder is a sink that keeps everything. It is safe for concurrent use.
type Recorder struct {
	mu       sync.Mutex
	Results  map[loadgen.ResponseID]*Result
	Gaps     int
	GapNS    int64 // sum of all gaps
	Attempts []backends.Attempt
	faults   []string
	done     int
}

// NewRecorder returns an empty recorder.
func NewRecorder() *Recorder { return &Recorder{Results: map[loadgen.ResponseID]*Result{}} }

func (r *Recorder) of(q loadgen.Query) *Result {
	if r.Results[q.ID] == nil {
		r.Results[q.ID] = &Result{threads: map[int]bool{}}
	}
	r.Results[q.ID].threads[syscall.Gettid()] = true
	return r.Results[q.ID]
}

// FirstToken implements backends.Sink.
func (r *Recorder) FirstToken(q loadgen.Query, tokens []int32, _ int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	res := r.of(q)
	res.First = append([]int32{}, tokens...)
	if res.FirstCalls++; res.Completions > 0 {
		r.faults = append(r.faults, fmt.Sprintf("first token of %d after its completion", q.ID))
	}
}

// Complete implements backends.Sink.
func (r *Recorder) Complete(q loadgen.Query, o *backends.Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	res := r.of(q)
	res.Outcome = *o
	res.Tokens, res.Text = append([]int32(nil), o.Tokens...), bytes.Clone(o.Text)
	res.Completions++
	r.done++
}

// Tokens implements backends.Sink.
func (r *Recorder) Tokens(_ loadgen.Query, n int, _, gapNS int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if gapNS < 0 || n < 1 {
		r.faults = append(r.faults, fmt.Sprintf("gap of %d ns for %d tokens", gapNS, n))
	}
	r.Gaps++
	r.GapNS += gapNS
}

// Failed implements backends.Sink.
func (r *Recorder) Failed(a backends.Attempt) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Attempts = append(r.Attempts, a)
}

// Failures returns the number of failed attempts so far.
func (r *Recorder) Failures() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.Attempts)
}

// Completed returns the number of completions so far.
func (r *Recorder) Completed() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.done
}

// ExactlyOnce requires that each of n queries was completed once, after its first token, and all on one thread.
func (r *Recorder) ExactlyOnce(t require.TestingT, n int) {
	require.Len(t, r.Results, n)
	threads := map[int]bool{}
	for id, res := range r.Results {
		require.Equal(t, 1, res.Completions, "query %d", id)
		require.LessOrEqual(t, res.FirstCalls, 1, "query %d", id)
		for thread := range res.threads {
			threads[thread] = true
		}
	}
	require.Len(t, threads, min(n, 1), "one OS thread reports everything")
	require.Empty(t, r.faults)
}

// Quiet is a sink that discards everything.
type Quiet struct{}

// FirstToken implements backends.Sink.
func (Quiet) FirstToken(loadgen.Query, []int32, int64) {}

// Complete implements backends.Sink.
func (Quiet) Complete(loadgen.Query, *backends.Outcome) {}

// Tokens implements backends.Sink.
func (Quiet) Tokens(loadgen.Query, int, int64, int64) {}

// Failed implements backends.Sink.
func (Quiet) Failed(backends.Attempt) {}
