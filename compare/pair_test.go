package compare

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/workload/bench"
	workloads "github.com/mlperf-go/mlperf-go/workload/measure"
)

// workloadFolder writes the record and the profile of a run, without an event log.
func workloadFolder(t *testing.T, change func(*bench.Record), profile string) string {
	r := &bench.Record{Schema: bench.Schema, Profile: "chat", Verdict: record.Valid,
		Measured: &workloads.Measured{Total: workloads.Figures{
			Requests:   workloads.Counts{FailureRate: 0.02},
			Throughput: workloads.Throughput{Requests: 50, OutputTokens: 0},
			Latency: map[string]*workloads.Distribution{
				"ttft": {Percentile: map[string]float64{"p50": 0.2}},
				"itl":  {Percentile: map[string]float64{"p50": 0.01}}},
		}}}
	if change != nil {
		change(r)
	}
	text, err := json.Marshal(r)
	require.NoError(t, err)
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, bench.RecordName), text, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(folder, bench.ProfileName), []byte(profile), 0o600))
	return folder
}

func TestWhichWorkloadsAreRanked(t *testing.T) {
	const profile = "seed: 1\n"
	base := workloadFolder(t, nil, profile)
	for name, c := range map[string]struct {
		change  func(*bench.Record)
		profile string
		why     string // regular expression; empty: the pair is ranked
	}{
		"same rules": {nil, profile, ""},
		"INVALID": {func(r *bench.Record) { r.Verdict = record.Invalid }, profile,
			"^a run of chat is INVALID$"},
		"INTERRUPTED": {func(r *bench.Record) { r.Verdict = record.Interrupted }, profile,
			"^a run of chat is INTERRUPTED$"},
		"rehearsal":     {func(r *bench.Record) { r.Rehearsal = "simulator" }, profile, "^only one of them is a rehearsal$"},
		"other profile": {nil, "seed: 2\n", "^the profiles differ: seed 1 and 2$"},
		"bad profile":   {nil, "a: ]", "^their profiles cannot be compared: profile.yaml: "},
	} {
		report, err := Workloads([]string{base, workloadFolder(t, c.change, c.profile)},
			Settings{Percentiles: []float64{50}, Confidence: DefaultConfidence, Gate: true})
		require.NoError(t, err, name)
		require.Len(t, report.Workloads, 1, name)
		p := report.Workloads[0]
		require.Equal(t, c.why == "", p.Ranked, name)
		if c.why != "" {
			require.Len(t, p.Why, 1, name)
			require.Regexp(t, c.why, p.Why[0], name)
			require.Equal(t, "not ranked", p.Figures[0].Why, name)
		} else {
			require.Contains(t, p.Figures[0].Why, "the event log cannot be used: ", name)
		}
		require.Equal(t, NotJudged, p.Figures[0].Verdict, name)
		require.False(t, report.Gate.Passed, "without requests %s has nothing to judge", name)
		require.Empty(t, p.Notes, name)
	}
	report, err := Workloads([]string{base, base}, Settings{Percentiles: []float64{50}, Confidence: DefaultConfidence})
	require.NoError(t, err)
	require.Equal(t, []string{"B is the folder of A, so every figure is compared with itself"}, report.Workloads[0].Notes)
}

func TestFiguresOfAPairOfWorkloads(t *testing.T) {
	read := func(seed uint64, requests float64) *workload {
		r, err := readWorkload(workloadFolder(t, func(r *bench.Record) { r.Measured.Total.Throughput.Requests = requests },
			"seed: 1\n"))
		require.NoError(t, err)
		r.requests = requestsOf(400, requests/50, seed)
		r.requests.Latency["ttft"] = r.requests.Latency["e2e"]
		return r
	}
	b := read(2, 60)
	b.Measured.Total.Latency["e2e"] = &workloads.Distribution{} // only one run has it
	a := read(1, 50)
	a.Measured.Total.PrefixCache = &workloads.PrefixCache{HitRate: .5}
	without := pairOf(a, b, &Settings{Percentiles: []float64{50}, Confidence: DefaultConfidence})
	require.Equal(t, "ttft p50 ms", without.Figures[3].Name, "a hit rate that is not reported is not 0")
	b.Measured.Total.PrefixCache = &workloads.PrefixCache{HitRate: .75}
	p := pairOf(a, b, &Settings{Percentiles: []float64{50}, Confidence: DefaultConfidence})
	require.True(t, p.Ranked)
	var names []string
	for _, f := range p.Figures {
		names = append(names, f.Name)
	}
	require.Equal(t, []string{RequestRate, OutputRate, "failures %", "prefix cache %", "ttft p50 ms", "itl p50 ms"}, names)
	rate, tokens, failures, cache, ttft, itl := p.Figures[0], p.Figures[1], p.Figures[2], p.Figures[3], p.Figures[4],
		p.Figures[5]
	require.Equal(t, []float64{50, 75}, []float64{cache.A, cache.B}, "in percent")
	require.Nil(t, cache.Row)
	require.InDelta(t, 0.2, rate.Change, 1e-12)
	require.NotNil(t, rate.Interval)
	require.Zero(t, tokens.Change, "of a figure that is 0 in the first run")
	require.InDelta(t, 2, failures.A, 1e-12, "in percent")
	require.Nil(t, failures.Row)
	require.Equal(t, NotJudged, failures.Verdict)
	require.InDelta(t, 200, ttft.A, 1e-12, "in milliseconds")
	require.Equal(t, Worse, ttft.Verdict)
	require.Contains(t, itl.Why, "each request has several values of it")
	require.Len(t, p.rows(), 4, "all but the failures")
}

func TestReportOfWorkloadsNeedsRecords(t *testing.T) {
	_, err := Workloads([]string{workloadFolder(t, nil, "seed: 1\n"), t.TempDir()}, Settings{})
	require.ErrorContains(t, err, "no workload's run in ")
}
