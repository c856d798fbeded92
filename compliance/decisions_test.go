package compliance

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/mllog"
	"github.com/mlperf-go/mlperf-go/models"
)

// auditOf returns the state of a verification of logs in a row's scenario Server.
func auditOf(test string, row *models.Row, asked *Audit) *audit {
	return newAudit(test, Input{Scenario: models.Server, Row: row, Audit: asked})
}

func TestSamplesOfRecords(t *testing.T) {
	row := func(set, server int) *models.Row {
		return &models.Row{DatasetSamples: set, Scenarios: []models.ScenarioRow{{Scenario: models.Offline, Samples: 1},
			{Scenario: models.Server, Samples: server}}}
	}
	for _, c := range []struct {
		row   *models.Row
		asked *Audit
		want  int
	}{{nil, nil, 0}, {row(7, 0), nil, 7}, {row(7, 5), nil, 5}, {row(7, 5), &Audit{Samples: 3}, 3},
		{row(7, 5), &Audit{}, 5}, {nil, &Audit{Samples: 3}, 3}} {
		a := auditOf(Test06, c.row, c.asked)
		require.Equal(t, c.want, a.sampleCount(), c)
		for sample, unknown := range map[int64]bool{int64(c.want) - 1: false, int64(c.want): c.want > 0} {
			if sample < 0 {
				continue
			}
			a := auditOf(Test06, c.row, c.asked)
			newSamples().take(a, "p", 0, sample)
			require.Equal(t, unknown, codes(a.out) == "sample_unknown", c)
		}
	}
	for _, c := range []struct {
		seq, sample int64
		want        string
	}{{0, 0, ""}, {-1, 0, "record_broken"}, {0, -1, "record_broken"}, {-1, -1, "record_broken"}} {
		a, s := auditOf(Test06, nil, nil), newSamples()
		s.take(a, "p", c.seq, c.sample)
		require.Equal(t, c.want, codes(a.out), c)
		require.Equal(t, []int{1, len(s.sequences)}, []int{s.records, len(s.distinct)})
	}
	a, s := auditOf(Test06, nil, nil), newSamples()
	for seq, sample := range []int64{4, 4, 5} {
		s.take(a, "p", int64(seq), sample)
	}
	s.take(a, "p", 2, 6)
	require.Equal(t, "sequence_repeated", codes(a.out))
	require.Equal(t, []int{4, 3, 3}, []int{s.records, len(s.sequences), len(s.distinct)})
}

func TestNumbersOfRecords(t *testing.T) {
	of := func(records, distinct int) *samples {
		s := newSamples()
		for i := range distinct {
			s.distinct[int64(i)] = struct{}{}
		}
		s.records = records
		return s
	}
	for _, c := range []struct {
		test  string
		asked *Audit
		s     *samples
		want  string
	}{
		{Test06, nil, of(0, 0), "no_records"}, {Test06, &Audit{Records: 2}, of(0, 0), "no_records"},
		{Test06, nil, of(1, 1), ""}, {Test06, nil, of(2, 1), "samples_repeated"}, {Test04, nil, of(2, 1), ""},
		{Test06, nil, of(3, 2), ""}, {Test06, &Audit{Records: 3}, of(3, 3), ""},
		{Test06, &Audit{Records: 3}, of(2, 2), "few_records"}, {Test06, &Audit{Records: 3}, of(4, 2), ""},
		{Test07, &Audit{Distinct: true}, of(3, 3), ""}, {Test07, &Audit{Distinct: true}, of(3, 2), "samples_repeated"},
		{Test04, &Audit{Distinct: true}, of(2, 1), "samples_repeated"},
	} {
		a := auditOf(c.test, nil, c.asked)
		c.s.check(a, "p")
		require.Equal(t, c.want, codes(a.out), c)
		require.Equal(t, map[string]any{"records": c.s.records, "distinct_samples": len(c.s.distinct)}, a.out.Figures)
	}
	require.Equal(t, []string{"", "; the audit requires 1"}, []string{wanted(0), wanted(1)})
}

