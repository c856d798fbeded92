package datasets

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/models"
)

// testColumns is the llama3.1-8b schema with an id.
var testColumns = []models.Column{
	{Name: "instruction", Type: "text|object"},
	{Name: "input", Aliases: []string{"text_input"}, Type: "text", Role: "input"},
	{Name: "tok_input", Aliases: []string{"input_tokens"}, Type: "ids", Required: true, Role: "input_ids"},
	{Name: "output", Type: "text", Role: "target"},
	{Name: "id", Type: "text|int", Role: "id"},
}

func testOptions() Options { return Options{Columns: testColumns, Schema: "test", Vocabulary: 1000} }

func writeFile(t testing.TB, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, content, 0o644))
	return path
}

func gzipped(t testing.TB, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := w.Write(b)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return out.Bytes()
}

func zstded(t testing.TB, b []byte) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	return w.EncodeAll(b, nil)
}

func TestOpenShapes(t *testing.T) {
	const one, two = `{"instruction": {"llama": "x {input}"}, "input": "a\n\u00e9\ud83d\ude00 b", "tok_input": [1, 2,3], "output": "o\"ne", "id": "a", "more": [{"deep": [1.5e3, null, true]}]}`,
		`{"tok_input":[ 7 ],"input":"c","output":"","id":12}`
	array := "[" + one + ",\n " + two + "]\n"
	const csv = "id,input,ignored,tok_input,output\r\na,\"a\né😀 b\",x,\"[1, 2,3]\",\"o\"\"ne\"\r\n12,c,,7,\r\n"
	for name, file := range map[string]struct {
		format  string
		content []byte
	}{
		"array":           {"JSON array", []byte(array)},
		"byte order mark": {"JSON array", []byte("\xef\xbb\xbf" + array)},
		"lines":           {"JSON Lines", []byte(one + "\n" + two)},
		"lines, windows":  {"JSON Lines", []byte(one + "\r\n" + two + "\r\n\r\n")},
		"gzip":            {"JSON array, gzip", gzipped(t, []byte(array))},
		"zstd":            {"JSON Lines, zstd", zstded(t, []byte(one+"\n"+two+"\n"))},
		"CSV":             {"CSV", []byte(csv)},
		"CSV, mark":       {"CSV", []byte("\xef\xbb\xbf" + csv)},
		"CSV, gzip":       {"CSV, gzip", gzipped(t, []byte(csv))},
		"columns": {"JSON columns", []byte(`{"ignored": [{"tok_input": 1}, []], "tok_input": [[1, 2,3], [7]], "id": ["a", 12],
			"input": ["a\n\u00e9\ud83d\ude00 b", "c"] , "output":["o\"ne",""]}`)},
	} {
		content := file.content
		t.Run(name, func(t *testing.T) {
			o := testOptions()
			o.KeepText, o.KeepTarget = true, true
			path := writeFile(t, "any.suffix", content)
			d, err := Open(path, o)
			require.NoError(t, err)
			sum := sha256.Sum256(content)
			require.Equal(t, &Dataset{Path: path, SHA256: hex.EncodeToString(sum[:]), Schema: "test", Format: file.format,
				Samples: []Sample{
					{Index: 0, ID: "a", InputIDs: []int32{1, 2, 3}, InputLen: 3, Input: "a\né😀 b", Target: `o"ne`},
					{Index: 1, ID: "12", InputIDs: []int32{7}, InputLen: 1, Input: "c"},
				}}, d)
		})
	}
}

func TestOpenSingleObject(t *testing.T) {
	d, err := Open(writeFile(t, "a.json", []byte("{\n  \"tok_input\": [5]\n}\n")), testOptions())
	require.NoError(t, err)
	require.Len(t, d.Samples, 1)
}

func TestOpenKeepsOnlyRequestedFields(t *testing.T) {
	content := []byte(`[{"tok_input":[5],"input":"text","output":"target"}]`)
	d, err := Open(writeFile(t, "a.json", content), testOptions())
	require.NoError(t, err)
	require.Equal(t, []Sample{{InputIDs: []int32{5}, InputLen: 1}}, d.Samples)
}

