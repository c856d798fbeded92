package search

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/schema"
	"github.com/mlperf-go/mlperf-go/schema/schematest"
	"github.com/mlperf-go/mlperf-go/workload/bench"
	"github.com/mlperf-go/mlperf-go/workload/measure"
	"github.com/mlperf-go/mlperf-go/workload/profile"
)

// quiet is an observer that counts.
type quiet struct{ begun, measured int }

func (q *quiet) Begins(*State, Step)     { q.begun++ }
func (q *quiet) Measured(*State, *Probe) { q.measured++ }

// searchOf returns options whose runs are computed: a server meets the limit up to 50 requests/s.
func searchOf(t *testing.T) Options {
	limits, err := measure.ParseLimits("ttft:p99<1s")
	require.NoError(t, err)
	return Options{Profile: chat(profile.Stage{Arrival: profile.Poisson, Rate: 20, Duration: time.Second}),
		Limits: limits, Terms: Defaults(), Folder: filepath.Join(t.TempDir(), "out"), Observer: &quiet{},
		Measure: func(_ context.Context, p *profile.Profile, _ string) (*bench.Record, error) {
			s := p.Load.Stages[0]
			n := int64(s.Rate * s.Duration.Seconds())
			g := &measure.Goodput{Requests: n, Met: s.Rate <= 50, Limits: []measure.Attainment{{Limit: limits[0]}}}
			if g.Met {
				g.Limits[0].Good = n
			}
			r := &bench.Record{Verdict: record.Valid, Model: "m", Measured: &measure.Measured{}}
			r.Measured.Total.Goodput = g
			return r, nil
		}}
}

func status(t *testing.T, err error) int {
	var e *exit.Error
	require.ErrorAs(t, err, &e)
	return e.Exit
}

// TestRunAndResume ends a search after each measurement once, continues it, and gets the result of an undisturbed one.
func TestRunAndResume(t *testing.T) {
	whole := searchOf(t)
	want, err := Run(t.Context(), whole)
	require.NoError(t, err)
	require.True(t, want.Result.Confirmed)
	require.InEpsilon(t, 50, want.Result.Load, 0.02)
	require.LessOrEqual(t, want.Result.Load, 50.0)
	require.Equal(t, &quiet{len(want.Probes), len(want.Probes)}, whole.Observer)

	cut := searchOf(t)
	died := errors.New("killed")
	one := cut.Measure
	for n := range want.Probes {
		left := 1
		cut.Measure = func(ctx context.Context, p *profile.Profile, folder string) (*bench.Record, error) {
			if left--; left < 0 {
				return nil, died
			}
			return one(ctx, p, folder)
		}
		got, err := Run(t.Context(), cut)
		if cut.Resume = true; n < len(want.Probes)-1 {
			require.ErrorIs(t, err, died)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, want.Result, got.Result)
		require.Len(t, got.Probes, len(want.Probes))
	}

	text, err := os.ReadFile(filepath.Join(cut.Folder, FileName))
	require.NoError(t, err)
	form, err := schematest.Compile("search.schema.json", schema.Search)
	require.NoError(t, err)
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(t, err)
	require.NoError(t, form.Validate(value))
	table, err := os.ReadFile(filepath.Join(cut.Folder, TableName))
	require.NoError(t, err)
	require.Contains(t, string(table), "confirmed by a valid run")
	require.FileExists(t, filepath.Join(cut.Folder, PlotName))
	read, err := ReadState(cut.Folder)
	require.NoError(t, err)
	require.Equal(t, want.Result, read.Result)

	cut.Resume = false
	_, err = Run(t.Context(), cut)
	require.ErrorContains(t, err, "holds an earlier search")
	require.Equal(t, exit.StatusUsage, status(t, err))
	cut.Resume, cut.Terms.Precision = true, 0.5
	_, err = Run(t.Context(), cut)
	require.ErrorContains(t, err, "had other settings")
}

// TestBudget ends a search that needs more time, and continues it with a larger budget.
func TestBudget(t *testing.T) {
	o := searchOf(t)
	o.Terms.Budget = time.Second
	s, err := Run(t.Context(), o)
	require.NoError(t, err)
	require.False(t, s.Result.Confirmed)
	require.Contains(t, s.Sentence(), "no load was confirmed: the budget of 1s is used up")
	o.Terms.Budget, o.Resume = 0, true
	s, err = Run(t.Context(), o)
	require.NoError(t, err)
	require.True(t, s.Result.Confirmed)
}

// TestRejects what no search can measure, before anything is sent.
func TestRejects(t *testing.T) {
	for want, change := range map[string]func(*Options){
		"a search needs at least one limit": func(o *Options) { o.Limits = nil },
		"expected two loads between":        func(o *Options) { o.Terms.From, o.Terms.To = 2, 1 },
		"expected a second to a day":        func(o *Options) { o.Terms.Probe = 0 },
		"the confidence 1 is not between":   func(o *Options) { o.Terms.Confidence = 1 },
		"the precision 0 is not between":    func(o *Options) { o.Terms.Precision = 0 },
		"the budget -1ns is negative":       func(o *Options) { o.Terms.Budget = -1 },
		`arrival "burst"`: func(o *Options) {
			o.Profile = chat(profile.Stage{Arrival: profile.Burst, Requests: 5})
		},
		"it is as long as stage 0": func(o *Options) { o.Profile.Load.Warmup.Duration = time.Hour },
	} {
		o := searchOf(t)
		change(&o)
		err := o.Check()
		require.ErrorContains(t, err, want)
		require.Equal(t, exit.StatusUsage, status(t, err), want)
	}
}

// TestTake reads the counts of a run. Failures are misses; what spoils a run otherwise makes it count for nothing.
func TestTake(t *testing.T) {
	limit := measure.Limit{Metric: "ttft", Percent: 99, Below: time.Second}
	for name, c := range map[string]struct {
		code           record.Code
		met            bool
		broken, client bool
	}{"valid": {met: true}, "failures": {code: record.CodeFailedSamples},
		"slow":  {code: record.CodeClientLag, client: true},
		"clock": {code: record.CodeClockStep, broken: true}} {
		t.Run(name, func(t *testing.T) {
			r := &bench.Record{Verdict: record.Valid, Measured: &measure.Measured{}}
			r.Measured.Total.Goodput = &measure.Goodput{Requests: 100, Met: true,
				Limits: []measure.Attainment{{Limit: limit, Good: 99}}}
			if c.code != "" {
				r.Verdict, r.Reasons = record.Invalid, []record.Cause{{Code: c.code, Text: "x"}}
			}
			p := &Probe{Missed: []int64{0}}
			p.take(r)
			require.Equal(t, []int64{1}, p.Missed)
			require.Equal(t, [3]bool{c.met, c.broken, c.client}, [3]bool{p.Met, p.Broken, p.Client})
		})
	}
}

// FuzzState reads foreign texts as search.json.
func FuzzState(f *testing.F) {
	f.Add([]byte(`{"schema":"mlperf-go/search/1","load":"rate","terms":{"from":1,"to":2,"probe_ns":1000000000,` +
		`"confirm_ns":1000000000,"confidence":0.9,"precision":0.1},"limits":[{}],"probes":[{"load":1,"missed":[1]}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := stateFile.Parse(text)
		if err != nil {
			return
		}
		require.NoError(t, s.WriteTable(t.Output()))
		s.Next()
	})
}