func bytesOf(ids ...int32) []byte {
	var b []byte
	for _, id := range ids {
		b = binary.LittleEndian.AppendUint32(b, uint32(id))
	}
	return b
}

// Ids at the edges of the vocabulary, and end tokens at every place.
func TestTokensOfAnswers(t *testing.T) {
	row := &models.Row{Name: "m", Vocabulary: 10, EOS: []int32{8, 9}}
	endless := &models.Row{Name: "m", EOS: []int32{8}}
	for _, c := range []struct {
		row  *models.Row
		ids  []int32
		want string
	}{
		{row, nil, "empty_output"}, {nil, nil, "empty_output"}, {nil, []int32{-1}, ""}, {row, []int32{0, 7}, ""},
		{row, []int32{-1}, "token_range"}, {row, []int32{10}, "token_range"}, {endless, []int32{10}, ""},
		{endless, []int32{-1}, "token_range"}, {row, []int32{1, 8}, ""}, {row, []int32{1, 8, 9}, "eos_repeated"},
		{row, []int32{9, 8}, "eos_repeated"}, {row, []int32{9}, ""}, {row, []int32{9, 1}, "(eos_inside)"},
		{row, []int32{9, 1, 8}, "(eos_inside)"}, {row, []int32{9, 1, 8, 9}, "(eos_inside) eos_repeated"},
		{row, []int32{1, 11, 9, 3}, "token_range"}, {row, []int32{9, 11}, "(eos_inside) token_range"},
	} {
		l, err := auditOf(Test06, c.row, nil).newTokenLog("p")
		require.NoError(t, err)
		l.strictTokens(&mllog.AccuracyEntry{Data: bytesOf(c.ids...)}, len(c.ids))
		require.Equal(t, c.want, codes(l.out), c)
		r := &record{number: 1, data: bytesOf(c.ids...)}
		a := auditOf(Test09, c.row, nil)
		a.strict09("p", r)
		inside := strings.Contains(c.want, "token_range") && c.row != nil && c.row.Vocabulary > 0
		require.Equal(t, inside, strings.Contains(codes(a.out), "token_range"), c)
		require.Equal(t, len(c.ids) == 0, strings.Contains(codes(a.out), "empty_output"), c)
	}
}

// TEST09 compares the count where there is one.
func TestCountsOfTEST09(t *testing.T) {
	for _, c := range []struct {
		r    record
		want string
	}{
		{record{data: bytesOf(1, 2), tokens: 2, hasCount: true}, ""}, {record{data: bytesOf(1, 2), tokens: 2}, ""},
		{record{data: bytesOf(1, 2)}, ""}, {record{data: bytesOf(1, 2), hasCount: true}, "token_count"},
		{record{data: bytesOf(1, 2)[:7], tokens: 1, hasCount: true}, "record_broken"},
		{record{data: []byte{1}}, "empty_output"}, {record{dataErr: errors.New("x"), hasCount: true, tokens: 4},
			"record_broken"},
	} {
		a := auditOf(Test09, nil, nil)
		a.strict09("p", &c.r)
		require.Equal(t, c.want, codes(a.out), c)
	}
}

