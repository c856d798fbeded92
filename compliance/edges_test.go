package compliance

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/models"
)

func TestLengths(t *testing.T) {
	l := lengths{}
	for _, n := range []int{5, 9, 2, 7} {
		l.take(n)
	}
	require.InDelta(t, 2.5860201081971503, l.deviation(), 1e-12)
	require.EqualValues(t, 2, l.low)
	require.EqualValues(t, 9, l.high)
	require.InDelta(t, 5.75, l.mean(), 1e-12)
}

// Long sums are split into halves of whole lanes until the parts are short.
func TestPairwiseOfManyValues(t *testing.T) {
	for _, n := range []int{1, 7, 8, 9, 1000, 1003, 5000} {
		v := make([]float32, n)
		for i := range v {
			v[i] = 1
		}
		require.InDelta(t, float64(n), float64(pairwise(v)), 0, "%d values", n)
	}
}

// The expected sums of 1, 1/2, 1/3 ... in float32 come from numpy 2. Another order of addition changes the last digits.
func TestPairwiseAddsInTheOrderOfNumpy(t *testing.T) {
	for n, want := range map[int]uint32{100: 0x40a5ff01, 129: 0x40ae1bda, 131: 0x40ae9967, 1003: 0x40efa183,
		5000: 0x4111831c} {
		v := make([]float32, n)
		for i := range v {
			v[i] = 1 / float32(i+1)
		}
		require.Equal(t, math.Float32frombits(want), pairwise(v), "%d values", n)
	}
}

func TestAnAuditWithoutAnswersDoesNotPass(t *testing.T) {
	const reference = `[{"seq_id" : 0, "qsl_idx" : 0, "data" : "0000803F0000A0400000003F0000803F0000803F0000803F"}]`
	r, err := Verify(Test08, Input{Compliance: folder(t, "[\n]\n", ""), ReferenceAccuracy: folder(t, reference, "")})
	require.NoError(t, err)
	require.False(t, r.Pass)
	require.Contains(t, codes(r), "sample_unknown")
	require.Contains(t, r.Files["verify_accuracy.txt"], "num_acc_log_entries = 1\nnum_perf_log_entries = 0\n")
}

// The official script counts the bytes before the first character that is not hexadecimal.
func TestTEST09OfDataThatIsNotHexadecimal(t *testing.T) {
	text := strings.Replace(accuracyLog(hundred()), `"64000000C8`, `"6Z000000C8`, 1)
	r, err := Verify(Test09, Input{Compliance: folder(t, text, ""), Scenario: models.Server, MinTokens: ptr(0),
		MaxTokens: ptr(9)})
	require.NoError(t, err)
	require.Contains(t, codes(r), "record_broken")
	require.NotContains(t, codes(r), "empty_output")
	require.NotContains(t, codes(r), "token_count")
}

func TestWriteFails(t *testing.T) {
	r, err := Verify(Test06, Input{Compliance: folder(t, accuracyLog(hundred()), ""), Scenario: models.Server,
		Row: llama8b})
	require.NoError(t, err)
	out := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(out, Test06), nil, 0o644))
	require.Error(t, r.Write(out), "a file has the name of the test's folder")
	require.Error(t, r.Write(filepath.Join(out, Test06)), "a file has the name of the output folder")
	r.Logs = append(r.Logs, Log{From: filepath.Join(out, "gone"), To: "accuracy/gone"})
	require.ErrorIs(t, r.Write(t.TempDir()), os.ErrNotExist)
}

func TestVerdictsAreKept(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "TEST06")
	_, err := ReadVerdict(folder)
	require.ErrorContains(t, err, "the audit was run, but not verified")
	r := &Result{Test: Test06, Pass: true, Rehearsal: true, Figures: map[string]any{"records": 1.0}}
	r.add(Warning, "w", "f", "a warning")
	require.NoError(t, r.Verdict().Keep(folder))
	v, err := ReadVerdict(folder)
	require.NoError(t, err)
	require.Equal(t, Verdict{Test06, true, true, true, r.Strict, r.Figures}, v)
	require.Equal(t, "TEST06: ", v.Why())
	r.Pass = false
	r.add(Fatal, "code", "f", "a %s", "fault")
	r.add(Fatal, "code", "f", "another")
	require.NoError(t, r.Verdict().Keep(folder))
	v, err = ReadVerdict(folder)
	require.NoError(t, err)
	require.False(t, v.OK)
	require.Equal(t, "TEST06: the official verification fails; code: a fault", v.Why())
	require.Equal(t, "a fault (2 records have it)", v.Strict[1].Words())
	require.Equal(t, "a warning", v.Strict[0].Words())
	require.NoError(t, os.WriteFile(filepath.Join(folder, VerdictName), []byte("{"), 0o644))
	_, err = ReadVerdict(folder)
	require.ErrorContains(t, err, "cannot be read")
	require.Error(t, v.Keep(filepath.Join(folder, VerdictName)), "a file has the folder's name")
}

// The logs contain records that LoadGen never writes but are otherwise complete.
func TestInvalidRecords(t *testing.T) {
	good := accuracyLog(hundred())
	for name, c := range map[string]struct{ old, by, code string }{
		"no sample":                {`"qsl_idx" : 7, `, ``, "record_broken"},
		"negative":                 {`"qsl_idx" : 7,`, `"qsl_idx" : -7,`, "record_broken"},
		"repeated":                 {`"seq_id" : 1,`, `"seq_id" : 0,`, "sequence_repeated"},
		"odd size":                 {`"64000000C8000000`, `"64000000C80000`, "record_broken"},
		"not closed":               {"\n]\n", ",\n", "log_truncated"},
		"a comma before the first": {"[", "[,", "log_broken"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Contains(t, good, c.old)
			r, err := Verify(Test09, Input{Compliance: folder(t, strings.Replace(good, c.old, c.by, 1), ""),
				Scenario: models.Server, MinTokens: ptr(0), MaxTokens: ptr(9)})
			require.NoError(t, err)
			require.Contains(t, strings.Fields(codes(r)), c.code, "%+v", r.Strict)
		})
	}
	r, err := Verify(Test09, Input{Compliance: folder(t, strings.Trim(good, "[]\n"), ""), Scenario: models.Server,
		MinTokens: ptr(0), MaxTokens: ptr(9)})
	require.NoError(t, err)
	require.Contains(t, codes(r), "(log_form)", "records without an array around them")
	require.True(t, r.Pass)
}