func TestOpenTextOnlyAndMessages(t *testing.T) {
	o := Options{Columns: []models.Column{
		{Name: "tok_input", Type: "ids", Role: "input_ids"}, {Name: "input", Type: "text", Role: "input"},
		{Name: "messages", Type: "messages", Role: "messages"}}}
	d, err := Open(writeFile(t, "a.json", []byte(`[{"input":"kept because it is the prompt"}]`)), o)
	require.NoError(t, err)
	require.Equal(t, "kept because it is the prompt", d.Samples[0].Input)
	require.Zero(t, d.Samples[0].InputLen)

	d, err = Open(writeFile(t, "a.json", []byte(`{"messages":[{"role":"user","content":"x"}],"input":"dropped"}`)), o)
	require.NoError(t, err)
	require.JSONEq(t, `[{"role":"user","content":"x"}]`, string(d.Samples[0].Messages))
	require.Empty(t, d.Samples[0].Input)
}

func TestOpenLimitHashesTheWholeFile(t *testing.T) {
	content := []byte(strings.Repeat("{\"tok_input\":[5]}\n", 40_000) + "this is never read")
	o := testOptions()
	o.Limit = 3
	d, err := Open(writeFile(t, "a.jsonl", content), o)
	require.NoError(t, err)
	require.Len(t, d.Samples, 3)
	sum := sha256.Sum256(content)
	require.Equal(t, hex.EncodeToString(sum[:]), d.SHA256)
}

func TestOpenAliasAndOverride(t *testing.T) {
	path := writeFile(t, "a.json", []byte(`[{"input_tokens":[9],"tok_input":[1],"ids":[3],"text_input":"alias"}]`))
	o := testOptions()
	o.KeepText = true
	d, err := Open(path, o)
	require.NoError(t, err)
	require.Equal(t, []int32{1}, d.Samples[0].InputIDs, "the canonical name wins over an alias, whatever their order")
	require.Equal(t, "alias", d.Samples[0].Input)

	o.Overrides = map[string]string{"input_ids": "ids"}
	d, err = Open(path, o)
	require.NoError(t, err)
	require.Equal(t, []int32{3}, d.Samples[0].InputIDs)

	o.Overrides = map[string]string{"ids": "x"}
	_, err = Open(path, o)
	require.ErrorContains(t, err, `cannot map column "x" to the role "ids": the roles are input_ids, input,`)
}

func TestOpenSchemaErrors(t *testing.T) {
	path := writeFile(t, "a.json", []byte(`[{"a":1}]`))
	_, err := Open(path, Options{Schema: "s"})
	require.ErrorContains(t, err, `the schema "s" has no columns`)
	_, err = Open(path, Options{Schema: "s", Columns: []models.Column{{Name: "a", Type: "tensor"}}})
	require.ErrorContains(t, err, `a column "a" of unknown type "tensor"`)
}