func TestFirstTokensAndEnds(t *testing.T) {
	for _, c := range []struct {
		data, first []int32
		absent      bool
		pass        bool
		want        string
	}{
		{data: []int32{5, 6}, first: []int32{5}, pass: true}, {data: []int32{5, 6}, first: []int32{5, 6}, pass: true},
		{data: []int32{5, 6}, first: []int32{5, 7}, want: "first_token_differs"},
		{data: []int32{5}, first: []int32{5, 6}, pass: true, want: "first_token_differs"},
		{data: []int32{5}, pass: true, want: "first_token_missing"},
		{data: []int32{5}, absent: true, want: "first_token_missing"},
	} {
		l, err := auditOf(Test06, nil, nil).newTokenLog("p")
		require.NoError(t, err)
		e := &mllog.AccuracyEntry{Data: bytesOf(c.data...), TokenData: append([]byte{}, bytesOf(c.first...)...)}
		if c.absent {
			e.TokenData = nil
		}
		l.takeFirst(e)
		require.Equal(t, c.want, codes(l.out), c)
		require.Equal(t, c.pass, l.first, c)
	}
	for _, c := range []struct {
		ids    []int32
		option string
		pass   bool
	}{{[]int32{1, 2, 2}, "", false}, {[]int32{2, 2}, "", true}, {[]int32{1, 2}, "", true}, {nil, "", true},
		{[]int32{1, 2, 2}, "5", true}, {[]int32{1, 2, 2, 3}, "", true}, {[]int32{2, 2, 2}, "", false}} {
		l, err := auditOf(Test06, nil, nil).newTokenLog("p")
		require.NoError(t, err)
		l.EOSOption = c.option
		l.takeEnd(&mllog.AccuracyEntry{Data: bytesOf(c.ids...)})
		require.Equal(t, c.pass, l.eos, c)
		require.Equal(t, c.pass, codes(l.out) == "", c)
	}
}

// What aborts the official script ends TEST06 without a verdict, and each fault has its finding.
func TestFaultsOfTEST06(t *testing.T) {
	good := mllog.AccuracyEntry{Data: bytesOf(5, 6), TokenData: bytesOf(5), TokenCount: 2, HasTokens: true}
	for name, c := range map[string]struct {
		change     func(*mllog.AccuracyEntry)
		scenario   models.Scenario
		died       bool
		eos, first bool
		want       string
	}{
		"good": {func(*mllog.AccuracyEntry) {}, models.Server, false, true, true, ""},
		"odd bytes": {func(e *mllog.AccuracyEntry) { e.Data = e.Data[:7] }, models.Server, true, false, false,
			"record_broken"},
		"odd bytes of Offline": {func(e *mllog.AccuracyEntry) { e.Data = e.Data[:7] }, models.Offline, true, false, true,
			"record_broken"},
		"odd first bytes": {func(e *mllog.AccuracyEntry) { e.TokenData = e.TokenData[:3] }, models.Server, false, true,
			false,
			"record_broken"},
		"no count": {func(e *mllog.AccuracyEntry) { e.HasTokens = false }, models.Server, true, true, true,
			"record_broken"},
	} {
		l, err := auditOf(Test06, nil, nil).newTokenLog("p")
		require.NoError(t, err)
		l.Scenario = c.scenario
		e := good
		c.change(&e)
		require.NoError(t, l.take(&e))
		require.Equal(t, c.want, codes(l.out), name)
		require.Equal(t, []bool{c.died, c.eos, c.first}, []bool{l.died != nil, l.eos, l.first}, name)
	}
}

func TestDetailsThatAreKept(t *testing.T) {
	d := &detail{first: map[string]string{}}
	take := func(key, value string, isError, isWarning bool) {
		d.take(&mllog.Entry{Key: key, Value: mllog.Value(value), IsError: isError, IsWarning: isWarning})
	}
	take("requested_a", `"1"`, false, false)
	take("requested_a", `"2"`, false, false)
	take("effective_a", "1", false, false)
	take("result_a", "1", false, false)
	take("early_stopping_a", "1", false, false)
	take("other_a", "1", false, false)
	take("result_long", `"`+strings.Repeat("x", maxValue-2)+`"`, false, false)
	take("result_longer", `"`+strings.Repeat("x", maxValue-1)+`"`, false, false)
	require.Len(t, d.first, 5)
	require.Equal(t, "1", d.first["requested_a"])
	require.NotContains(t, d.first, "result_longer")
	take("x", `"first"`, true, false)
	take("x", `"second"`, true, false)
	require.Equal(t, []any{2, "first"}, []any{d.errors, d.error})
	take("x", `"`+mllog.AuditTaken+`"`, false, false)
	require.False(t, d.marked)
	take("x", `"no `+mllog.AuditTaken+`"`, false, true)
	require.False(t, d.marked)
	take("x", `"`+mllog.AuditTaken+` more"`, false, true)
	require.True(t, d.marked)
	for i := range 2 * maxKept {
		take(fmt.Sprint("result_", i), "1", false, false)
	}
	require.Len(t, d.first, 1000)
}

