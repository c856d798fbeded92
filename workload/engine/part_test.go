package engine

import (
	"context"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/workload/eventlog"
	"github.com/mlperf-go/mlperf-go/workload/profile"
	"github.com/mlperf-go/mlperf-go/workload/prompts"
)

// sent is what a part decides about a request: its number, its stage and when it was due after the stage's start.
type sent struct {
	seq, stage int
	due        time.Duration
}

// runPart runs a part with two loops and returns what it sent.
func runPart(t *testing.T, s *server, p *profile.Profile, part Part) ([]sent, error) {
	path := filepath.Join(t.TempDir(), eventlog.FileName)
	log, err := eventlog.Create(path, eventlog.Header{StartNS: time.Now().UnixNano()})
	require.NoError(t, err)
	d, err := backends.Lookup("openai")
	require.NoError(t, err)
	c := &backends.Config{Endpoints: []backends.Endpoint{{URL: s.URL}},
		RequestOptions: backends.RequestOptions{API: p.API.Kind, ServedModel: "m", Stream: true}}
	encoder, err := NewEncoder(p, d, c)
	require.NoError(t, err)
	src := &list{sessions: make([][]prompts.Call, 1000)}
	for i := range src.sessions {
		src.sessions[i] = []prompts.Call{{}}
	}
	e := &Engine{Profile: p, Source: src, Encoder: encoder, Log: log, Part: part}
	var mu sync.Mutex
	starts := map[int]int64{}
	e.Gate = func(_ context.Context, stage int) (int64, error) {
		mu.Lock()
		defer mu.Unlock()
		starts[stage] = time.Now().Add(30 * time.Millisecond).UnixNano()
		return starts[stage], nil
	}
	for range 2 {
		own := *c
		own.Body = e.Body
		b, err := d.Open(&own)
		require.NoError(t, err)
		e.Backends = append(e.Backends, b)
	}
	_, err = e.Run(t.Context())
	require.NoError(t, log.Close(eventlog.End{Complete: err == nil}))
	if err != nil {
		return nil, err
	}
	var all []sent
	_, err = eventlog.Read(path, func(_ *eventlog.Header, r *eventlog.Request) error {
		all = append(all, sent{r.Seq, r.Stage, time.Duration(r.DueNS - starts[r.Stage])})
		return nil
	})
	return all, err
}

// TestParts sends a workload as one, two and five parts: together they send the same requests at the same times.
func TestParts(t *testing.T) {
	p := profileOf(profile.Stage{Arrival: profile.Poisson, Rate: 400, Requests: 83},
		profile.Stage{Arrival: profile.Constant,
			Rate: 300, Requests: 40})
	s := serve(t, time.Millisecond, nil)
	want, err := runPart(t, s, p, Part{})
	require.NoError(t, err)
	require.Len(t, want, 123)
	bySeq := func(a, b sent) int { return a.seq - b.seq }
	slices.SortFunc(want, bySeq)
	for _, of := range []int{2, 5} {
		var got []sent
		for i := range of {
			some, err := runPart(t, s, p, Part{i, of})
			require.NoError(t, err)
			got = append(got, some...)
		}
		slices.SortFunc(got, bySeq)
		require.Equal(t, want, got)
	}
}

// TestPartsOfUsers divides users and their requests: all requests are sent once, and no more at a time than users.
func TestPartsOfUsers(t *testing.T) {
	p := profileOf(profile.Stage{Arrival: profile.Closed, Concurrency: 5, Requests: 60})
	s := serve(t, 2*time.Millisecond, nil)
	var mu sync.Mutex
	var seqs []int
	var wait sync.WaitGroup
	for i := range 3 {
		wait.Go(func() {
			some, err := runPart(t, s, p, Part{i, 3})
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Error(err)
			}
			for _, r := range some {
				seqs = append(seqs, r.seq)
			}
		})
	}
	wait.Wait()
	slices.Sort(seqs)
	require.Len(t, seqs, 60)
	require.Len(t, slices.Compact(seqs), 60)
	require.LessOrEqual(t, s.most.Load(), int64(5))

	p = profileOf(profile.Stage{Arrival: profile.Closed, Concurrency: 2, Requests: 60})
	_, err := runPart(t, s, p, Part{0, 3})
	require.ErrorContains(t, err, "3 shards cannot divide 2 requests in flight")
	p = profileOf(profile.Stage{Arrival: profile.Sessions, Concurrency: 5, Requests: 60})
	p.Data.Kind = profile.Recorded
	_, err = runPart(t, s, p, Part{0, 3})
	require.ErrorContains(t, err, "cannot be divided between shards")
}