// badFiles are contents that Open must reject, with the expected error.
var badFiles = []struct {
	name, content string
	record, line  int
	says          string
}{
	{"blank", " \n\n", 0, 0, "found 0 records, expected at least one"},
	{"empty array", "[ ]", 0, 0, "found 0 records"},
	{"truncated array", "[{\"tok_input\":[1]},\n", 1, 2,
		"the end of the file inside the array of records, expected a complete file; the file is truncated: get it again"},
	{"truncated record", "[{\"tok_input\":[1]},\n{\"tok_input\":[1,2", 2, 2, "the end of the file inside a record"},
	{"quote missing earlier", "[{\"tok_input\":[1]},\n{\"input:\"a b c\", \"tok_input\":[1]},\n{\"tok_input\":[1], " +
		"\"input\":\"some text\"}]", 2, 2, `expected a colon after the key`},
	{"array not closed", `[{"tok_input":[1]}`, 1, 1, "the end of the file"},
	{"no comma", "[{\"tok_input\":[1]}\n{\"tok_input\":[1]}]", 2, 2,
		"expected a comma or the end of the array after the record"},
	{"trailing comma", `[{"tok_input":[1]},]`, 2, 1, "expected a JSON object"},
	{"after the array", "[{\"tok_input\":[1]}]\nrest", 2, 2, "expected nothing after the end of the array"},
	{"not an object", `[[1,2,3]]`, 1, 1, "found an array, "},
	{"a string", `["x"]`, 1, 1, "found a string, "},
	{"lines of numbers", "{\"tok_input\":[1]}\n17\n", 2, 2, `found "17\n", expected a JSON object`},
	{"no JSON", "hello", 1, 1, `found "hello", expected a JSON object; write the data set as one JSON array of objects, or one object per line`},
	{"python", `[{"tok_input":[1], "input": None}]`, 1, 1, "expected a JSON value"},
	{"NaN", `[{"tok_input":[1], "x": NaN}]`, 1, 1, "expected a JSON value"},
	{"control character", "[{\"tok_input\":[1], \"input\": \"a\nb\"}]", 1, 1, "no raw control characters"},
	{"bad escape", `[{"tok_input":[1], "input": "\x41"}]`, 1, 1, "expected a JSON escape"},
	{"mismatched brackets", `[{"tok_input":[1}]`, 1, 1, "expected"},
	{"missing column", "[{\"tok_input\":[1]},\n{\"tok-input\":[1], \"x\":2}]", 2, 2,
		`field "tok_input": found no such field (the record has tok-input, x), expected an array of token ids (integers); rename a column of the file, or pass the column's name with --input-ids-column (the nearest name is tok-input); prompts that are only text can be sent with --model generic`},
	{"empty record", `[{}]`, 1, 1, "the record is empty"},
	{"wrong type", "[\n{\"tok_input\":\n \"text\"}]", 1, 3,
		`field "tok_input": found a string, "\"text\"", expected an array of token ids (integers); correct the field`},
	{"text is a number", `[{"tok_input":[1],"input":5}]`, 1, 1, `field "input": found a number, "5", expected a string`},
	{"null ids", `[{"tok_input":null}]`, 1, 1, `found null, "null"`},
	{"column of lists", `[{"tok_input":[[1,2],[3]]}]`, 1, 1, "one object per record, not one per column"},
	{"text among ids", `[{"tok_input":[1,"2"]}]`, 1, 1, "an array that contains a string"},
	{"float id", `[{"tok_input":[1.0]}]`, 1, 1, "the number 1.0 among the ids, expected integers"},
	{"negative id", `[{"tok_input":[3, -5]}]`, 1, 1, "the negative id -5"},
	{"huge id", `[{"tok_input":[99999999999999999999]}]`, 1, 1,
		"the id 99999999999999999999, expected ids of at most 2147483647"},
	{"id outside the vocabulary", `[{"tok_input":[1,1000]}]`, 1, 1,
		`field "tok_input": found the id 1000 at position 1, expected ids below the vocabulary's size 1000`},
	{"no ids", "[{\"tok_input\":[1]},{\"tok_input\":[ ]}]", 2, 1,
		`field "tok_input": found no token ids, expected at least one`},
	{"empty text", `[{"tok_input":[1],"input":""}]`, 1, 1, `field "input": found an empty text, expected a prompt`},
	{"duplicate id", "{\"id\":\"q\",\"tok_input\":[1]}\n{\"id\":\"r\",\"tok_input\":[1]}\n{\"id\":\"q\",\"tok_input\":[2]}", 3, 3, `field "id": found the id "q" of record 1 again`},
	{"missing id", `[{"id":"q","tok_input":[1]},{"tok_input":[1]}]`, 2, 1,
		`field "id": found no such field, expected one, because record 1 has it`},
	{"field twice", `[{"tok_input":[1],"tok_input":[2]}]`, 1, 1, `field "tok_input": found a duplicate field`},
	{"depth bomb", `[{"tok_input":[1],"x":` + strings.Repeat("[", 100_000), 1, 1, "nested more than 64 deep"},
	{"not UTF-8", "[{\"tok_input\":[1],\n\"input\":\"a\xff\"}]", 1, 2, "bytes that are not UTF-8"},
	{"half a surrogate pair", `[{"tok_input":[1],"output":"\ud800x"}]`, 1, 1,
		`field "output": found half of a surrogate pair`},
	{"parquet", "PAR1\x15\x04", 0, 0, "no Parquet footer at its end, expected a complete Parquet file"},
	{"encrypted parquet", "PARE\x15\x04", 0, 0, "an encrypted Parquet file"},
	{"pickle", "\x80\x04\x95", 0, 0, "the end of the file before the end of the pickle"},
	{"LFS pointer", "version https://git-lfs.github.com/spec/v1\n", 0, 0, "a Git LFS pointer"},
	{"HTML", "<!doctype html>", 0, 0, "HTML or XML"},
	{"UTF-16", "\xff\xfe[\x00", 0, 0, "UTF-16 text"},
}

