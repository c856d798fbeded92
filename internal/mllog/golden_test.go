package mllog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/golden"
)

// goldenCase is the part of a recorded case that concerns the logs.
type goldenCase struct {
	Detail []struct {
		Key      string
		Value    json.RawMessage
		FNV      string `json:"value_fnv1a64"`
		Count    int
		Volatile bool
		IsError  bool `json:"is_error"`
		IsWarn   bool `json:"is_warning"`
		Repeat   int
	}
	SummaryLines []string `json:"summary_lines"`
	Verdict      map[string]string
	AccuracyLog  struct {
		Entries int
		Text    string
		SeqIDs  struct{ Full []int64 } `json:"seq_ids"`
	} `json:"accuracy_log"`
}

func eachLog(t *testing.T, fn func(t *testing.T, dir string, c *goldenCase)) {
	root := golden.Dir(t, "loadgen")
	dirs, err := filepath.Glob(filepath.Join(root, "logs", "*"))
	require.NoError(t, err)
	require.NotEmpty(t, dirs)
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join(root, filepath.Base(dir)+".json"))
			if os.IsNotExist(err) {
				t.Skip("no recorded case of this name")
			}
			require.NoError(t, err)
			var c goldenCase
			require.NoError(t, json.Unmarshal(data, &c))
			fn(t, dir, &c)
		})
	}
}

func TestGoldenDetail(t *testing.T) {
	eachLog(t, func(t *testing.T, dir string, c *goldenCase) {
		next, repeated := 0, 0
		d, err := ReadDetailFile(filepath.Join(dir, DetailName), func(e *Entry) error {
			if strings.HasPrefix(e.Value.Text(), "Logging allocation detected") {
				return nil // the recordings omit it, because it depends on the load of the machine
			}
			require.Less(t, next, len(c.Detail), "line %d: more entries than recorded", e.Line)
			want := c.Detail[next]
			require.Equal(t, want.Key, e.Key, "line %d", e.Line)
			require.Equal(t, want.IsError, e.IsError, "line %d", e.Line)
			require.Equal(t, want.IsWarn, e.IsWarning, "line %d", e.Line)
			switch {
			case want.FNV != "":
				checkList(t, e, want.FNV, want.Count)
			case !want.Volatile:
				got, err := json.Marshal(e.Value.Any())
				require.NoError(t, err)
				if !strings.Contains(string(want.Value), "{volatile}") {
					require.JSONEq(t, string(want.Value), string(got), "%s", e.Key)
				}
			}
			if repeated++; repeated >= max(want.Repeat, 1) {
				next, repeated = next+1, 0
			}
			return nil
		})
		require.NoError(t, err)
		require.Equal(t, len(c.Detail), next)
		require.False(t, d.Truncated)
		require.Zero(t, d.Broken+d.Foreign)
	})
}

// checkList compares a list of indices with the recorded hash of its values.
func checkList(t *testing.T, e *Entry, want string, count int) {
	t.Helper()
	var list []uint64
	require.NoError(t, json.Unmarshal(e.Value, &list))
	require.Len(t, list, count)
	h := fnv.New64a()
	for _, v := range list {
		var b [8]byte
		for i := range b {
			b[i] = byte(v >> (8 * i))
		}
		h.Write(b[:])
	}
	require.Equal(t, want, fmt.Sprintf("%016x", h.Sum64()))
}

func TestGoldenSummarize(t *testing.T) {
	eachLog(t, func(t *testing.T, dir string, c *goldenCase) {
		r, err := Summarize(dir)
		require.NoError(t, err)
		require.True(t, r.Complete, r.Missing)
		require.Equal(t, len(c.Verdict), len(r.Verdict))
		for k, v := range c.Verdict {
			require.Equal(t, v, r.Verdict[k], k)
		}
		if len(c.Verdict) == 0 {
			require.Nil(t, r.Valid)
		} else {
			require.Equal(t, c.Verdict["Result is"] == "VALID", *r.Valid)
		}
		seen := map[string]bool{}
		errors, warnings := 0, 0
		for _, e := range c.Detail {
			if e.IsError {
				errors += max(e.Repeat, 1)
			}
			if e.IsWarn {
				warnings += max(e.Repeat, 1)
			}
			if seen[e.Key] || !wanted(e.Key) {
				continue
			}
			seen[e.Key] = true
			require.Contains(t, r.Result, e.Key)
			if !e.Volatile && !strings.Contains(string(e.Value), "{volatile}") {
				got, err := json.Marshal(r.Result[e.Key])
				require.NoError(t, err)
				require.JSONEq(t, string(e.Value), string(got), e.Key)
			}
		}
		require.Equal(t, errors, r.Errors)
		require.Equal(t, warnings, r.Warnings)
	})
}