// A log that is a folder cannot be read: an error, and no verdict. A missing detail log is a finding.
func TestLogsThatCannotBeRead(t *testing.T) {
	unreadable := func(name string) string {
		dir := t.TempDir()
		require.NoError(t, os.Mkdir(filepath.Join(dir, name), 0o755))
		return dir
	}
	run := folder(t, accuracyLog(hundred()), auditRun(&Audit{}, "Server"))
	require.NoError(t, os.WriteFile(filepath.Join(run, mllog.SummaryName),
		[]byte("Scenario : Server\nCompleted samples per second : 5\nResult is : VALID\n"), 0o600))
	row := &models.Row{Name: "gpt-oss-120b"}
	for name, c := range map[string]struct {
		test string
		in   Input
	}{
		"TEST01 accuracy": {Test01, Input{Compliance: run, ReferenceAccuracy: unreadable(mllog.AccuracyName),
			ReferencePerformance: run}},
		"TEST01 audit": {Test01, Input{Compliance: unreadable(mllog.AccuracyName), ReferenceAccuracy: run,
			ReferencePerformance: run}},
		"TEST01 speed": {Test01, Input{Compliance: run, ReferenceAccuracy: run,
			ReferencePerformance: unreadable(mllog.DetailName)}},
		"TEST04 reference": {Test04, Input{Compliance: run, ReferencePerformance: unreadable(mllog.SummaryName)}},
		"TEST04 audit":     {Test04, Input{Compliance: unreadable(mllog.SummaryName), ReferencePerformance: run}},
		"TEST04 missing":   {Test04, Input{Compliance: t.TempDir(), ReferencePerformance: run}},
		"TEST06":           {Test06, Input{Compliance: unreadable(mllog.AccuracyName)}},
		"TEST07":           {Test07, Input{Compliance: unreadable(mllog.AccuracyName), Row: row}},
		"TEST08":           {Test08, Input{Compliance: unreadable(mllog.AccuracyName), ReferenceAccuracy: run}},
		"TEST08 reference": {Test08, Input{Compliance: folder(t, "[\n]\n", ""),
			ReferenceAccuracy: unreadable(mllog.AccuracyName)}},
		"TEST09": {Test09, Input{Compliance: unreadable(mllog.AccuracyName), Row: row}},
	} {
		c.in.Scenario = models.Server
		r, err := Verify(c.test, c.in)
		require.Error(t, err, name)
		require.Nil(t, r, name)
	}
}

