package datasets

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mlperf-go/mlperf-go/models"
)

// converted returns the data set at path converted to another format.
func converted(t testing.TB, path, to string) []byte {
	t.Helper()
	var out bytes.Buffer
	_, err := Convert(&out, []string{path}, Options{Columns: testColumns}, to)
	require.NoError(t, err)
	return out.Bytes()
}

func TestConvertKeepsEveryValue(t *testing.T) {
	const lines = `{"id":"a","tok_input":[1,2,2147483647],"input":"é\n\"<&>\u0007","big":18446744073709551615,"wide":[1,4294967296],"n":-5,"f":0.1,"g":1e-7,"e":1E5,"yes":true,"list":["x"],"o":{"k":[1,null]},"mixed":1,"nothing":null,"":"no name"}
{"id":12,"tok_input":[7],"input":"b","big":1,"wide":[],"n":9007199254740993,"f":100.0,"g":-2.5,"e":0,"yes":null,"list":[],"o":null,"mixed":"1","nothing":null,"":"x"}
`
	path := writeFile(t, "a", []byte(lines))
	array := converted(t, path, FormatJSON)
	require.True(t, json.Valid(array))
	require.Equal(t, strings.ReplaceAll(lines, "\n{", ",\n{"),
		strings.TrimPrefix(strings.TrimSuffix(string(array), "]\n"), "[\n"))

	packed := converted(t, path, FormatParquet)
	back := converted(t, writeFile(t, "a", packed), FormatJSONL)
	want, got := strings.Split(lines, "\n"), strings.Split(string(back), "\n")
	for i := range 2 {
		require.Equal(t, values(t, want[i]), values(t, got[i]))
	}
	require.Equal(t, string(back), string(converted(t,
		writeFile(t, "a", converted(t, writeFile(t, "b", back), FormatParquet)), FormatJSONL)))
}

// values decodes a line and keeps the text of its numbers.
func values(t testing.TB, line string) (v map[string]any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(line))
	d.UseNumber()
	require.NoError(t, d.Decode(&v), line)
	return v
}

func TestConvertIsExact(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		var lines bytes.Buffer
		for i := range rapid.IntRange(1, 20).Draw(t, "rows") {
			record, err := json.Marshal(map[string]any{"id": fmt.Sprint(i),
				"tok_input": rapid.SliceOfN(rapid.Int32Range(0, 999), 1, 40).Draw(t, "ids"),
				"input":     rapid.StringN(1, 20, -1).Draw(t, "text"), "w": rapid.SliceOf(rapid.Int64()).Draw(t, "wide"),
				"f": rapid.Float64().Draw(t, "number"),
				"n": rapid.Uint64().Draw(t, "whole"), "x": rapid.SampledFrom([]any{nil, 1, "a", true, []string{"x"}}).Draw(t,
					"any")})
			require.NoError(t, err)
			lines.Write(append(record, '\n'))
		}
		through := func(content []byte, to string) []byte {
			path := dir + "/set"
			require.NoError(t, os.WriteFile(path, content, 0o644))
			var out bytes.Buffer
			done, err := Convert(&out, []string{path}, testOptions(), to)
			require.NoError(t, err)
			require.Equal(t, bytes.Count(lines.Bytes(), []byte{'\n'}), done.Records)
			return out.Bytes()
		}
		back := through(through(through(lines.Bytes(), FormatJSON), FormatParquet), FormatJSONL)
		want, got := strings.Split(strings.TrimSpace(lines.String()), "\n"),
			strings.Split(strings.TrimSpace(string(back)), "\n")
		for i := range want {
			var w, g map[string]any
			require.NoError(t, json.Unmarshal([]byte(want[i]), &w))
			require.NoError(t, json.Unmarshal([]byte(got[i]), &g))
			require.Equal(t, w, g)
		}
	})
}

