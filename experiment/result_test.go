package experiment

import (
	"bytes"
	"encoding/json"
	"math"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/ledger"
	"github.com/mlperf-go/mlperf-go/metrics/exposition"
	"github.com/mlperf-go/mlperf-go/metrics/series"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/schema"
	"github.com/mlperf-go/mlperf-go/schema/schematest"
)

// measured returns a state with the given samples/s: one row for each round, one column for each arrangement. NaN: the
// server failed.
func measured(of Of, list []Arrangement, rates ...[]float64) *State {
	s := &State{Schema: Schema, Kind: "experiment", Experiment: of, Model: "m", Settings: []string{}, Samples: 10,
		Repeats: len(rates), Arrangements: list, Replicas: []string{"http://a", "http://b"}, Rehearsal: []string{},
		Notes: []string{}}
	for round, row := range rates {
		for a, rate := range row {
			t := Trial{Round: round, Arrangement: a, Folder: "trials/x", Spoiled: []record.Cause{},
				Figures: Figures{SamplesPerS: rate, Replicas: []Replica{{Samples: 4}, {Samples: 6, IdleTailS: 1}}}}
			if math.IsNaN(rate) {
				t.SamplesPerS = 0
				t.Spoiled = append(t.Spoiled, record.Cause{Code: record.CodeFailedSamples, Text: "3 failed\x1b[31m"})
			}
			s.Trials = append(s.Trials, t)
		}
	}
	s.finish()
	return s
}

// The interval is Student's: of 1, 2, 3 it is 2 ± 4.303/√3.
func TestInterval(t *testing.T) {
	i := interval([]float64{1, 2, 3})
	require.InDelta(t, 2, i.Mean, 1e-12)
	require.InDelta(t, 2-4.303/math.Sqrt(3), i.Low, 1e-9)
	require.Equal(t, &Interval{5, 5, 5}, interval([]float64{5}))
	require.Nil(t, interval(nil))
	require.NotNil(t, interval(make([]float64, 100)))
}

func TestAdvice(t *testing.T) {
	three := []Arrangement{{How: AllAtOnce}, {Window, 64}, {Batch, 64}}
	nan := math.NaN()
	for _, c := range []struct {
		rates [][]float64
		want  string
	}{
		{[][]float64{{100, 112, 90}, {101, 113, 91}, {102, 114.5, 92}},
			"Send samples with 64 in flight: +12.0 % (95 %: +11.6 to +12.5 %) samples/s against all at once."},
		{[][]float64{{100, 99, 90}, {101, 100, 91}, {102, 101.1, 92}},
			"Send all samples at once: no other arrangement was faster (the next, window of 64: " +
				"-1.0 % (95 %: -1.1 to -0.8 %) samples/s)."},
		{[][]float64{{100, 120, 90}, {101, 85, 91}, {102, 105, 92}},
			"Send all samples at once: the fastest, window of 64, is not measurably faster " +
				"(+2.4 % (95 %: -42.2 to +46.9 %) samples/s)."},
		{[][]float64{{100, 120, 90}}, "One pass is not enough: repeat it (the fastest was window of 64, with 120 " +
			"samples/s)."},
		{[][]float64{{nan, 120, 90}, {nan, 121, 91}}, "Send samples with 64 in flight: all at once could not be measured."},
		{[][]float64{{nan, nan, nan}}, "No arrangement could be measured."},
	} {
		s := measured(OfflineBatching, three, c.rates...)
		require.Equal(t, c.want, s.Result.Advice)
		validate(t, s)
	}
	s := measured(OfflineBatching, three, []float64{100, 112, 90}, []float64{101, 113, 91})
	many := 40.0
	for i := range s.Trials {
		s.Trials[i].Preemptions = &many
	}
	s.finish()
	require.Contains(t, s.Result.Advice, "against all at once, with which the server preempted 40 requests in each pass.")
}

// validate checks a state against its schema, reads it again, and writes every view.
func validate(t *testing.T, s *State) {
	t.Helper()
	form, err := schematest.Compile("experiment.schema.json", schema.Experiment)
	require.NoError(t, err)
	text, err := json.Marshal(s)
	require.NoError(t, err)
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(t, err)
	require.NoError(t, form.Validate(v))
	back, err := stateFile.Parse(text)
	require.NoError(t, err)
	require.Equal(t, s.Trials, back.Trials)
	var table, svg bytes.Buffer
	require.NoError(t, s.WriteTable(&table))
	require.NoError(t, s.WritePlot(&svg))
	require.Contains(t, table.String(), s.Result.Advice)
	require.NotContains(t, table.String(), "\x1b", "a server's text is quoted")
}

func TestReplicasInTheTable(t *testing.T) {
	s := measured(Partition, Partitions(8), []float64{1, 2, 3, 4}, []float64{1, 2, 3, 4})
	validate(t, s)
	var table bytes.Buffer
	require.NoError(t, s.WriteTable(&table))
	require.Regexp(t, `(?m)^work stealing +2 +6 +0 +1$`, table.String())
}

