package mllog

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Integers of an accuracy log up to the largest, and other text.
func TestIntegers(t *testing.T) {
	for text, want := range map[string]int64{"0": 0, "-1": -1, "12,": 12, "007 ": 7, "9223372036854775807": math.MaxInt64,
		"-9223372036854775807": -math.MaxInt64, "5:": 5, "5/": 5, "5a": 5, "-0": 0} {
		v, rest, err := integer("x", []byte(text))
		require.NoError(t, err, text)
		require.Equal(t, want, v)
		require.Equal(t, strings.TrimLeft(text, "-0123456789"), string(rest))
	}
	for _, text := range []string{"", "-", "a", "--1", "+1", " 1", "9223372036854775808", "9999999999999999999",
		"10000000000000000000", "10000000000000000009", "00000000000000000001"} {
		_, _, err := integer("x", []byte(text))
		require.ErrorContains(t, err, "its x is not an integer", text)
	}
}

// Strings end with a quotation mark.
func TestQuoted(t *testing.T) {
	for text, want := range map[string][]string{`""`: {"", ""}, `"a" :`: {"a", " :"}, `"a""b"`: {"a", `"b"`}} {
		inner, rest, ok := quoted([]byte(text))
		require.True(t, ok)
		require.Equal(t, want, []string{string(inner), string(rest)})
	}
	for _, text := range []string{"", `"`, `"a`, `a"`, ` "a"`} {
		_, _, ok := quoted([]byte(text))
		require.False(t, ok, text)
	}
	for text, want := range map[string]string{
		`[{ "seq_id" : 3, "qsl_idx" : 5, "data" : "AB }]`:    "its data is not a string",
		`[{ "seq_id" : 3, "qsl_idx" : 5, "data" : AB }]`:     "its data is not a string",
		`[{ "seq_id" : 3, "qsl_idx" : 5, "data" : "AB" x }]`: "not of the form",
		`[{ "seq_id" : 3, "qsl_idx" : 5, "data" : "AB", }]`:  "not of the form",
		`[{ "seq_id" 3, "qsl_idx" : 5, "data" : "AB" }]`:     "not of the form",
		`[{ "seq_id" }]`:                                                                                  "not of the form",
		`[{ seq_id : 3 }]`:                                                                                "not of the form",
		`[{ "seq_id" : 3, "data" : "AB" }]`:                                                               "it has no qsl_idx",
		`[{ "seq_id" : -1, "qsl_idx" : 0, "data" : "AB" }]`:                                               "it has no seq_id",
		`[{ "seq_id" : 0, "qsl_idx" : -1, "data" : "AB" }]`:                                               "it has no qsl_idx",
		`[{ "seq_id" : 0, "qsl_idx" : 0, "token_data" : "AG" }]`:                                          "its token_data is not hexadecimal",
		`[{ "seq_id" : 0, "qsl_idx" : 0, "token_count" : "1" }]`:                                          "its token_count is not an integer",
		`[{ "seq_id" : 0, "qsl_idx" : "0" }]`:                                                             "its qsl_idx is not an integer",
		`[,{ "seq_id" : 0, "qsl_idx" : 0, "data" : "AB" }]`:                                               "after record 0: found ','",
		`[{ "seq_id" : 0, "qsl_idx" : 0, "data" : "AB" },,]`:                                              "after record 1: found ','",
		"\t\r\n [ \t\r\n{\t\r\n\"seq_id\"\t\r\n:\t\r\n0,\"qsl_idx\":0,\"data\":\"\"\t\r\n}\t\r\n]\t\r\n ": "",
		`[{ "seq_id" : 0, "qsl_idx" : 0, "data" : "" },]`:                                                 "",
	} {
		n := 0
		_, err := ReadAccuracy(strings.NewReader(text), func(e *AccuracyEntry) error {
			n++
			require.True(t, want != "" || e.Record == 1 && e.SeqID == 0 && len(e.Data) == 0)
			return nil
		})
		if want != "" {
			require.ErrorContains(t, err, want, text)
			continue
		}
		require.NoError(t, err, text)
		require.Equal(t, 1, n)
	}
}

