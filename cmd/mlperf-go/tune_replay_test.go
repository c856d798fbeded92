package main

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/schedule"
	"github.com/mlperf-go/mlperf-go/ledger"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/tune"
)

// The endpoint dies during a tune and returns later. The tune reports that it waits, discards the broken step, and
// continues. Afterwards the recorded latencies, replayed in virtual time, lead to the same decisions and the same
// steps.
func TestATuneWaitsForItsEndpoint(t *testing.T) {
	t.Parallel()
	d := newUnserved(t)
	url, server := d.serve()
	d.url = url
	p := d.tune()
	d.steps(p, 3)
	require.NoError(t, server.Process.Kill())
	p.until("the tune to wait", faultWait, func() bool {
		return strings.Contains(p.stderr.String(), "waiting for "+url) || p.isOver()
	})
	measured := len(d.probes())
	time.Sleep(3 * time.Second) // the tune would wait ten minutes
	require.False(t, p.isOver(), "%s", p.stderr.String())
	require.Len(t, d.probes(), measured, "it measures nothing meanwhile")
	d.serve("--listen", strings.TrimPrefix(url, "http://"))
	require.Contains(t, []int{0, run.ExitInvalid}, p.end(faultWait), "%s", p.stderr.String())
	require.Contains(t, p.stderr.String(), "this probe does not count, and is repeated")

	s, err := tune.ReadState(d.folder)
	require.NoError(t, err)
	require.NotNil(t, s.Result)
	require.True(t, slices.ContainsFunc(s.Probes, func(p tune.Probe) bool { return p.Spoiled != "" }))
	d.replay(s)
}

// replay repeats a tune in virtual time, with its measurements and, for each probe at a rate, the latencies in its
// folder.
func (d *tuned) replay(s *tune.State) {
	d.t.Helper()
	search, rates, sent := tune.NewSearch(&s.Goal, nil), 0, d.sentByRun(s) // nothing limits the time per token
	for i := range s.Probes {
		p := &s.Probes[i]
		if p.Spoiled != "" {
			continue
		}
		step := search.Next()
		require.Equal(d.t, p.Kind, step.Kind)
		require.Equal(d.t, p.Rate, step.Rate)
		require.Equal(d.t, p.Concurrency, step.Concurrency)
		if p.Kind == tune.Rate {
			rates++
			decision, counts := d.judge(&s.Goal, step, filepath.Join(d.folder, p.Folder, record.RequestsName), sent)
			require.Equal(d.t, p.Decision, decision, "at %v queries per second", p.Rate)
			for k := range counts {
				require.InDelta(d.t, p.Counts[k].Late, counts[k].Late, 1, "a latency of the limit itself")
				require.Equal(d.t, p.Counts[k].Queries, counts[k].Queries)
			}
		}
		search.Observe(p.Measured)
	}
	require.Positive(d.t, rates)
	require.Equal(d.t, tune.Finished, search.Next().Kind)
	require.Equal(d.t, s.Result.TargetQPS, search.Outcome().Rate)
	require.Equal(d.t, s.Result.Confirmed, search.Outcome().Confirmed)
}

// sentByRun returns the samples that LoadGen sent in the last complete confirming run, by query.
func (d *tuned) sentByRun(s *tune.State) map[int]int32 {
	d.t.Helper()
	sent := map[int]int32{}
	for i := range s.Probes {
		if p := &s.Probes[i]; p.Kind == tune.Confirm && p.Spoiled == "" {
			data, err := ledger.ReadRequests(filepath.Join(d.folder, p.Folder, record.RequestsName))
			require.NoError(d.t, err)
			for k := range data.Entries {
				sent[int(data.Entries[k].Seq)] = data.Entries[k].Index
			}
		}
	}
	return sent
}

// judge decides a probe by its recorded latencies, in the order in which the answers ended. The probe sent what LoadGen
// sends, at LoadGen's times.
func (d *tuned) judge(g *tune.Goal, step tune.Step, path string, sent map[int]int32) (tune.Decision, []tune.Count) {
	d.t.Helper()
	data, err := ledger.ReadRequests(path)
	require.NoError(d.t, err)
	arrivals := tune.Hardest(schedule.ServerDeltas(g.Load.Seed, step.Rate, g.Queries(step.Rate)), int64(step.Answer),
		step.Queries)
	require.Len(d.t, data.Schedule, len(arrivals))
	for i := range data.Entries {
		e := &data.Entries[i]
		a := arrivals[e.Seq]
		require.Equal(d.t, a.AtNS, data.Schedule[e.Seq]-data.Schedule[0])
		if index, ok := sent[a.Query]; ok {
			require.Equal(d.t, index, e.Index, "query %d", a.Query)
		}
	}
	meter := tune.NewMeter(g, step.Rate, arrivals)
	slices.SortFunc(data.Entries, func(a, b ledger.Entry) int { return cmp.Compare(a.DoneNS, b.DoneNS) })
	decision := tune.Neither
	for i := range data.Entries {
		e := &data.Entries[i]
		due := data.T0NS + data.Schedule[e.Seq]
		values := []time.Duration{time.Duration(e.FirstTokenNS - due),
			time.Duration(e.DoneNS-e.FirstTokenNS) / time.Duration(max(int(e.OutputTokens)-1, 1))}
		meter.Ended(int(e.Seq), values[:len(g.Limits)])
		if decision == tune.Neither {
			decision = meter.Decide()
		}
	}
	return meter.Final(decision), meter.Counts()
}