func TestEntriesOfTheReferenceOfTEST08(t *testing.T) {
	data := func(values ...float32) []byte {
		var b []byte
		for _, v := range values {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
		}
		return b
	}
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, c := range []struct {
		values []float32
		want   string
	}{
		{[]float32{1, 5, 0.5, 1, 1, 1}, ""}, {[]float32{1, 5, 0}, ""}, {nil, "it is empty"},
		{[]float32{1, 5, 0.5, 1, 1, nan}, "found NaN, expected an integer"},
		{[]float32{1, 5, 0.5, 1, 1, inf}, "found +Inf, expected an integer"},
		{[]float32{1, 5, 0.5, 1, 1, 1 << 62}, "expected an integer"},
		{[]float32{1, 5, -1}, "it has 3 values, but -1 candidates need 0"}, {[]float32{-1}, "-1 candidates need 0"},
		{[]float32{1, 5, 0.5, 1, 1, 2}, "it has 6 values, but 2 candidates need 9"},
		{[]float32{1, 5, 0.5, 1, 1, 7}, "7 candidates need 24"}, {[]float32{nan, 5, 0.5, 1, 1, 1}, "expected an integer"},
		{[]float32{1, nan, 0.5, 1, 1, 1}, "expected an integer"},
	} {
		l := &entropyLog{byQuery: map[query][]int{}}
		err := l.reference(&mllog.AccuracyEntry{Data: data(c.values...)})
		if require.Equal(t, 1, l.entries); c.want == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, c.want, c.values)
	}
	for _, c := range []struct {
		values []float32
		want   string
	}{{[]float32{1, 5}, ""}, {[]float32{1}, "it has 1 values, but time step and query need two"},
		{[]float32{1, nan}, "expected an integer"}, {[]float32{nan, 1}, "expected an integer"}} {
		l := &entropyLog{byQuery: map[query][]int{}}
		err := l.take(&mllog.AccuracyEntry{Data: data(c.values...)})
		if c.want == "" {
			require.NoError(t, err)
			require.Equal(t, map[query][]int{{1, 5}: {0}}, l.byQuery)
			continue
		}
		require.ErrorContains(t, err, c.want)
	}
	l := &entropyLog{byQuery: map[query][]int{}, kept: maxPredictions - 3}
	require.NoError(t, l.take(&mllog.AccuracyEntry{Data: data(1, 2, 3)}))
	require.ErrorContains(t, l.take(&mllog.AccuracyEntry{Data: data(1, 2, 3)}), "was the audit.config in force?")
	for _, take := range []func(*mllog.AccuracyEntry) error{l.take, l.reference} {
		require.ErrorContains(t, take(&mllog.AccuracyEntry{Data: make([]byte, 7)}), "it has 7 bytes")
	}
	require.ErrorContains(t, l.reference(&mllog.AccuracyEntry{Data: data(1, 2, 0.5, 0.5, 1, 1, 1, 1, 2)}),
		"(1, 2) has 2 candidates, but 1 in the audit's run")
}

func TestDifferencesOfEntropies(t *testing.T) {
	for _, c := range []struct {
		ref, test, share float64
		want             string
	}{
		{0, 0, 0, ""}, {0, 1, 9, "acc_ne=0.0, perf_ne=1.0"}, {1, 0, 9, "acc_ne=1.0, perf_ne=0.0"}, {1, 1.5, 0.5, ""},
		{-1, -1.5, 0.5, ""}, {1, 1.5, 0.499, "acc_ne=1.000000, perf_ne=1.500000, diff=50.0000%"}, {1, math.NaN(), 0, ""},
		{1, 0.5, 0.499, "acc_ne=1.000000, perf_ne=0.500000, diff=50.0000%"},
	} {
		require.Equal(t, c.want, (&shownAnswer{ref: c.ref, test: c.test}).mismatch(c.share), c)
	}
	for v, want := range map[float32]float32{0: 1e-7, -1: 1e-7, 1: float32(1 - 1e-7), 2: float32(1 - 1e-7), 0.5: 0.5} {
		require.Equal(t, want, clip(v))
	}
	for _, c := range []struct {
		predictions, labels, weights []float32
		want                         float64
	}{
		{[]float32{0.5, 0.5}, []float32{0, 1}, []float32{1, 1}, 1},
		{[]float32{0.5, 0.25}, []float32{1, 0}, []float32{1, 3}, 0.69184436},
		{[]float32{0.5}, []float32{0.5}, []float32{0}, 0},
		{[]float32{0.9, 0.1}, []float32{1, 1}, []float32{2, 1}, 283314.13},
		{[]float32{0.3, 0.7}, []float32{0, 0}, []float32{1, 1}, 455847.35}, {nil, nil, nil, 0},
	} {
		require.InEpsilon(t, c.want+1, entropy(c.predictions, c.labels, c.weights)+1, 1e-5, c)
	}
	for n, want := range map[int]float64{127: 127, 128: 128, 129: 129, 136: 136} {
		v := make([]float32, n)
		for i := range v {
			v[i] = 1
		}
		require.InDelta(t, want, float64(pairwise(v)), 0)
	}
}