func TestConvertOtherFormats(t *testing.T) {
	o := npyOptions(t, "", 2, 1)
	var out bytes.Buffer
	done, err := Convert(&out, []string{writeFile(t, "a", npyFile(1, "<i8", 2, 3, 1, 2, 9, 3, 9, 9))}, o, FormatJSONL)
	require.NoError(t, err)
	require.Equal(t, "{\"tok_input\":[1,2]}\n{\"tok_input\":[3]}\n", out.String())
	require.Equal(t, "NumPy array", done.From[0].Format)

	csv := converted(t, writeFile(t, "a", []byte("tok_input,note,\n\"[1, 2]\",\"a\r\nb\",0\n")), FormatJSONL)
	require.Equal(t, "{\"tok_input\":[1,2],\"note\":\"a\\u000d\\nb\"}\n", string(csv))
	columns := converted(t, writeFile(t, "a", []byte(`{"note":["x","y"],"tok_input":[[1],[2]]}`)), FormatJSONL)
	require.Equal(t, "{\"note\":\"x\",\"tok_input\":[1]}\n{\"note\":\"y\",\"tok_input\":[2]}\n", string(columns))
}

// TestConvertToText writes CSV and reads it back. Texts and other values of known columns stay the same.
func TestConvertToText(t *testing.T) {
	const lines = `{"id":"a","tok_input":[1,2,2147483647],"input":"é\n\"<&>, \r\n","note":"x,\"y\"","more":{"k":[1,null]}}
{"id":"b","tok_input":[7],"input":"b","note":null,"more":null}
`
	csv := converted(t, writeFile(t, "a", []byte(lines)), FormatCSV)
	require.Equal(t, "id,tok_input,input,note,more\na,\"[1,2,2147483647]\",\"é\n\"\"<&>, "+
		"\r\n\",\"x,\"\"y\"\"\",\"{\"\"k\"\":[1,null]}\"\nb,[7],b,,\n", string(csv))
	o := Options{Columns: testColumns, KeepText: true}
	want, err := Open(writeFile(t, "a", []byte(lines)), o)
	require.NoError(t, err)
	got, err := Open(writeFile(t, "a", csv), o)
	require.NoError(t, err)
	require.Equal(t, want.Samples, got.Samples)
}

// TestConvertToArray writes ids and lengths as .npy and reads both back.
func TestConvertToArray(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var lines bytes.Buffer
		for range rapid.IntRange(1, 10).Draw(rt, "rows") {
			text, _ := json.Marshal(map[string]any{"tok_input": rapid.SliceOfN(rapid.Int32Range(0, 1<<31-1), 1, 50).Draw(rt,
				"ids")})
			lines.Write(append(text, '\n'))
		}
		path := writeFile(t, "a", lines.Bytes())
		var ids, lengths bytes.Buffer
		done, err := Convert(&ids, []string{path}, Options{Columns: testColumns}, FormatNPY)
		require.NoError(rt, err)
		require.NoError(rt, done.WriteLengths(&lengths))
		want, err := Open(path, Options{Columns: testColumns})
		require.NoError(rt, err)
		got, err := Open(writeFile(t, "ids.npy", ids.Bytes()),
			Options{Columns: testColumns, Padding: Padding{Lengths: writeFile(t, "lengths.npy", lengths.Bytes())}})
		require.NoError(rt, err)
		require.Equal(rt, want.Samples, got.Samples)
	})
	require.Error(t, (&Conversion{}).WriteLengths(&bytes.Buffer{}))
}

