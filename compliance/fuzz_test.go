package compliance

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mlperf-go/mlperf-go/internal/mllog"
	"github.com/mlperf-go/mlperf-go/internal/pyrepr"
	"github.com/mlperf-go/mlperf-go/models"
)

func FuzzReadRecords(f *testing.F) {
	f.Add([]byte("[\n{ \"seq_id\" : 3, \"qsl_idx\" : 5, \"data\" : \"DEAD0B\", \"token_count\" : 3 }\n]\n"))
	f.Add([]byte("{\"data\":\"00 11\"}\n{\"data\":null}{\"data\":[{\"x\":\"}\\\"\"}]}"))
	f.Add([]byte("[]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		n := 0
		form, err := readRecords(bytes.NewReader(data), func(r *record) error {
			n++
			if r.number != n || len(r.data)*2 > len(data) {
				t.Fatalf("read %+v", r)
			}
			return nil
		})
		if err == nil && !form.array && n == 0 && !form.truncated && len(bytes.TrimSpace(data)) > 0 {
			t.Fatalf("%q was read as nothing", data)
		}
	})
}

func FuzzParseSummary(f *testing.F) {
	f.Add("Scenario : Offline\nSamples per second: 100\nResult is : VALID\n3 ERRORS encountered. See detailed log.\n")
	f.Add("Scenario : SingleStream\nEarly stopping 90.0th percentile estimate: 0\n")
	f.Fuzz(func(t *testing.T, text string) {
		if s, err := parseSummary(strings.NewReader(text)); err == nil && s.score == "" && strings.TrimSpace(text) == "" {
			t.Fatalf("%+v", s)
		}
	})
}

func FuzzParseThreshold(f *testing.F) {
	f.Add("*.*.test07_accuracy_threshold = 60.698 # x\n", true)
	f.Add("# c\n*.*.test07_accuracy_threshold = 1e999\n", false)
	f.Fuzz(func(t *testing.T, text string, comments bool) {
		_, found, err := parseThreshold(strings.NewReader(text), "test07_accuracy_threshold", comments)
		if found && err == nil && !strings.Contains(text, "test07_accuracy_threshold") {
			t.Fatal("found in a text without it")
		}
	})
}

// For any answers of a recommendation model, TEST08 returns either a verdict or an explanation.
func FuzzTEST08(f *testing.F) {
	f.Add([]byte{0, 0, 128, 63, 0, 0, 160, 64, 205, 204, 76, 62},
		[]byte{0, 0, 128, 63, 0, 0, 160, 64, 205, 204, 76, 62, 0, 0, 0, 0, 0, 0, 128, 63, 0, 0, 128, 63})
	f.Fuzz(func(t *testing.T, shown, reference []byte) {
		l := &entropyLog{byQuery: map[query][]int{}}
		if l.take(&mllog.AccuracyEntry{Data: shown}) != nil || l.reference(&mllog.AccuracyEntry{Data: reference}) != nil {
			return
		}
		a := &audit{out: &Result{Figures: map[string]any{}, Files: map[string]string{}}}
		a.judge08(l, officialTolerance)
		if !strings.HasSuffix(a.out.Files["verify_accuracy.txt"], "TEST08 verification complete\n") {
			t.Fatal(a.out.Files)
		}
	})
}

func TestPythonFloats(t *testing.T) {
	for f, want := range map[float64]string{
		62.15: "62.15", 65: "65.0", 1e16: "1e+16", 1e15: "1000000000000000.0", 1e-5: "1e-05", 0.0001: "0.0001", 0: "0.0",
		526.3157894736842: "526.3157894736842", math.Inf(1): "inf", math.Inf(-1): "-inf", -2.5e-7: "-2.5e-07",
	} {
		require.Equal(t, want, pyrepr.Float(f))
	}
	require.Equal(t, "nan", pyrepr.Float(math.NaN()))
	for _, text := range []string{"", "x", "0x10", "1p3", "1.2.3", "9 # c"} {
		_, err := pyrepr.ParseFloat(text)
		require.ErrorIs(t, err, pyrepr.ErrNoNumber, text)
	}
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.Float64().Draw(t, "f")
		if got, err := pyrepr.ParseFloat(" " + pyrepr.Float(f) + "\n"); err != nil || got != f {
			t.Fatalf("%v came back as %v, %v", f, got, err)
		}
	})
}

// For any number of elements, the sum agrees with a simple sum in double precision.
func TestPairwise(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.SliceOfN(rapid.Float32Range(0, 1), 0, 600).Draw(t, "v")
		sum := 0.0
		for _, f := range v {
			sum += float64(f)
		}
		if got := float64(pairwise(v)); math.Abs(got-sum) > 1e-5*max(sum, 1) {
			t.Fatalf("%v instead of %v", got, sum)
		}
	})
}

// The same records have the same lengths in every form of log.
func TestFormsOfRecords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var objects []string
		want := rapid.SliceOfN(rapid.IntRange(0, 40), 1, 20).Draw(t, "lengths")
		for i, n := range want {
			objects = append(objects, fmt.Sprintf(`{"seq_id": %d, "qsl_idx": %d, "data": "%s", "note": "}]{\""}`, i, i,
				strings.Repeat("0A", n)))
		}
		for _, text := range []string{
			"[\n" + strings.Join(objects, ",\n") + "\n]\n", strings.Join(objects, "\n"), strings.Join(objects, " "),
			"[" + strings.Join(objects, ","),
		} {
			var got []int
			if _, err := readRecords(strings.NewReader(text), func(r *record) error {
				got = append(got, len(r.data))
				return r.dataErr
			}); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("%v, %v of %s", got, err, text)
			}
		}
	})
}

// bigLog writes an accuracy log of about the given size.
func bigLog(t testing.TB, megabytes int) string {
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, mllog.AccuracyName))
	require.NoError(t, err)
	answer := hexOf(make([]int32, 8192))
	_, err = f.WriteString("[\n")
	require.NoError(t, err)
	for i := range megabytes << 20 / len(answer) {
		comma := ",\n"
		if i == 0 {
			comma = ""
		}
		_, err = fmt.Fprintf(f, "%s{ \"seq_id\" : %d, \"qsl_idx\" : %d, \"data\" : \"%s\", \"token_data\" : \"00000000\", "+
			"\"token_count\" : 8192 }", comma, i, i, answer)
		require.NoError(t, err)
	}
	_, err = f.WriteString("\n]\n")
	require.NoError(t, err)
	require.NoError(t, f.Close())
	return dir
}

func TestMemoryDoesNotGrowWithTheLog(t *testing.T) {
	if testing.Short() {
		t.Skip("a log of 64 MiB")
	}
	dir := bigLog(t, 64)
	require.NoError(t, os.WriteFile(filepath.Join(dir, mllog.DetailName), nil, 0o644))
	for _, test := range []string{Test06, Test09, Test07} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Verify(test, Input{Compliance: dir, Scenario: models.Server, Row: gptOSS, MinTokens: ptr(1),
			MaxTokens: ptr(9000)})
		require.NoError(t, err)
		runtime.ReadMemStats(&after)
		// The memory obtained from the system is an upper bound of the memory in use at any time.
		require.Less(t, int64(after.Sys)-int64(before.Sys), int64(32<<20), test)
	}
}

func BenchmarkVerify(b *testing.B) {
	dir := bigLog(b, 64)
	for _, test := range []string{Test06, Test09} {
		b.Run(test, func(b *testing.B) {
			b.SetBytes(64 << 20)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Verify(test, Input{Compliance: dir, Scenario: models.Server, MinTokens: ptr(1),
					MaxTokens: ptr(9000)}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