// A resumed experiment repeats trials that do not count, in the first process's order.
func TestContinues(t *testing.T) {
	three := []Arrangement{{How: AllAtOnce}, {Window, 64}, {Batch, 64}}
	whole := &State{Arrangements: three, Repeats: 4, Seed: 3}
	type place struct{ round, arrangement int }
	var order []place
	for {
		round, a, more := whole.next()
		if !more {
			break
		}
		order = append(order, place{round, a})
		whole.Trials = append(whole.Trials, Trial{Round: round, Arrangement: a})
	}
	require.Len(t, order, 12)
	require.NotEqual(t, [][]int{whole.order(0), whole.order(0), whole.order(0)},
		[][]int{whole.order(1), whole.order(2), whole.order(3)}, "the order changes from round to round")

	again := &State{Arrangements: three, Repeats: 4, Seed: 3}
	before := &State{Trials: append(whole.Trials[:5:5], Trial{Round: 1, Arrangement: order[5].arrangement,
		Spoiled: []record.Cause{{Code: record.CodeClientLag}}})}
	again.continues(before)
	require.Len(t, again.Trials, 5)
	round, a, _ := again.next()
	require.Equal(t, order[5], place{round, a})

	again.Trials = append(again.Trials, Trial{Round: 1, Arrangement: a,
		Spoiled: []record.Cause{{Code: record.CodeFailedSamples}}})
	for {
		_, next, more := again.next()
		if !more {
			break
		}
		require.NotEqual(t, a, next, "a server failed at it")
		again.Trials = append(again.Trials, Trial{Round: len(again.Trials) / 3, Arrangement: next})
		if len(again.Trials) > 20 {
			break
		}
	}
}

// The idle tail: 10 answers a second of 10 tokens, and one straggler 3 s after them.
func TestFigures(t *testing.T) {
	const s = int64(1_000_000_000)
	start := 1000 * s
	var entries []ledger.Entry
	for i := range 100 {
		entries = append(entries, ledger.Entry{Index: int32(i), Endpoint: int16(i % 2), OutputTokens: 10, InputTokens: 2,
			IssuedNS: start, DoneNS: start + int64(i+1)*s/10})
	}
	f := measure(entries, 2)
	require.InDelta(t, 10, f.SamplesPerS, 1e-9)
	require.InDelta(t, 100, f.OutputTokensPerS, 1e-9)
	require.InDelta(t, 0, f.TailS, 1e-9)
	require.Equal(t, Replica{Samples: 50, InputTokens: 100, OutputTokens: 500, IdleTailS: 0.1}, f.Replicas[0])
	entries[99].DoneNS += 3 * s
	f = measure(entries, 2)
	require.InDelta(t, 3, f.TailS, 1e-9)
	require.InDelta(t, 3.1, f.Replicas[0].IdleTailS, 1e-9)
	require.Zero(t, measure(nil, 1).SamplesPerS)
	require.Zero(t, measure(entries[:1], 1).TailS)

	_, _, ok := missent(entries, 100)
	require.True(t, ok)
	entries[5].Index = 4
	index, times, ok := missent(entries, 100)
	require.False(t, ok)
	require.Equal(t, [2]int{4, 2}, [2]int{index, times})
}

// A folder may contain any experiment.json: it is read or rejected.
func FuzzState(f *testing.F) {
	for _, s := range []*State{
		measured(OfflineBatching, Batching([]int{4, 2}, []int{8}), []float64{1, 2, 3, 4, 5}),
		measured(Partition, Partitions(8), []float64{1, math.NaN(), 3, 4}, []float64{1, 2, 3, 4}),
	} {
		text, err := json.Marshal(s)
		require.NoError(f, err)
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := stateFile.Parse(text)
		if err != nil {
			return
		}
		_, _, _ = s.next()
		s.finish()
		var out bytes.Buffer
		require.NoError(t, s.WriteTable(&out))
		require.NoError(t, s.WritePlot(&out))
	})
}

// A pass with too few readings of a server's metrics has no figures of the server, because they would look like those
// of an idle server.
func TestFewReadingsHaveNoFigures(t *testing.T) {
	const name = "vllm:kv_cache_usage_perc"
	for n := 1; n <= leastReadings; n++ {
		set := &series.Set{Header: series.Header{IntervalS: 1}, Scrapes: []series.Scrapes{{}},
			Series: []*series.Series{{Series: exposition.Series{Name: name}}}}
		for i := range n {
			set.Scrapes[0].TimesS = append(set.Scrapes[0].TimesS, float64(i))
			set.Series[0].Values = append(set.Series[0].Values, 0.5)
		}
		var f Figures
		require.Equal(t, n == leastReadings, f.serve(set), "%d readings", n)
		require.Equal(t, n == leastReadings, f.KVCacheMax != nil, "%d readings", n)
	}
}