func TestConvertRefuses(t *testing.T) {
	good := writeFile(t, "a", []byte(`{"tok_input":[1]}`))
	_, err := Convert(&bytes.Buffer{}, []string{good}, testOptions(), "xml")
	require.ErrorIs(t, err, ErrOption)
	require.ErrorContains(t, err, `cannot write a data set as "xml"; use one of json, jsonl, csv, parquet, npy`)
	for _, to := range writable {
		_, err = Convert(&bytes.Buffer{}, []string{writeFile(t, "a", []byte("{\"tok_input\":[1]}\n{\"tok_input\":[-1]}"))},
			testOptions(), to)
		require.ErrorContains(t, err, "record 2 (line 2)", to)
		_, err = Convert(full{}, []string{good}, testOptions(), to)
		require.ErrorIs(t, err, errFull, to)
	}
	_, err = Convert(&bytes.Buffer{}, []string{writeFile(t, "a", []byte(`{"tok_input":[1],"more":"\ud800"}`))},
		testOptions(), FormatParquet)
	require.ErrorContains(t, err, "an unpaired surrogate")
	require.Empty(t, FormatOfName("set.xml"))
	require.Equal(t, FormatParquet, FormatOfName("Set.Parquet"))
	_, err = Convert(&bytes.Buffer{}, []string{good}, Options{Columns: []models.Column{{Name: "a", Type: "tensor"}}},
		FormatJSON)
	require.ErrorContains(t, err, "tensor")
}

// TestConvertJoins converts several files of several formats to one set and checks it as one.
func TestConvertJoins(t *testing.T) {
	one := writeFile(t, "one", []byte(`{"id":"a","tok_input":[1],"note":"x"}`))
	two := writeFile(t, "two", converted(t, writeFile(t, "a",
		[]byte(`[{"id":"b","tok_input":[2]},{"id":"c","tok_input":[3],"n":1}]`)), FormatParquet))
	for to, want := range map[string]string{
		FormatJSONL: "{\"id\":\"a\",\"tok_input\":[1],\"note\":\"x\"}\n{\"id\":\"b\",\"n\":null," +
			"\"tok_input\":[2]}\n{\"id\":\"c\",\"n\":1,\"tok_input\":[3]}\n",
		FormatCSV: "id,tok_input,note,n\na,[1],x,\nb,[2],,\nc,[3],,1\n",
	} {
		var out bytes.Buffer
		done, err := Convert(&out, []string{one, two}, testOptions(), to)
		require.NoError(t, err)
		require.Equal(t, want, out.String())
		require.Equal(t, 3, done.Records)
		require.Len(t, done.From, 2)
		require.Equal(t, "JSON Lines", done.From[0].Format)
		require.Equal(t, ConvertedFile{Path: two, Format: "Parquet", SHA256: done.From[1].SHA256, Records: 2}, done.From[1])
		require.Len(t, done.From[1].SHA256, 64)
	}
	var ids, lengths bytes.Buffer
	done, err := Convert(&ids, []string{two, one}, testOptions(), FormatNPY)
	require.NoError(t, err)
	require.NoError(t, done.WriteLengths(&lengths))
	d, err := Open(writeFile(t, "ids", ids.Bytes()),
		Options{Columns: testColumns, Padding: Padding{Lengths: writeFile(t, "lengths", lengths.Bytes())}})
	require.NoError(t, err)
	require.Len(t, d.Samples, 3)
	require.Equal(t, []int32{1}, d.Samples[2].InputIDs)

	o := testOptions()
	o.Limit = 2
	done, err = Convert(&bytes.Buffer{}, []string{one, two}, o, FormatJSON)
	require.NoError(t, err)
	require.Equal(t, []int{1, 1, 2}, []int{done.From[0].Records, done.From[1].Records, done.Records})

	for says, files := range map[string][]string{
		`record 1 (line 1), field "id": found the id "a" of record 1 again`: {one, one},
		`record 1 (line 1), field "id": found no such field, expected one, because`: {one,
			writeFile(t, "three", []byte(`{"tok_input":[4]}`))},
		`four, record 1 (line 1), field "tok_input": found no such field`: {one, two,
			writeFile(t, "four", []byte(`{"other":[4]}`))},
		`none: no such file`: {one, t.TempDir() + "/none"},
	} {
		_, err := Convert(&bytes.Buffer{}, files, testOptions(), FormatJSONL)
		require.ErrorContains(t, err, says)
	}
}

var errFull = errors.New("full")

// full is a writer that accepts nothing.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }
