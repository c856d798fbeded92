package profile

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
)

func TestParse(t *testing.T) {
	w, err := Parse("100, 50")
	require.NoError(t, err)
	require.Equal(t, Window{Start: 100, Count: 50}, w)
	for _, text := range []string{"", "5", "-1,5", "1,0", "1,2,3", "a,b", "99999999999,1"} {
		_, err := Parse(text)
		require.ErrorContains(t, err, "is not START,COUNT", text)
	}
}

// list is a source with all its queries.
type list struct{ queries []loadgen.Query }

func (l *list) Pop(dst []loadgen.Query) int {
	n := copy(dst, l.queries)
	l.queries = l.queries[n:]
	return n
}

func (l *list) Wait(dst []loadgen.Query, _ time.Duration) (int, bool) {
	n := l.Pop(dst)
	return n, n > 0
}

// server records its requests while its profiler runs. As a backend it answers the last query first.
type server struct {
	mu      sync.Mutex
	on      bool
	seen    []int
	outside []int
	refuse  error
}

func (*server) How() string { return "a test" }

func (s *server) Start(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.on = s.refuse == nil
	return s.refuse
}

func (s *server) Stop(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.on = false
	return nil
}

func (*server) Features() backends.Features { return backends.Features{} }

func (s *server) Serve(ctx context.Context, src loadgen.Source, sink backends.Sink) error {
	for {
		var batch [7]loadgen.Query
		n, open := src.Wait(batch[:], 5*time.Millisecond)
		s.mu.Lock()
		for _, q := range batch[:n] {
			if s.on {
				s.seen = append(s.seen, q.Seq)
			} else {
				s.outside = append(s.outside, q.Seq)
			}
		}
		s.mu.Unlock()
		slices.Reverse(batch[:n])
		for _, q := range batch[:n] {
			o := &backends.Outcome{}
			if ctx.Err() != nil {
				o.Reason = backends.FailCancelled
			}
			sink.Complete(q, o)
		}
		if !open {
			return nil
		}
	}
}

type nowhere struct{ backends.Sink }

func (nowhere) Complete(loadgen.Query, *backends.Outcome) {}

func numbers(from, to int) (list []int) {
	for i := from; i < to; i++ {
		list = append(list, i)
	}
	return list
}

// The queries sent while the profiler runs are exactly those of the window, for every window, with two shards too.
func TestTheWindowIsExact(t *testing.T) {
	const queries = 60
	for _, c := range []struct {
		window Window
		want   []int
		why    string
	}{
		{Window{Start: 0, Count: 1}, numbers(0, 1), ""}, {Window{Start: 0, Count: queries}, numbers(0, queries), ""},
		{Window{Start: 13, Count: 20}, numbers(13, 33), ""},
		{Window{Start: 59, Count: 1}, numbers(59, 60), ""}, {Window{Start: 50, Count: 11}, numbers(50, 60),
			"the test ended after 10 queries"},
		{Window{Start: 60, Count: 5}, nil, ""}, {Window{Start: 61, Count: 5}, nil,
			"the test ended before the window's first query"},
	} {
		s := &server{}
		control := New(c.window, s)
		control.Begin(context.Background())
		var shards sync.WaitGroup
		for shard := range 2 {
			src := &list{}
			for seq := shard; seq < queries; seq += 2 {
				src.queries = append(src.queries, loadgen.Query{Seq: seq})
			}
			shards.Go(func() { _ = control.Wrap(s).Serve(context.Background(), src, nowhere{}) })
		}
		shards.Wait()
		report := control.End()
		slices.Sort(s.seen)
		require.Equal(t, c.want, s.seen, "%v", c.window)
		require.Len(t, s.outside, queries-len(s.seen))
		require.False(t, s.on, "the profiler still runs")
		if c.window.Start < queries {
			require.Equal(t, len(c.want), report.Queries)
			require.NotNil(t, report.Stopped)
		}
		if c.why != "" {
			require.Contains(t, report.Error, c.why)
		}
	}
}

// If a profiler does not start, the test continues.
func TestAProfilerThatRefuses(t *testing.T) {
	s := &server{refuse: errors.New("no such route")}
	control := New(Window{Start: 1, Count: 2}, s)
	control.Begin(context.Background())
	src := &list{queries: []loadgen.Query{{Seq: 0}, {Seq: 1}, {Seq: 2}}}
	require.NoError(t, control.Wrap(s).Serve(context.Background(), src, nowhere{}))
	report := control.End()
	require.Equal(t, "the profiler was not started: no such route", report.Error)
	require.Nil(t, report.Started)
	require.Len(t, s.outside, 3)
}
