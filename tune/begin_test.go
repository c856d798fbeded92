//go:build cgo && !noloadgen

package tune

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	_ "github.com/mlperf-go/mlperf-go/backends/openai" // registers the protocols
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/plan"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/run/rehearse"
	"github.com/mlperf-go/mlperf-go/run/runtest"
	"github.com/mlperf-go/mlperf-go/sim"
)

// A tune continues with the same terms alone, keeps what counts, and ends at its budget or with a signal. LoadGen reads
// one configuration per process, so no other test of this package opens a client.
func TestATuneContinues(t *testing.T) {
	server, _ := runtest.Simulate(t, 2*time.Millisecond, time.Millisecond)
	front := newSlowFront(t, server)
	tn := confirming(t, plan.Settings{"endpoint": front.url, "served-model": sim.DefaultConfig().Model, "max-tokens": "8"})
	tn.Observer = silent{}
	rehearsal, err := rehearse.Start(t.Context(), tn.Plan, rehearse.Options{Folder: tn.Folder})
	require.NoError(t, err)
	defer rehearsal.Stop()
	require.NoError(t, tn.suggest())
	client, err := run.OpenProbes(t.Context(), run.FromPlan(tn.Plan), tn.Observer, tn.Folder)
	require.NoError(t, err)
	defer func() { require.NoError(t, client.Close()) }()

	require.NoError(t, tn.begin(client, nil))
	require.Equal(t, []Limit{{TTFT, time.Second}}, tn.state.Goal.Limits)
	require.Equal(t, Idle, tn.search.Next().Kind)
	require.Zero(t, tn.bench.(*bench).next)
	begun := *tn.state
	before := func() *State {
		s := begun
		s.Started, s.SpentS = time.Unix(5, 0), 7
		one := []float64{1e-3}
		s.Probes = []Probe{{Measured: Measured{Kind: Idle, Counts: make([]Count, 1), Medians: one, Tails: one, Answer: 3}},
			{Measured: Measured{Kind: Idle, Answer: 9}, Spoiled: "by a step of the clock"}}
		return &s
	}
	require.NoError(t, tn.begin(client, before()))
	require.Equal(t, []any{time.Unix(5, 0), 7.0, 2}, []any{tn.state.Started, tn.state.SpentS, len(tn.state.Probes)})
	require.Equal(t, 1, tn.search.count(Idle), "a spoiled probe counts for nothing")
	require.Equal(t, time.Duration(3), tn.search.last(Idle).Answer)
	require.Equal(t, 2*samplesOfProbe, tn.bench.(*bench).next)
	for name, change := range map[string]func(s *State){
		"--model=x": func(s *State) { s.Model = "x" }, "--scenario=x": func(s *State) { s.Scenario = "x" },
		"--a=b":            func(s *State) { s.Settings = []string{"--a=b"} },
		"--confidence=0.6": func(s *State) { s.Goal.Confidence = 0.6 },
	} {
		s := before()
		change(s)
		err := tn.begin(client, s)
		require.Equal(t, exit.CodeTuneChanged, exit.Classify(err).Code, name)
		require.ErrorContains(t, err, name)
	}

	p, err := tn.step(t.Context(), Step{Kind: Idle, Concurrency: 1, Queries: 3})
	require.NoError(t, err)
	require.Positive(t, p.Answer)
	require.Positive(t, p.Took)
	require.Equal(t, filepath.Join("probes", "001"), p.Folder)
	for _, name := range []string{ProbeName, record.RequestsName} {
		require.FileExists(t, filepath.Join(tn.Folder, p.Folder, name))
	}

	front.failing.Store(true)
	p, err = tn.step(t.Context(), Step{Kind: Saturate, Concurrency: 8, Queries: 100})
	require.NoError(t, err)
	require.Contains(t, p.Spoiled, "the first failure: http_500", "a failed query ends the step")
	require.Equal(t, []int64{1, 0}, []int64{front.failed.Load(), front.open.Load()}, "those in flight were "+
		"answered, so that the next step finds the server idle")
	require.Greater(t, front.most.Load(), int64(1))
	front.failing.Store(false)

	stopped := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stopped)
	require.ErrorIs(t, tn.run(ctx, client, nil), stopped)
	_, err = tn.step(ctx, Step{Kind: Idle, Concurrency: 1, Queries: 3})
	require.ErrorIs(t, err, stopped)
	tn.Budget = 7 * time.Second
	require.NoError(t, tn.run(t.Context(), client, before()))
	require.Contains(t, tn.state.Result.Why, "the budget of 7s is over")
	unconfirmed := before()
	unconfirmed.Result = &Result{TargetQPS: 3}
	require.NoError(t, tn.run(t.Context(), client, unconfirmed))
	require.Contains(t, tn.state.Result.Why, "the budget of 7s is over", "an unconfirmed tune goes on")
	confirmed := before()
	confirmed.Result = &Result{TargetQPS: 3, Confirmed: true}
	told := &repeats{}
	tn.Observer = told
	require.NoError(t, tn.run(t.Context(), client, confirmed))
	require.Contains(t, tn.state.Result.Why, "the budget of 7s is over", "a confirmed one goes on without its run")
	require.Equal(t, []string{"tune.json has no valid run that confirmed the rate"}, told.whys)
	require.NoError(t, tn.run(t.Context(), client, before()))
	written, err := ReadState(tn.Folder)
	require.NoError(t, err)
	require.Equal(t, tn.state.Result, written.Result)
	require.FileExists(t, filepath.Join(tn.Folder, PlotName))
}

// repeats is an observer that keeps why steps do not count.
type repeats struct {
	silent
	whys []string
}

func (r *repeats) Repeats(why string) { r.whys = append(r.whys, why) }

// slowFront forwards requests to a server. While failing, it fails the first completion at once, and keeps the others
// for a while.
type slowFront struct {
	url                string
	failing            atomic.Bool
	failed, open, most atomic.Int64 // requests that failed, and those that are kept, now and at most
}

func newSlowFront(t *testing.T, to string) *slowFront {
	t.Helper()
	target, err := url.Parse(to)
	require.NoError(t, err)
	f, proxy := &slowFront{}, httputil.NewSingleHostReverseProxy(target)
	proxy.FlushInterval = -1
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if f.failing.Load() && strings.Contains(r.URL.Path, "completions") {
			if f.failed.CompareAndSwap(0, 1) {
				http.Error(w, "out of memory", http.StatusInternalServerError)
				return
			}
			f.most.Store(max(f.most.Load(), f.open.Add(1)))
			time.Sleep(time.Second)
			f.open.Add(-1) // before the answer
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	f.url = server.URL
	return f
}