func TestGoldenAccuracy(t *testing.T) {
	eachLog(t, func(t *testing.T, dir string, c *goldenCase) {
		path := filepath.Join(dir, AccuracyName)
		raw, err := os.ReadFile(path)
		require.NoError(t, err)
		// Writing the entries again as LoadGen writes them must reproduce the file.
		again := bytes.NewBufferString("[")
		a, err := ReadAccuracyFile(path, func(e *AccuracyEntry) error {
			if e.Record > 1 {
				again.WriteByte(',')
			}
			fmt.Fprintf(again, "\n{ \"seq_id\" : %d, \"qsl_idx\" : %d, \"data\" : \"%X\"", e.SeqID, e.QSLIdx, e.Data)
			if e.TokenData != nil {
				fmt.Fprintf(again, ", \"token_data\" : \"%X\"", e.TokenData)
			}
			if e.HasTokens {
				fmt.Fprintf(again, ", \"token_count\" : %d", e.TokenCount)
			}
			again.WriteString(" }")
			return nil
		})
		again.WriteString("\n]\n")
		require.NoError(t, err)
		require.False(t, a.Truncated)
		require.Equal(t, c.AccuracyLog.Entries, a.Records)
		require.Equal(t, string(raw), again.String())
	})
}

// Every recorded accuracy text, even in cases without raw logs, can be read completely. If it is cut anywhere, the
// records before the cut can be read.
func TestGoldenAccuracyTexts(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(golden.Dir(t, "loadgen"), "*.json"))
	require.NoError(t, err)
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		var c goldenCase
		if json.Unmarshal(data, &c) != nil || c.AccuracyLog.Text == "" {
			continue
		}
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			var seqs []int64
			a, err := ReadAccuracy(strings.NewReader(c.AccuracyLog.Text), func(e *AccuracyEntry) error {
				seqs = append(seqs, e.SeqID)
				return nil
			})
			require.NoError(t, err)
			require.Equal(t, Accuracy{Records: c.AccuracyLog.Entries}, a)
			if c.AccuracyLog.SeqIDs.Full != nil && len(seqs) > 0 {
				require.Equal(t, c.AccuracyLog.SeqIDs.Full, seqs)
			}
		})
	}
}

// A recorded log is complete. It is incomplete if any mandatory line, the first lines or the last lines are missing, or
// if a truncation replaced the beginning by zeros.
func TestGoldenLogsAreWhole(t *testing.T) {
	eachLog(t, func(t *testing.T, dir string, _ *goldenCase) {
		detail, err := os.ReadFile(filepath.Join(dir, DetailName))
		require.NoError(t, err)
		lines := strings.SplitAfter(strings.TrimSuffix(string(detail), "\n"), "\n")
		work := t.TempDir()
		require.NoError(t, os.CopyFS(work, os.DirFS(dir)))
		whole := func(text string) *Result {
			require.NoError(t, os.WriteFile(filepath.Join(work, DetailName), []byte(text), 0o600))
			r, err := Summarize(work)
			require.NoError(t, err)
			return r
		}
		r := whole(string(detail))
		require.True(t, r.Complete, r.Missing)
		count := map[string]int{}
		keyOf := func(l string) string {
			_, rest, _ := strings.Cut(l, `{"key": "`)
			key, _, _ := strings.Cut(rest, `"`)
			return key
		}
		for _, l := range lines {
			count[keyOf(l)]++
		}
		tried := 0
		for i, l := range lines {
			key := keyOf(l)
			settings := strings.HasPrefix(key, "effective_")
			if count[key] > 1 || !settings && !isMandatory[key] || key == "loaded_qsl_set" && !r.hasSeries() {
				continue
			}
			tried++
			without := strings.Join(lines[:i], "") + strings.Join(lines[i+1:], "")
			require.False(t, whole(without).Complete, key)
		}
		require.GreaterOrEqual(t, tried, 31, "the entries of every test")
		for _, n := range []int{1, len(lines) / 4, len(lines) / 2, len(lines) - 1} {
			first, last := strings.Join(lines[:n], ""), strings.Join(lines[n:], "")
			require.False(t, whole(first).Complete, "the first %d lines of %d", n, len(lines))
			require.False(t, whole(last).Complete, "all but the first %d lines of %d", n, len(lines))
			require.False(t, whole(strings.Repeat("\x00", len(first))+last).Complete, "zeros for the first %d lines", n)
		}
	})
}