// The figures of a verdict contain what decided it.
func TestFiguresOfEachAudit(t *testing.T) {
	a := auditOf(Test08, nil, nil)
	l := &entropyLog{shown: []shownAnswer{{matched: true, ref: 1, test: 1}, {matched: true, ref: 1, test: 2}, {}},
		entries: 7}
	a.judge08(l, officialTolerance)
	require.Equal(t, map[string]any{"records": 3, "matched": 2, "mismatches": 1}, a.out.Figures)
	require.Equal(t, "entropy_differs sample_unknown", codes(a.out))
	for share, want := range map[float64]string{0.001: "", 0.0011: "threshold_weakened"} {
		a = auditOf(Test08, nil, nil)
		a.judge08(&entropyLog{shown: []shownAnswer{{matched: true}}}, share)
		require.Equal(t, want, codes(a.out))
		require.True(t, a.out.Pass)
	}
	a = auditOf(Test04, nil, nil)
	require.NoError(t, a.judge04("n", "", summaryScore{scenario: "Offline", score: "100"},
		summaryScore{scenario: "Offline", score: "109"}))
	require.True(t, a.out.Pass)
	require.Equal(t, map[string]any{"reference_score": 100.0, "score": 109.0}, a.out.Figures)
	require.NoError(t, a.judge04("n", "", summaryScore{score: "100"}, summaryScore{score: "110.00000000000001"}))
	require.False(t, a.out.Pass, "equal to the bound")
	for _, bad := range [][2]string{{"x", "1"}, {"1", "x"}} {
		a = auditOf(Test04, nil, nil)
		require.NoError(t, a.judge04("n", "", summaryScore{score: bad[0]}, summaryScore{score: bad[1]}))
		require.Equal(t, codeBroken, codes(a.out))
		require.Empty(t, a.out.Files)
	}
	for score, pass := range map[string]bool{"61": true, "60.9": false} {
		a = auditOf(Test07, nil, nil)
		a.Evaluator, a.Threshold, a.Compliance = "'exact_match': "+score, ptr(61), folder(t, accuracyLog(hundred()), "")
		require.NoError(t, a.test07())
		require.Equal(t, pass, a.out.Pass)
		require.Contains(t, a.out.Figures, "score")
		require.InDelta(t, 61, a.out.Figures["threshold"], 0)
	}
	for threshold, want := range map[float64]string{61: "", 60.9: "threshold_weakened"} {
		a = auditOf(Test07, nil, &Audit{Threshold: 61})
		a.Evaluator, a.Threshold, a.Compliance = "'exact_match': 61.5", &threshold, folder(t, accuracyLog(hundred()), "")
		require.NoError(t, a.test07())
		require.Equal(t, want, codes(a.out))
	}
}

func TestBoundsOfTEST09(t *testing.T) {
	run := folder(t, accuracyLog(hundred()), "") // each answer has three tokens
	for _, c := range []struct {
		low, high, ruleLow, ruleHigh float64
		pass                         bool
		want                         string
	}{
		{3, 3, 0, 0, true, ""}, {3.1, 4, 0, 0, false, "output_length"}, {2, 2.9, 0, 0, false, "output_length"},
		{3, 4, 3, 4, true, ""}, {2.9, 4, 3, 4, true, "threshold_weakened"}, {3, 4.1, 3, 4, true, "threshold_weakened"},
	} {
		a := auditOf(Test09, nil, &Audit{MinTokens: c.ruleLow, MaxTokens: c.ruleHigh})
		a.MinTokens, a.MaxTokens, a.Compliance = &c.low, &c.high, run
		require.NoError(t, a.test09())
		require.Equal(t, c.want, codes(a.out), c)
		require.Equal(t, c.pass, a.out.Pass)
		require.Equal(t, []any{3.0, c.low, c.high}, []any{a.out.Figures["mean_output_tokens"],
			a.out.Figures["min_output_tokens"], a.out.Figures["max_output_tokens"]})
	}
}