// A file that is not of the format that was given is intact.
func TestOpenRefusesTheGivenFormat(t *testing.T) {
	const json = `[{"tok_input":[1]}]`
	for _, c := range []struct{ format, content, says string }{
		{FormatParquet, json, "found a file that begins like json, expected the format that was given, parquet"},
		{FormatNPY, "\ufeff " + json, "found a file that begins like json"},
		{FormatParquet, "tok_input\n\"[1]\"\n", "found a file that does not begin like parquet"},
		{FormatJSON, "PAR1\x15\x04", "found a file that begins like parquet, expected the format that was given, json"},
		{FormatCSV, "\x93NUMPY\x01", "found a file that begins like npy"},
		{FormatNPY, "\x80\x04\x95", "found a file that begins like pickle"},
		{FormatParquet, "PAR1\x15\x04", "no Parquet footer"},
	} {
		o := testOptions()
		o.Format = c.format
		_, err := Open(writeFile(t, "bad.json", []byte(c.content)), o)
		require.ErrorContains(t, err, c.says)
		require.Equal(t, !strings.Contains(c.says, "footer"), strings.Contains(err.Error(), "leave the format out"))
	}
}

func TestOpenRefuses(t *testing.T) {
	for _, c := range badFiles {
		t.Run(c.name, func(t *testing.T) {
			path := writeFile(t, "bad.json", []byte(c.content))
			o := testOptions()
			o.KeepTarget = true
			d, err := Open(path, o)
			require.Nil(t, d)
			var e *Error
			require.ErrorAs(t, err, &e)
			require.ErrorContains(t, err, c.says)
			require.Contains(t, err.Error(), path)
			require.Equal(t, c.record, e.Record, err)
			require.Equal(t, c.line, e.Line, err)
		})
	}
}

func TestOpenRefusesFiles(t *testing.T) {
	dir := t.TempDir()
	_, err := Open(filepath.Join(dir, "none.json"), testOptions())
	require.ErrorContains(t, err, "none.json: no such file; check the path")
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = Open(dir, testOptions())
	require.ErrorContains(t, err, "found a folder, expected a file")
	_, err = Open(writeFile(t, "e.json", nil), testOptions())
	require.ErrorContains(t, err, "found an empty file")
	_, err = Open(os.DevNull, testOptions())
	require.ErrorContains(t, err, "a pipe or a device")
}

func TestOpenLongPrompt(t *testing.T) {
	o := testOptions()
	o.MaxInputTokens = 2
	_, err := Open(writeFile(t, "a.json", []byte(`[{"tok_input":[1,2,3]}]`)), o)
	require.ErrorContains(t, err, "found 3 token ids, expected at most 2")
}

