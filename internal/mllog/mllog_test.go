package mllog

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/race"
	"pgregory.net/rapid"
)

// line returns an entry in LoadGen's format.
func line(key, value string, isError, isWarning bool) string {
	return fmt.Sprintf(`:::MLLOG {"key": "%s", "value": %s, "time_ms": 12.345678, "namespace": "mlperf::logging", `+
		`"event_type": "POINT_IN_TIME", "metadata": {"is_error": %t, "is_warning": %t, "file": "x.cc", "line_no": 1, `+
		`"pid": 2, "tid": 3}}`+"\n", key, value, isError, isWarning)
}

func readAll(t testing.TB, text string) ([]Entry, Detail) {
	t.Helper()
	var entries []Entry
	d, err := ReadDetail(strings.NewReader(text), func(e *Entry) error {
		c := *e
		c.Value = bytes.Clone(e.Value)
		entries = append(entries, c)
		return nil
	})
	require.NoError(t, err)
	return entries, d
}

func TestValues(t *testing.T) {
	for _, c := range []struct {
		raw  string
		want any
	}{
		{`"plain"`, "plain"},
		{`"a "quoted" name"`, `a "quoted" name`},
		{`"tail \"`, `tail \`},
		{`"C:\dir"`, `C:\dir`},
		{`"line\nbreak"`, "line\nbreak"},
		{`"\tfirst"`, "\tfirst"},
		{`""`, ""},
		{`"`, `"`},
		{`"x", "time_ms": 1, "y"`, `x", "time_ms": 1, "y`},
		{`12`, int64(12)},
		{`16159082839903944936`, uint64(16159082839903944936)},
		{`-5`, int64(-5)},
		{`1e+06`, 1e6},
		{`0.99`, .99},
		{`-nan`, "-nan"},
		{`inf`, "inf"},
		{`true`, true},
		{`false`, false},
	} {
		entries, d := readAll(t, line("k", c.raw, false, false))
		require.Len(t, entries, 1, c.raw)
		require.Equal(t, c.want, entries[0].Value.Any(), c.raw)
		require.Zero(t, d.Broken)
		require.InDelta(t, 12.345678, entries[0].TimeMS, 1e-9)
	}
}

func TestDetailOfBrokenLogs(t *testing.T) {
	good := line("result_validity", `"VALID"`, false, false)
	for name, c := range map[string]struct {
		text    string
		entries int
		want    Detail
	}{
		"empty":                  {"", 0, Detail{}},
		"whole":                  {good + good, 2, Detail{Lines: 2}},
		"no final newline":       {strings.TrimSuffix(good+good, "\n"), 2, Detail{Lines: 2}},
		"cut in the last line":   {good + good[:len(good)/2], 1, Detail{Lines: 2, Truncated: true}},
		"cut in the last marker": {good + ":::ML", 1, Detail{Lines: 1, Foreign: 1, FirstForeign: 2, Truncated: true}},
		"cut in the middle":      {good + good[:40] + "\n" + good, 2, Detail{Lines: 3, Broken: 1, FirstBroken: 2}},
		"foreign text":           {"hello\n\n" + good, 1, Detail{Lines: 1, Foreign: 2, FirstForeign: 1}},
		"another layout":         {`:::MLLOG {"value":1,"key":"a","metadata":{"is_error":true}}` + "\n", 1, Detail{Lines: 1}},
		"zeros of a full disk": {good + string(make([]byte, 100)), 1,
			Detail{Lines: 1, Foreign: 1, FirstForeign: 2, NULs: 1, Truncated: true}},
	} {
		t.Run(name, func(t *testing.T) {
			entries, d := readAll(t, c.text)
			require.Len(t, entries, c.entries)
			require.Equal(t, c.want, d)
		})
	}
}

func TestDetailStopsAtTheCallersError(t *testing.T) {
	stop := errors.New("enough")
	_, err := ReadDetail(strings.NewReader(line("a", "1", false, false)), func(*Entry) error { return stop })
	require.ErrorIs(t, err, stop)
	require.EqualError(t, err, "line 1: enough")
}

func TestDetailReadsLongLines(t *testing.T) {
	list := "[" + strings.Repeat("1234567,", 1<<18) + "1]"
	entries, _ := readAll(t, line("loaded_qsl_set", list, false, false)+line("b", "1", false, false))
	require.Len(t, entries, 2)
	require.Equal(t, list, string(entries[0].Value))

	_, err := ReadDetail(endless{}, func(*Entry) error { return nil })
	require.ErrorIs(t, err, errLongLine)
}

// endless is a file that consists of one endless line.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '{'
	}
	return len(p), nil
}

const footer = "\nNo warnings encountered during test.\n\nNo errors encountered during test.\n"

// begun returns the lines of a test's log before its first query.
func begun(mode string) string {
	text := ""
	for _, k := range mandatory[0].keys {
		value := "1"
		switch k {
		case "effective_test_mode":
			value = strconv.Quote(mode)
		case "effective_scenario":
			value = `"Offline"`
		}
		text += line(k, value, false, false)
	}
	return text
}

// performanceLog returns the smallest complete performance log. TestGoldenLogsAreWhole compares the table of keys with
// real logs.
func performanceLog(validity string) map[string]string {
	detail := begun("PerformanceOnly")
	for _, k := range slices.Concat(mandatory[1].keys, mandatory[2].keys, []string{"result_samples_per_second"}) {
		switch k {
		case "result_validity":
			detail += line(k, strconv.Quote(validity), false, false)
		case "num_errors":
		default:
			detail += line(k, "1", false, false)
		}
	}
	return map[string]string{
		DetailName:   detail + line("num_errors", "0", false, false),
		SummaryName:  "Result is : " + validity + "\n" + footer,
		AccuracyName: "[\n]\n",
	}
}

func writeLogs(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	return dir
}

func TestSummarizeReportsMissingKeys(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(map[string]string)
		missing string
		valid   string
	}{
		"complete":  {func(map[string]string) {}, "", "true"},
		"no footer": {func(f map[string]string) { f[SummaryName] = "Result is : VALID\n" }, "count of errors", "true"},
		"footer with errors": {func(f map[string]string) {
			f[SummaryName] = "Result is : VALID\n3 ERRORS encountered. See detailed log.\n"
		}, "", "true"},
		"no verdict":         {func(f map[string]string) { f[SummaryName] = footer }, "has no verdict", "true"},
		"no opening bracket": {func(f map[string]string) { f[AccuracyName] = "{}]\n" }, "does not begin with [", "true"},
		"a foreign line": {func(f map[string]string) { f[DetailName] = "hello\n" + f[DetailName] },
			"1 line that LoadGen did not write, the first is line 1", "true"},
		"zeros in the detail log": {func(f map[string]string) {
			f[DetailName] = strings.Repeat("\x00", 100) + f[DetailName]
		}, "NUL bytes", "true"},
		"zeros in the summary": {func(f map[string]string) { f[SummaryName] = "\x00\x00\n" + f[SummaryName] },
			"NUL bytes", "true"},
		"zeros in the accuracy log": {func(f map[string]string) {
			f[AccuracyName] = "[" + strings.Repeat("\x00", readBuffer) +
				"]"
		}, "NUL bytes", "true"},
		"no closing bracket":  {func(f map[string]string) { f[AccuracyName] = "[\n" }, "does not end with ]", "true"},
		"empty accuracy file": {func(f map[string]string) { f[AccuracyName] = "" }, "does not end with ]", "true"},
		"no accuracy file":    {func(f map[string]string) { delete(f, AccuracyName) }, "no such file", "true"},
		"no summary":          {func(f map[string]string) { delete(f, SummaryName) }, "no such file", "true"},
		"no detail log":       {func(f map[string]string) { delete(f, DetailName) }, "no such file", "true"},
		"files disagree": {func(f map[string]string) {
			f[SummaryName] = "Result is : INVALID\n" + footer
		}, "", "false"},
		"cut detail log": {func(f map[string]string) {
			f[DetailName] = f[DetailName][:len(f[DetailName])-20]
		}, "is incomplete", "true"},
		"detail log without its last line": {func(f map[string]string) {
			f[DetailName] = f[DetailName][:strings.LastIndex(f[DetailName], ":::MLLOG")]
		}, "lacks 1 entry that LoadGen always writes: num_errors", "true"},
		"interrupted before the result": {func(f map[string]string) {
			f[DetailName] = begun("PerformanceOnly")
			f[SummaryName], f[AccuracyName] = "", "[\n"
		}, "lacks 22 entries that LoadGen always writes: loaded_qsl_set,", "nil"},
		"interrupted accuracy test": {func(f map[string]string) {
			f[DetailName] = begun("AccuracyOnly")
			f[SummaryName] = footer
		}, "lacks 6 entries", "nil"},
	} {
		t.Run(name, func(t *testing.T) {
			files := performanceLog("VALID")
			c.change(files)
			r, err := Summarize(writeLogs(t, files))
			require.NoError(t, err)
			require.Equal(t, c.missing == "", r.Complete, r.Missing)
			require.Contains(t, strings.Join(r.Missing, "; "), c.missing)
			valid := "nil"
			if r.Valid != nil {
				valid = strconv.FormatBool(*r.Valid)
			}
			require.Equal(t, c.valid, valid)
		})
	}
}

// LoadGen's own count includes errors that it wrote to neither file, and one of the two files may lack some. Summarize
// therefore uses the largest count.
func TestSummarizeBelievesTheLargestCountOfErrors(t *testing.T) {
	for name, c := range map[string]struct {
		change func(map[string]string)
		want   int
	}{
		"none": {func(map[string]string) {}, 0},
		"in num_errors": {func(f map[string]string) {
			f[DetailName] = strings.Replace(f[DetailName], `"num_errors", "value": 0`, `"num_errors", "value": 2`, 1)
		}, 2},
		"in the summary": {func(f map[string]string) {
			f[SummaryName] = "Result is : VALID\n3 ERRORS encountered. See detailed log.\n"
		}, 3},
		"one in the summary": {func(f map[string]string) {
			f[SummaryName] = "Result is : VALID\n1 ERROR encountered. See detailed log.\n"
		}, 1},
		"in the lines": {func(f map[string]string) {
			f[DetailName] = line("error_runtime", `"a"`, true, false) + line("error_runtime", `"a"`, true, false) + f[DetailName]
		}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			files := performanceLog("VALID")
			c.change(files)
			r, err := Summarize(writeLogs(t, files))
			require.NoError(t, err)
			require.True(t, r.Complete, r.Missing)
			require.Equal(t, c.want, r.Errors)
		})
	}
}

// The text of a message does not make an entry an error; only the mark after its time does.
func TestErrorsAreMarkedBehindTheTime(t *testing.T) {
	said := `"the server sent {\"is_error\": true}, \"is_warning\": true"`
	files := performanceLog("VALID")
	files[DetailName] = line("generic_message", said, false, false) + line("error_runtime", said, true, false) +
		files[DetailName]
	files[DetailName] = strings.ReplaceAll(files[DetailName], `\"`, `"`) // LoadGen does not escape quotes
	r, err := Summarize(writeLogs(t, files))
	require.NoError(t, err)
	require.True(t, r.Complete, r.Missing)
	require.Equal(t, 1, r.Errors)
	require.Zero(t, r.Warnings)
}

func TestSummarizeCountsErrorsAndKeepsTheFirstValue(t *testing.T) {
	files := performanceLog("INVALID")
	for i := range 30 {
		files[DetailName] += line("error_runtime", fmt.Sprintf(`"broken %d"`, i%25), true, false)
	}
	files[DetailName] += line("warning_generic_message", `"slow"`, false, true) + line("result_validity", `"VALID"`, false,
		false)
	r, err := Summarize(writeLogs(t, files))
	require.NoError(t, err)
	require.Equal(t, 30, r.Errors)
	require.Equal(t, 1, r.Warnings)
	require.Len(t, r.ErrorTexts, maxTexts)
	require.Equal(t, Text{"error_runtime", "broken 0", 2}, r.ErrorTexts[0])
	require.Equal(t, []Text{{"warning_generic_message", "slow", 1}}, r.WarningTexts)
	require.Equal(t, "INVALID", r.Result["result_validity"])
	require.False(t, *r.Valid)
}

func TestSummarizeOfAFolderWithoutLogs(t *testing.T) {
	_, err := Summarize(t.TempDir())
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.ErrorContains(t, err, "no LoadGen log in")
}

// A file that cannot be read is an error and never counts as a complete log.
func TestSummarizeOfUnreadableLogs(t *testing.T) {
	for name := range performanceLog("VALID") {
		dir := writeLogs(t, performanceLog("VALID"))
		require.NoError(t, os.Remove(filepath.Join(dir, name)))
		require.NoError(t, os.Mkdir(filepath.Join(dir, name), 0o755))
		_, err := Summarize(dir)
		require.ErrorContains(t, err, filepath.Join(dir, name))
		require.ErrorIs(t, err, syscall.EISDIR)
	}
}

// A log that is not an array is read line by line. Lines that are not records are counted and skipped.
func TestAccuracyLines(t *testing.T) {
	record := func(id int, data string) string {
		return fmt.Sprintf(`{ "seq_id" : %d, "qsl_idx" : 5, "data" : "%s" }`, id, data)
	}
	long := strings.Repeat("ab", 2*readBuffer)
	text := strings.Join([]string{
		"[", record(0, "00") + ",", "  " + record(1, "01") + " ,\r", "", "junk", record(2, long), record(3, "0"),
		record(4, "04")[1:], record(5, "05") + "x", "]",
		record(6, "06"),
	}, "\n")
	path := filepath.Join(t.TempDir(), AccuracyName)
	for _, end := range []string{"", "\n"} {
		require.NoError(t, os.WriteFile(path, []byte(text+end), 0o644))
		var ids, records []int
		a, left, err := ReadAccuracyLines(path, func(e *AccuracyEntry) error {
			ids, records = append(ids, int(e.SeqID)), append(records, e.Record)
			if e.SeqID == 2 {
				require.Equal(t, long, hex.EncodeToString(e.Data))
			}
			return nil
		})
		require.NoError(t, err)
		require.Equal(t, []int{0, 1, 2, 6}, ids)
		require.Equal(t, []int{1, 2, 3, 4}, records)
		require.Equal(t, Accuracy{Records: 4}, a)
		require.Equal(t, 4, left)
	}
	stop := errors.New("enough")
	a, _, err := ReadAccuracyLines(path, func(*AccuracyEntry) error { return stop })
	require.ErrorIs(t, err, stop)
	require.ErrorContains(t, err, path+": record 1")
	require.Equal(t, 1, a.Records)
	_, _, err = ReadAccuracyLines(t.TempDir(), func(*AccuracyEntry) error { return nil })
	require.ErrorIs(t, err, syscall.EISDIR)
	_, _, err = ReadAccuracyLines(path+"x", func(*AccuracyEntry) error { return nil })
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func TestAccuracyOfBrokenLogs(t *testing.T) {
	const one = `{ "seq_id" : 3, "qsl_idx" : 5, "data" : "DEAD0B", "token_data" : "07000000", "token_count" : 3 }`
	for name, c := range map[string]struct {
		text string
		want Accuracy
		err  string
	}{
		"empty file":          {"", Accuracy{Truncated: true}, ""},
		"no record":           {"[\n]\n", Accuracy{}, ""},
		"no bracket":          {"[\n" + one, Accuracy{Records: 1, Truncated: true}, ""},
		"cut record":          {"[\n" + one + ",\n" + one[:40], Accuracy{Records: 1, Truncated: true}, ""},
		"cut after the comma": {"[\n" + one + ",\n", Accuracy{Records: 1, Truncated: true}, ""},
		"one line":            {"[" + one + "," + one + "]", Accuracy{Records: 2}, ""},
		"no list":             {"hello", Accuracy{}, `found 'h', expected the opening [`},
		"another bracket": {"[(" + one[1:] + "]", Accuracy{},
			`after record 0: found '(', expected a record or the closing ]`},
		"more after the end": {"[]x", Accuracy{}, `found 'x', expected the end of the file`},
		"no comma is fine":   {"[" + one + one + "]", Accuracy{Records: 2}, ""},
		"odd hex": {strings.Replace("["+one+"]", "DEAD0B", "DEAD0", 1), Accuracy{Records: 1},
			"record 1: its data is not hexadecimal"},
		"no hex": {strings.Replace("["+one+"]", "DEAD0B", "ZZ", 1), Accuracy{Records: 1},
			"record 1: its data is not hexadecimal"},
		"no seq_id": {`[{ "qsl_idx" : 5, "data" : "" }]`, Accuracy{Records: 1}, "record 1: it has no seq_id"},
		"no data":   {`[{ "seq_id" : 5, "qsl_idx" : 5 }]`, Accuracy{Records: 1}, "record 1: it has no data"},
		"huge number": {`[{ "seq_id" : 99999999999999999999, "qsl_idx" : 5, "data" : "" }]`, Accuracy{Records: 1},
			"seq_id is not an integer"},
		"unknown field": {`[{ "x" : 5 }]`, Accuracy{Records: 1}, `unknown field "x"`},
		"no field":      {`[{ }]`, Accuracy{Records: 1}, "not of the form"},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := ReadAccuracy(strings.NewReader(c.text), func(e *AccuracyEntry) error {
				require.Equal(t, []byte{0xde, 0xad, 0x0b}, e.Data)
				require.Equal(t, []byte{7, 0, 0, 0}, e.TokenData)
				require.EqualValues(t, 3, e.TokenCount)
				return nil
			})
			require.Equal(t, c.want, a)
			if c.err == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, c.err)
			}
		})
	}
}

// If reading fails at any byte, ReadAccuracy returns that error after it has read the records before it. If the log is
// cut at any byte before its closing bracket, it is reported as truncated.
func TestAccuracyThatBreaksOff(t *testing.T) {
	const one = `{ "seq_id" : 3, "qsl_idx" : 5, "data" : "DEAD0B", "token_data" : "", "token_count" : 3 }`
	const text = "[\n" + one + ",\n " + one + "\n]\n"
	broken := errors.New("the disk is broken")
	for n := range len(text) + 1 {
		whole := strings.Count(text[:n], "}")
		records := 0
		count := func(*AccuracyEntry) error { records++; return nil }
		a, err := ReadAccuracy(io.MultiReader(strings.NewReader(text[:n]), iotest.ErrReader(broken)), count)
		require.ErrorIs(t, err, broken, "after %q", text[:n])
		require.Equal(t, whole, records)
		require.False(t, a.Truncated)

		a, err = ReadAccuracy(strings.NewReader(text[:n]), func(*AccuracyEntry) error { return nil })
		require.NoError(t, err, "%q", text[:n])
		require.Equal(t, Accuracy{Records: whole, Truncated: !strings.Contains(text[:n], "]")}, a, "%q", text[:n])
	}
}

// An invalid last line counts as skipped, even if it is short, with or without a line feed.
func TestLastLineThatIsNoRecord(t *testing.T) {
	path := filepath.Join(t.TempDir(), AccuracyName)
	for last, want := range map[string]int{"": 0, "x": 1, "{": 1, "}": 1, "{}": 1, "xy": 1, "[": 0, "]": 0, ",": 0,
		" ": 0} {
		for _, end := range []string{"", "\n", "\r\n"} {
			require.NoError(t, os.WriteFile(path, []byte("[\n"+last+end), 0o600))
			a, left, err := ReadAccuracyLines(path, func(*AccuracyEntry) error { return nil })
			require.NoError(t, err)
			require.Equal(t, []int{0, want}, []int{a.Records, left}, "%q", last+end)
		}
	}
}

// Reading a record without an end stops at the size limit.
func TestAccuracyRecordWithoutEnd(t *testing.T) {
	if testing.Short() || race.Enabled {
		t.Skip("reads a record of 256 MiB")
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := ReadAccuracy(io.MultiReader(strings.NewReader(`[{ "seq_id" : 3, "qsl_idx" : 5, "data" : "`), endless{}),
		func(*AccuracyEntry) error { return nil })
	runtime.ReadMemStats(&after)
	require.Error(t, err)
	require.NotContains(t, err.Error(), "\n")
	require.Less(t, len(err.Error()), 1000)
	require.Less(t, after.Sys-before.Sys, uint64(4*MaxRecord))
}

func TestAccuracyRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		answers := rapid.SliceOf(rapid.SliceOf(rapid.Byte())).Draw(t, "answers")
		var b strings.Builder
		b.WriteByte('[')
		for i, a := range answers {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, "\n{ \"seq_id\" : %d, \"qsl_idx\" : %d, \"data\" : \"%X\", \"token_count\" : %d }", i, i*2, a, -i)
		}
		b.WriteString("\n]\n")
		text := b.String()
		cut := rapid.IntRange(0, len(text)).Draw(t, "cut")
		for _, input := range []string{text, text[:cut]} {
			got, err := ReadAccuracy(strings.NewReader(input), func(e *AccuracyEntry) error {
				if i := e.Record - 1; !bytes.Equal(e.Data, answers[i]) || e.SeqID != int64(i) || e.TokenCount != int64(-i) {
					return fmt.Errorf("read %+v", e)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			// A truncated file still counts as complete only if nothing but white space after the closing bracket is
			// missing.
			if whole := len(strings.TrimSpace(input)) == len(strings.TrimSpace(text)); got.Truncated == whole {
				t.Fatalf("truncated %t at %d of %d", got.Truncated, len(input), len(text))
			}
		}
	})
}

func FuzzReadDetail(f *testing.F) {
	f.Add([]byte(line("a", `"b"`, false, true)))
	f.Add([]byte(line("a", `"b"`, true, false)[:50]))
	f.Add([]byte(`:::MLLOG {"key":"a","value":[1,{"x":2}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		entries := 0
		d, err := ReadDetail(bytes.NewReader(data), func(e *Entry) error {
			entries++
			e.Value.Any()
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if unread := d.Lines - entries - d.Broken; unread < 0 || unread > 1 || (unread == 1) && !d.Truncated {
			t.Fatalf("%d entries of %+v", entries, d)
		}
	})
}

func FuzzReadAccuracy(f *testing.F) {
	f.Add([]byte("[\n{ \"seq_id\" : 3, \"qsl_idx\" : 5, \"data\" : \"DEAD0B\", \"token_data\" : \"07\", \"token_count\" " +
		": 3 }\n]\n"))
	f.Add([]byte("[\n]\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		_, _ = ReadAccuracy(bytes.NewReader(data), func(e *AccuracyEntry) error {
			if len(e.Data)*2 > len(data) || e.SeqID < 0 || e.QSLIdx < 0 {
				t.Fatalf("read %+v", e)
			}
			return nil
		})
	})
}

func BenchmarkReadDetail(b *testing.B) {
	text := []byte(strings.Repeat(line("error_runtime", `"something went wrong here"`, true, false), 20000))
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ReadDetail(bytes.NewReader(text), func(*Entry) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReadAccuracy(b *testing.B) {
	var t bytes.Buffer
	t.WriteString("[")
	answer := hex.EncodeToString(bytes.Repeat([]byte{1, 0xf5, 0, 0}, 1024))
	for i := range 2000 {
		if i > 0 {
			t.WriteByte(',')
		}
		fmt.Fprintf(&t, "\n{ \"seq_id\" : %d, \"qsl_idx\" : %d, \"data\" : \"%s\", \"token_data\" : \"01F50000\", "+
			"\"token_count\" : 1024 }", i, i, answer)
	}
	t.WriteString("\n]\n")
	b.SetBytes(int64(t.Len()))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ReadAccuracy(bytes.NewReader(t.Bytes()), func(*AccuracyEntry) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}