// Findings of one code are counted by file, and explained there alone.
func TestFindingsByFile(t *testing.T) {
	r := &Result{}
	r.add(Fatal, "a", "f", "first")
	r.add(Fatal, "a", "f", "second")
	r.add(Fatal, "a", "g", "third")
	r.add(Fatal, "b", "f", "fourth")
	r.explain("a", "f", "!")
	require.Equal(t, []Finding{{"a", Fatal, "f", "first!", 2}, {"a", Fatal, "g", "third", 1}, {"b", Fatal, "f", "fourth",
		1}},
		r.Strict)
}

func TestAllowedDeviations(t *testing.T) {
	for _, c := range []struct {
		scenario string
		ref      float64
		want     float64
	}{{"SingleStream", 200_000, 0.2}, {"SingleStream", 200_001, 0.1}, {"MultiStream", 1_600_000, 0.2},
		{"MultiStream", 1_600_001, 0.1}, {"Server", 1, 0.1}, {"Offline", 1, 0.1}} {
		require.InDelta(t, c.want, tolerance(c.scenario, c.ref), 0, c)
	}
	offline := func(v float64) score { return score{scenario: "Offline", value: v} }
	for _, c := range []struct {
		ref, test score
		pass      bool
	}{
		{offline(100), offline(110), true}, {offline(100), offline(90), true}, {offline(100), offline(110.1), false},
		{offline(100), offline(89.9), false}, {offline(100), score{scenario: "Server", value: 100}, false},
		{score{scenario: "Server", value: 1, latency: "1"}, score{scenario: "Server", value: 1, latency: "2"}, false},
	} {
		_, pass := compareScores(c.ref, c.test)
		require.Equal(t, c.pass, pass, c)
	}
}

// Open divisions need no audit, in each spelling of the folder.
func TestNeedsByDivision(t *testing.T) {
	for _, round := range []string{"v5.1", "v6.1"} {
		for division, needed := range map[string]bool{"closed": true, "open": false, "Open": false, "network": true,
			"": true} {
			needs, err := Needs("llama3.1-8b", round, division)
			require.NoError(t, err)
			require.Len(t, needs, len(Tests()))
			found := false
			for _, n := range needs {
				require.NotEmpty(t, n.Why)
				found = found || n.Needed
			}
			require.Equal(t, needed, found, "%s %s", round, division)
		}
		require.True(t, InRound("llama3.1-8b", round))
		require.False(t, InRound("none", round))
	}
	require.False(t, InRound("llama3.1-8b", "v0"))
}

// The numbers of logged answers are those of docs/reference/audits.md#test01.
func TestAnswersThatTEST01Logs(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "docs", "reference", "audits.md"))
	require.NoError(t, err)
	_, part, _ := strings.Cut(string(page), "| sampling target |\n| --- | --- |\n")
	part, _, _ = strings.Cut(part, "\n\n")
	checkers := strings.NewReplacer("gpt-j", "gptj", "resnet50", "resnet")
	found := map[string]int{}
	for line := range strings.Lines(part) {
		cells := strings.Split(line, "|")
		n, err := strconv.Atoi(strings.TrimSpace(cells[2]))
		require.NoError(t, err)
		for name := range strings.SplitSeq(cells[1], ",") {
			found[checkers.Replace(strings.TrimSpace(name))] = n
		}
	}
	require.Equal(t, found, sampled01)
}