// A record does not take the fields of the one before it.
func TestFieldsOfEachRecord(t *testing.T) {
	var list []AccuracyEntry
	_, err := ReadAccuracy(strings.NewReader(`[{ "seq_id" : 1, "qsl_idx" : 2, "data" : "AB", "token_data" : "CD", `+
		`"token_count" : 4 }, { "seq_id" : 0, "qsl_idx" : 0, "data" : "", "token_count" : 0 },
		{ "seq_id" : 5, "qsl_idx" : 6, "data" : "`+strings.Repeat("EF", 100)+`" }]`), func(e *AccuracyEntry) error {
		own := *e
		own.Data = append([]byte{}, e.Data...)
		if e.TokenData != nil {
			own.TokenData = append([]byte{}, e.TokenData...)
		}
		list = append(list, own)
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, []AccuracyEntry{
		{SeqID: 1, QSLIdx: 2, Data: []byte{0xab}, TokenData: []byte{0xcd}, TokenCount: 4, HasTokens: true, Record: 1},
		{Data: []byte{}, HasTokens: true, Record: 2},
		{SeqID: 5, QSLIdx: 6, Data: []byte(strings.Repeat("\xef", 100)), Record: 3}}, list)
}

// The brackets of short and long accuracy logs.
func TestBracketsOfAccuracyLogs(t *testing.T) {
	long := strings.Repeat(" x", accuracyEdge)
	path := filepath.Join(t.TempDir(), AccuracyName)
	for text, want := range map[string]string{
		"[]": "", "[\n]\n": "", "[": "does not end with ]", "]": "does not begin with [", "": "does not end with ]",
		"[" + long + "]": "", "[" + long: "does not end with ]", long + "]": "does not begin with [",
		" \n[" + long + "]\n ": "", "[\x00]": "has NUL bytes", "[" + long + "\x00" + long + "]": "has NUL bytes",
		"x[" + long + "]": "does not begin with [", "[" + long + "]x": "does not end with ]",
	} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		r := &Result{}
		require.NoError(t, r.checkAccuracy(path), "%q", text)
		if want == "" {
			require.Empty(t, r.Missing, "%q", text)
			continue
		}
		require.Len(t, r.Missing, 1, "%q", text)
		require.Contains(t, r.Missing[0], want, "%q", text)
	}
	require.ErrorIs(t, (&Result{}).checkAccuracy(path+"x"), os.ErrNotExist)
}

// Rates of LoadGen's search.
func TestRates(t *testing.T) {
	for text, want := range map[string]float64{"1": 1, "0.5": 0.5, "999999999999": 999999999999, "1e-9": 1e-9} {
		v, err := rate(text)
		require.NoError(t, err)
		require.Equal(t, want, v)
	}
	for _, text := range []string{"", "0", "-1", "1e12", "NaN", "Inf", "1e400", "x"} {
		_, err := rate(text)
		require.ErrorIs(t, err, errRate, text)
	}
	for text, want := range map[string][3]string{"1, 2)x": {"1", "2", "x"}, "1": {"1", "", ""}, "1, 2": {"1", "2", ""}} {
		low, high, rest := interval(text)
		require.Equal(t, want, [3]string{low, high, rest})
	}
}

// The highest rate that met the limits and the lowest that did not, in any order.
func TestRangeOfASearch(t *testing.T) {
	yes, no := true, false
	for _, c := range []struct {
		tests     []PeakTest
		low, high float64
	}{
		{nil, 0, 0}, {[]PeakTest{{Rate: 5}}, 0, 0}, {[]PeakTest{{Rate: 5, Met: &yes}}, 5, 0},
		{[]PeakTest{{Rate: 5, Met: &no}}, 0, 5},
		{[]PeakTest{{Rate: 5, Met: &yes}, {Rate: 4, Met: &yes}, {Rate: 9, Met: &no}, {Rate: 8, Met: &no}, {Rate: 7}}, 5, 8},
		{[]PeakTest{{Rate: 8, Met: &no}, {Rate: 9, Met: &no}, {Rate: 4, Met: &yes}, {Rate: 6, Met: &yes}}, 6, 8},
	} {
		low, high := (&Peak{Tests: c.tests}).Range()
		require.Equal(t, []float64{c.low, c.high}, []float64{low, high}, "%v", c.tests)
	}
}

// A line whose time is not a number is broken, and a summary counts the lines of its log.
func TestTimesThatAreNotNumbers(t *testing.T) {
	whole := line("a", "1", false, false)
	for _, ms := range []string{"x", "", "1,5", "1e999"} {
		entries, d := readAll(t, whole+strings.Replace(whole, "12.345678", ms, 1)+whole)
		require.Len(t, entries, 2, ms)
		require.Equal(t, Detail{Lines: 3, Broken: 1, FirstBroken: 2}, d, ms)
	}
	files := performanceLog("VALID")
	r, err := Summarize(writeLogs(t, files))
	require.NoError(t, err)
	require.Equal(t, Detail{Lines: strings.Count(files[DetailName], "\n")}, r.Detail)
}