func TestOpenMixedPrompts(t *testing.T) {
	o := Options{Columns: []models.Column{{Name: "tok_input", Type: "ids", Role: "input_ids"},
		{Name: "input", Type: "text", Role: "input"}}}
	_, err := Open(writeFile(t, "a.json", []byte(`[{"tok_input":[1]},{"input":"x"}]`)), o)
	require.ErrorContains(t, err, `record 2 (line 1), field "tok_input": found no such field, expected one`)
	_, err = Open(writeFile(t, "a.json", []byte(`[{"text":"x"}]`)), o)
	require.ErrorContains(t, err, "found no prompt, expected one of the fields tok_input, input")
}

func TestOpenOverlongRecord(t *testing.T) {
	content := append([]byte(`[{"tok_input":[1],"input":"`), bytes.Repeat([]byte("x"), maxRecord+4096)...)
	_, err := Open(writeFile(t, "a.json", append(content, `"}]`...)), testOptions())
	require.ErrorContains(t, err, "record 1 (line 1): found a record of more than 64 MiB")
}

func TestOpenBadCompression(t *testing.T) {
	good := []byte(strings.Repeat(`{"tok_input":[1,2,3]}`+"\n", 5000))
	for name, pack := range map[string]func(testing.TB, []byte) []byte{"gzip": gzipped, "zstd": zstded} {
		packed := pack(t, good)
		_, err := Open(writeFile(t, "cut", packed[:len(packed)-7]), testOptions())
		require.ErrorContains(t, err, "damaged compressed data", name)
		_, err = Open(writeFile(t, "bomb", pack(t, make([]byte, freeBytes*2))), testOptions())
		require.Error(t, err, name)
		bomb := append(append([]byte(`[{"tok_input":[1]}`), bytes.Repeat([]byte(" "), freeBytes*3)...), ']')
		_, err = Open(writeFile(t, "bomb", pack(t, bomb)), testOptions())
		require.ErrorIs(t, err, errExpansion, name)
		require.ErrorContains(t, err, "grows to more than 200 times its size", name)
		_, err = Open(writeFile(t, "twice", pack(t, pack(t, good))), testOptions())
		require.ErrorContains(t, err, "unpack the file", name)
	}
}

func TestCheckGoesOn(t *testing.T) {
	path := writeFile(t, "a.jsonl", []byte("{\"tok_input\":[1]}\n{\"tok_input\":[-1]}\n"+
		"{\"tok_input\":[2]}\n{\"tok_input\":3}\n{\"tok_input\":[]}\n"))
	d, errs := Check(path, testOptions(), 10)
	require.Len(t, d.Samples, 2)
	require.Equal(t, 1, d.Samples[1].Index)
	require.NotEmpty(t, d.SHA256)
	require.Len(t, errs, 3)
	for i, record := range []int{2, 4, 5} {
		var e *Error
		require.ErrorAs(t, errs[i], &e)
		require.Equal(t, record, e.Record)
	}
	_, errs = Check(path, testOptions(), 2)
	require.Len(t, errs, 2)
}

// A column that every record lacks is reported as one fault with the number of records.
func TestCheckReportsEachFaultOnce(t *testing.T) {
	path := writeFile(t, "a.jsonl", []byte(strings.Repeat("{\"other\":[1]}\n", 4)+"{\"tok_input\":[-1]}\n"+
		"{\"other\":[1]}\n"))
	_, errs := Check(path, testOptions(), 3)
	require.Len(t, errs, 2)
	require.ErrorContains(t, errs[0], `record 1 (line 1) and 4 further records, field "tok_input": found no such field`)
	require.ErrorContains(t, errs[1], `record 5 (line 5), field "tok_input": found the negative id`)
	_, err := Open(path, testOptions())
	require.ErrorContains(t, err, `record 1 (line 1), field "tok_input"`, "reading ends there")
}