// Objects may be separated in several ways. Everything else is an error that names the record.
func TestWhatSeparatesRecords(t *testing.T) {
	for _, c := range []struct {
		text    string
		records int
		want    form
		err     string
	}{
		{"[{},\n{}]", 2, form{array: true}, ""}, {"[ {}\t,\r\n{} ] \n", 2, form{array: true}, ""}, {"{}{}", 2, form{}, ""},
		{"{}\n{}\n", 2, form{}, ""}, {"{},{}", 2, form{}, ""}, {"", 0, form{}, ""}, {"[]", 0, form{array: true}, ""},
		{"[", 0, form{array: true, truncated: true}, ""}, {"[{}", 1, form{array: true, truncated: true}, ""},
		{"[{},{", 1, form{array: true, truncated: true}, ""}, {"{}{", 1, form{truncated: true}, ""},
		{"[]]", 0, form{array: true}, "found ']', expected record 1"}, {"]", 0, form{}, "found ']', expected record 1"},
		{"[[", 0, form{array: true}, "found '[', expected record 1"}, {"{}[", 1, form{}, "found '[', expected record 2"},
		{"[]{}", 0, form{array: true}, "found '{', expected record 1"}, {",{}", 0, form{}, "found ',', expected record 1"},
		{"{}x", 1, form{}, "found 'x', expected record 2"}, {"{x}", 0, form{}, "record 1: it is not JSON"},
		{"{}{x}", 1, form{}, "record 2: it is not JSON"}, {`{"seq_id": "a"}`, 0, form{}, "record 1: its seq_id is not"},
		{`{"a": "\\\"}"}{}`, 2, form{}, ""}, {`{"a": "\\\\"}{}`, 2, form{}, ""}, {`{"a": "{"}{"b": "}"}`, 2, form{}, ""},
	} {
		n := 0
		f, err := readRecords(strings.NewReader(c.text), func(r *record) error {
			n++
			require.Equal(t, n, r.number)
			return nil
		})
		require.Equal(t, c.records, n, c.text)
		require.Equal(t, c.want, f, c.text)
		if c.err == "" {
			require.NoError(t, err, c.text)
		} else {
			require.ErrorContains(t, err, c.err, c.text)
		}
	}
	stop := errors.New("stop")
	_, err := readRecords(strings.NewReader("{}{}"), func(*record) error { return stop })
	require.ErrorIs(t, err, stop)
	_, err = readRecords(iotest.ErrReader(stop), func(*record) error { return nil })
	require.ErrorIs(t, err, stop)
	broken := io.MultiReader(strings.NewReader(`{"a": 1`), iotest.ErrReader(stop))
	_, err = readRecords(broken, func(*record) error { return nil })
	require.ErrorIs(t, err, stop)
}

// A record that the reader gets byte by byte, in blocks, or beyond the limit.
func TestLongRecords(t *testing.T) {
	text := `[{"qsl_idx": 3, "data": "` + strings.Repeat("0A", 200_000) + `", "token_count": 7}, {"qsl_idx": 4}]`
	for _, r := range []io.Reader{strings.NewReader(text), iotest.OneByteReader(strings.NewReader(text)),
		iotest.HalfReader(strings.NewReader(text))} {
		var samples []int64
		_, err := readRecords(r, func(r *record) error {
			if samples = append(samples, r.sample); r.sample == 3 {
				require.Len(t, r.data, 200_000)
				require.Equal(t, []any{int64(7), true, int64(-1)}, []any{r.tokens, r.hasCount, r.seq})
			} else {
				require.Equal(t, []any{int64(0), false}, []any{r.tokens, r.hasCount})
				require.Nil(t, r.data)
			}
			return nil
		})
		require.NoError(t, err)
		require.Equal(t, []int64{3, 4}, samples)
	}
	long := io.MultiReader(strings.NewReader(`{"a": "`), io.LimitReader(zeros{}, maxObject))
	_, err := readRecords(long, func(*record) error { return nil })
	require.ErrorContains(t, err, "record 1: it is longer than 32 MiB")
	for text, want := range map[string]string{`"0A0b"`: "0a0b", `""`: "", `null`: "", `"\u0030A"`: "0a"} {
		data, err := decodeData([]byte(text))
		require.NoError(t, err)
		require.Equal(t, want, fmt.Sprintf("%x", data), text)
	}
}

// zeros is an endless text of the digit 0.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = '0'
	}
	return len(b), nil
}