func TestNew(t *testing.T) {
	d, err := New([]Sample{{InputIDs: []int32{1, 2}}, {InputIDs: []int32{3}, Index: 9}}, Options{Vocabulary: 10})
	require.NoError(t, err)
	require.Equal(t, 2, d.Samples[0].InputLen)
	require.Equal(t, 1, d.Samples[1].Index)
	for says, samples := range map[string][]Sample{
		"found 0 samples, expected at least one":         nil,
		"record 1: found no prompt":                      {{}},
		`field "InputIDs": found no token ids`:           {{InputIDs: []int32{}}},
		"the negative id -1 at position 0":               {{InputIDs: []int32{-1}}},
		"found the id 10 at position 1":                  {{InputIDs: []int32{1, 10}}},
		`field "ID": found the id "x" of record 1 again`: {{ID: "x", Input: "a"}, {ID: "x", Input: "b"}},
		`expected a JSON array of chat messages`:         {{Messages: []byte(`{}`)}},
	} {
		_, err := New(samples, Options{Vocabulary: 10})
		require.ErrorContains(t, err, says)
		require.True(t, errors.As(err, new(*Error)))
	}
}

func FuzzOpen(f *testing.F) {
	for _, c := range badFiles {
		if len(c.content) < 4096 {
			f.Add([]byte(c.content))
		}
	}
	f.Add([]byte(`[{"tok_input":[1,2],"input":"a\u00e9","id":7}]`))
	f.Add(gzipped(f, []byte(`{"tok_input":[1]}`)))
	f.Add([]byte("id,tok_input\n1,\"[1,2]\"\n2,3 4\n"))
	f.Add([]byte(`{"tok_input":[[1],[2,3]],"id":["a","b"]}`))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, content []byte) {
		path := filepath.Join(dir, fmt.Sprintf("f%d", os.Getpid()))
		require.NoError(t, os.WriteFile(path, content, 0o644))
		o := testOptions()
		o.KeepText, o.KeepTarget = true, true
		d, err := Open(path, o)
		if err != nil {
			require.Nil(t, d)
			return
		}
		require.NotEmpty(t, d.Samples)
		for i, s := range d.Samples {
			require.Equal(t, i, s.Index)
			require.NotEmpty(t, s.InputIDs)
		}
	})
}

func TestKeptColumns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "set.jsonl")
	require.NoError(t, os.WriteFile(path, []byte(`{"text":"one","answer":"A\n","extra":[1, 2]}`+"\n"+
		`{"text":"two","extra":"x"}`+"\n"), 0o644))
	columns := []models.Column{{Name: "text", Type: "text", Role: "input"}, {Name: "answer", Type: "text"},
		{Name: "extra", Type: "any"}}
	d, err := Open(path, Options{Columns: columns, Schema: "own", Keep: []string{"extra", "answer"}})
	require.NoError(t, err)
	require.Equal(t, []string{"[1, 2]", "A\n"}, d.Samples[0].Kept)
	require.Equal(t, []string{"x", ""}, d.Samples[1].Kept)
	_, err = Open(path, Options{Columns: columns, Schema: "own", Keep: []string{"answers"}})
	require.ErrorContains(t, err, `has no column "answers"`)
}

func TestSessions(t *testing.T) {
	columns := []models.Column{{Name: "text", Type: "text", Role: "input"}}
	for name, content := range map[string]string{
		"set.jsonl": `{"text":"one","talk":"a\n"}` + "\n" + `{"text":"two","talk":7}` + "\n",
		"set.csv":   "text,talk\none,\"a\n\"\ntwo,7\n",
	} {
		path := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
		d, err := Open(path, Options{Columns: columns, Schema: "own", Overrides: map[string]string{"session": "talk"}})
		require.NoError(t, err)
		require.Equal(t, []string{"a\n", "7"}, []string{d.Samples[0].Session, d.Samples[1].Session})
		d, err = Open(path, Options{Columns: columns, Schema: "own"})
		require.NoError(t, err)
		require.Empty(t, d.Samples[0].Session)
		_, err = Open(path, Options{Columns: columns, Schema: "own", Overrides: map[string]string{"session": "thread"}})
		require.ErrorContains(t, err, `"thread"`)
	}
}
