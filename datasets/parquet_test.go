package datasets

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/snappy"
	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/models"
)

// foreignRow is a row in the forms that other programs write.
type foreignRow struct {
	ID       string     `parquet:"id,plain"`
	TokInput []int64    `parquet:"tok_input,list,plain"`
	Input    string     `parquet:"input,dict"`
	Output   *string    `parquet:"output,optional,dict"`
	Image    foreignPic `parquet:"image"`
	Classes  []string   `parquet:"classes,list,dict"`
	Score    float64    `parquet:"score,plain"`
	Yes      bool       `parquet:"yes"`
	Plain    []int32    `parquet:"bare,plain"` // a repeated leaf, without the groups of a list
	Big      uint64     `parquet:"big,plain"`
}

type foreignPic struct {
	Bytes []byte  `parquet:"bytes,plain"`
	Path  *string `parquet:"path,optional,plain"`
}

func foreignRows(n int) []foreignRow {
	rows := make([]foreignRow, n)
	for i := range rows {
		rows[i] = foreignRow{ID: fmt.Sprint("q", i), TokInput: []int64{int64(i), 7, 999},
			Input: fmt.Sprintf("a\n\"é\" %d", i%3),
			Image: foreignPic{Bytes: []byte{0xff, byte(i)}}, Classes: []string{"x", "y"}[:i%3%2+i%2], Score: float64(i) / 4,
			Yes: i%2 == 0, Big: 1<<63 + uint64(i)}
		if i%2 == 0 {
			out := fmt.Sprint("o", i)
			rows[i].Output = &out
			rows[i].Plain = []int32{-1, int32(i)}
		}
	}
	return rows
}

func foreignFile(t testing.TB, rows []foreignRow, o ...parquet.WriterOption) []byte {
	t.Helper()
	var b bytes.Buffer
	w := parquet.NewGenericWriter[foreignRow](&b,
		append(o, parquet.PageBufferSize(256), parquet.MaxRowsPerRowGroup(40))...)
	_, err := w.Write(rows)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.Bytes()
}

func TestParquetOfOtherWriters(t *testing.T) {
	rows := foreignRows(100)
	for name, o := range map[string][]parquet.WriterOption{
		"v1":     {parquet.DataPageVersion(1)},
		"v2":     {parquet.DataPageVersion(2)},
		"snappy": {parquet.DataPageVersion(1), parquet.Compression(&parquet.Snappy)},
		"gzip":   {parquet.DataPageVersion(2), parquet.Compression(&parquet.Gzip)},
		"zstd":   {parquet.DataPageVersion(1), parquet.Compression(&parquet.Zstd)},
	} {
		t.Run(name, func(t *testing.T) {
			file := foreignFile(t, rows, o...)
			op := testOptions()
			op.KeepText, op.KeepTarget = true, true
			d, err := Open(writeFile(t, "a.json", file), op)
			require.NoError(t, err)
			require.Equal(t, "Parquet", d.Format)
			require.Len(t, d.Samples, len(rows))
			for i, s := range d.Samples {
				require.Equal(t, []int32{int32(i), 7, 999}, s.InputIDs)
				require.Equal(t, rows[i].ID, s.ID)
				require.Equal(t, rows[i].Input, s.Input)
				if rows[i].Output != nil {
					require.Equal(t, *rows[i].Output, s.Target)
				}
			}
			var out bytes.Buffer
			done, err := Convert(&out, []string{writeFile(t, "a", gzipped(t, file))}, op, FormatJSONL)
			require.NoError(t, err)
			require.Equal(t, "Parquet, gzip", done.From[0].Format)
			lines := strings.Split(strings.TrimSpace(out.String()), "\n")
			require.Len(t, lines, len(rows))
			require.JSONEq(t, `{"id":"q4","tok_input":[4,7,999],"input":"a\n\"é\" 1","output":"o4","image":{"bytes":"/wQ=","path":null},"classes":["x"],
				"score":1.0,"yes":true,"bare":[-1,4],"big":9223372036854775812}`, lines[4])
			require.Contains(t, lines[4], `"big":9223372036854775812`)
			require.Contains(t, lines[3], `"bare":[]`)
		})
	}
}

func TestParquetReadsOnlyWantedColumns(t *testing.T) {
	type row struct {
		TokInput []int32 `parquet:"tok_input,list,plain"`
		Picture  []byte  `parquet:"picture,plain"`
	}
	path := filepath.Join(t.TempDir(), "a")
	f, err := os.Create(path)
	require.NoError(t, err)
	w := parquet.NewGenericWriter[row](f, parquet.MaxRowsPerRowGroup(64))
	const rows = 300
	picture := make([]byte, 256<<10)
	for i := range rows { // 75 MB of images
		_, err := w.Write([]row{{[]int32{int32(i)}, picture}})
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	require.NoError(t, f.Close())
	d, err := grownBy(t, 16<<20, func() (*Dataset, error) { return Open(path, testOptions()) })
	require.NoError(t, err)
	require.Len(t, d.Samples, rows)

	// Wanted columns are read page by page.
	o := testOptions()
	o.Columns = append(o.Columns[:len(o.Columns):len(o.Columns)], models.Column{Name: "picture", Type: "any"})
	d, err = grownBy(t, 400<<20, func() (*Dataset, error) { return Open(path, o) })
	require.NoError(t, err)
	require.Len(t, d.Samples, rows)
}

// grownBy fails the test if do allocates more than most bytes in total.
func grownBy(t *testing.T, most uint64, do func() (*Dataset, error)) (*Dataset, error) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	d, err := do()
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, most)
	return d, err
}

func TestParquetWrongTypes(t *testing.T) {
	for says, rows := range map[string]any{
		`field "tok_input": found "abc" among the ids`: []struct {
			TokInput string `parquet:"tok_input,plain"`
		}{{"abc"}},
		`an array that contains a string`: []struct {
			TokInput []string `parquet:"tok_input,list,plain"`
		}{{[]string{"abc"}}},
		`the number 1.5 among the ids`: []struct {
			TokInput []float64 `parquet:"tok_input,list,plain"`
		}{{[]float64{1.5}}},
		`the negative id -3`: []struct {
			TokInput []int64 `parquet:"tok_input,list,plain"`
		}{{[]int64{-3}}},
		`the id 4294967296`: []struct {
			TokInput []int64 `parquet:"tok_input,list,plain"`
		}{{[]int64{1 << 32}}},
		`found no token ids`: []struct {
			TokInput []int64 `parquet:"tok_input,list,plain"`
		}{{}},
		`no such field (the record has tokens, more)`: []struct {
			T []int64 `parquet:"tokens,list,plain"`
			M string  `parquet:"more,plain"`
		}{{}},
		`found the compression brotli, expected plain`: []struct {
			TokInput []int64 `parquet:"tok_input,list,brotli,plain"`
		}{{[]int64{3}}},
	} {
		_, err := Open(writeFile(t, "a", writeAny(t, rows)), testOptions())
		require.ErrorContains(t, err, says)
	}
}

func writeAny(t *testing.T, rows any) []byte {
	t.Helper()
	var b bytes.Buffer
	w := parquet.NewWriter(&b)
	for list, i := reflect.ValueOf(rows), 0; i < list.Len(); i++ {
		require.NoError(t, w.Write(list.Index(i).Interface()))
	}
	require.NoError(t, w.Close())
	return b.Bytes()
}

func TestParquetCutAnywhere(t *testing.T) {
	file := foreignFile(t, foreignRows(5))
	for n := 4; n < len(file); n += 1 + n/97 {
		_, err := Open(writeFile(t, "a", file[:n]), testOptions())
		require.ErrorContains(t, err, "no Parquet footer at its end, expected a complete Parquet file", n)
	}
	// The footer is complete, but it points to missing data.
	hole := append(file[:4:4], file[len(file)/2:]...)
	_, err := Open(writeFile(t, "a", hole), testOptions())
	require.Error(t, err)
	_, err = Open(writeFile(t, "a", append(append(file[:len(file)-8:len(file)-8], 0xff, 0xff, 0xff, 0x7f), "PAR1"...)),
		testOptions())
	require.ErrorContains(t, err, "found a footer of 2147483647 bytes in a file of")
}

// th writes a Thrift struct in the compact protocol, given as field numbers and values.
type th struct {
	field int
	value any // int, string, bool, []th (a struct), [][]th (a list of structs)
}

func thriftOf(fields []th) []byte {
	var b []byte
	for _, f := range fields {
		kind, body := byte(thriftI64), []byte(nil)
		switch v := f.value.(type) {
		case int:
			body = binary.AppendVarint(nil, int64(v))
		case string:
			kind, body = thriftBinary, append(binary.AppendUvarint(nil, uint64(len(v))), v...)
		case []th:
			kind, body = thriftStruct, thriftOf(v)
		case [][]th:
			kind, body = thriftList, binary.AppendUvarint([]byte{15<<4 | thriftStruct}, uint64(len(v)))
			for _, e := range v {
				body = append(body, thriftOf(e)...)
			}
		}
		b = append(binary.AppendVarint(append(b, kind), int64(f.field)), body...)
	}
	return append(b, 0)
}

// lie describes a Parquet file with one text column and one page. Tests can falsify any of its numbers.
type lie struct {
	rows, values, codec, unpacked, packed, encoding, optional int
	pageKind                                                  int
	body                                                      []byte
	dictionary                                                []byte
	dictValues, offset, length                                int
}

// honest returns a file of n rows with the given body.
func honest(n int, body []byte) lie {
	return lie{rows: n, values: n, unpacked: len(body), packed: len(body), body: body}
}

func (l lie) file() []byte {
	b := []byte("PAR1")
	dictionaryAt := 0
	if l.dictionary != nil {
		dictionaryAt = len(b)
		b = append(append(b, thriftOf([]th{{1, pageDictionary}, {2, len(l.dictionary)}, {3, len(l.dictionary)},
			{7, []th{{1, l.dictValues}, {2, encPlain}}}})...), l.dictionary...)
	}
	start := len(b)
	b = append(append(b, thriftOf([]th{{1, l.pageKind}, {2, l.unpacked}, {3, l.packed},
		{5, []th{{1, l.values}, {2, l.encoding}, {3, encRLE}, {4, encRLE}}}})...), l.body...)
	meta := []th{{1, pqBytes}, {4, l.codec}, {5, l.values}, {7, len(b) - 4 + l.length}, {9, start + l.offset}}
	if dictionaryAt > 0 {
		meta = append(meta, th{11, dictionaryAt})
	}
	footer := thriftOf([]th{{1, 1}, {2, [][]th{{{4, "root"}, {5, 1}},
		{{1, pqBytes}, {3, l.optional}, {4, "input"}, {6, 0}}}}, {3, l.rows},
		{4, [][]th{{{1, [][]th{{{3, meta}}}}, {3, l.rows}}}}})
	return append(binary.LittleEndian.AppendUint32(append(b, footer...), uint32(len(footer))), "PAR1"...)
}

func plainTexts(texts ...string) (b []byte) {
	for _, s := range texts {
		b = append(binary.LittleEndian.AppendUint32(b, uint32(len(s))), s...)
	}
	return b
}

func TestParquetWithFalseSizes(t *testing.T) {
	two := plainTexts("one", "two")
	columns := []models.Column{{Name: "input", Type: "text", Role: "input"}}
	with := func(change func(*lie)) []byte {
		l := honest(2, two)
		change(&l)
		return l.file()
	}
	d, err := Open(writeFile(t, "a", with(func(*lie) {})), Options{Columns: columns})
	require.NoError(t, err)
	require.Equal(t, "two", d.Samples[1].Input)

	big := bytes.Repeat([]byte("x"), 32<<20)
	bomb := zstded(t, plainTexts(string(big)))
	for _, c := range []struct {
		name string
		file []byte
		says string
	}{
		{"more rows", with(func(l *lie) { l.rows = 3 }),
			`record 3, field "input": found fewer values than rows in the footer`},
		{"fewer rows", with(func(l *lie) { l.rows = 1 }), "more values than rows in the footer"},
		{"rows without end", with(func(l *lie) { l.rows = 1 << 60 }), "a row group of 1152921504606846976 rows"},
		{"negative rows", with(func(l *lie) { l.rows = -1 }), "a row group of -1 rows"},
		{"more values", with(func(l *lie) { l.values = 3 }), "a byte string longer than its page"},
		{"values without end", with(func(l *lie) { l.values = 1 << 31 }), "a page header with 2147483648 values"},
		{"page of 2 GiB", with(func(l *lie) { l.unpacked = 1<<31 - 1 }),
			"2147483647 when unpacked, expected pages of at most 512 MiB"},
		{"page of more than that", with(func(l *lie) { l.unpacked = 1 << 40 }),
			"1099511627776 when unpacked, in a column with"},
		{"packed page of 2 GiB", with(func(l *lie) { l.packed = 1<<31 - 1 }), "a page of 2147483647 bytes"},
		{"negative page", with(func(l *lie) { l.packed = -5 }), "a page of -5 bytes"},
		{"text longer than its page", honest(1, append([]byte{0xff, 0xff, 0xff, 0xff}, "abc"...)).file(),
			"a byte string longer than its page"},
		{"column beyond the file", with(func(l *lie) { l.length = 1 << 40 }), "a column of 109951162"},
		{"column before the file", with(func(l *lie) { l.offset = -1 << 40 }), "a column of"},
		{"no header there", with(func(l *lie) { l.offset = 9 }), "found"},
		{"unknown encoding", with(func(l *lie) { l.encoding = 77 }), "values in encoding 77"},
		{"unknown compression", with(func(l *lie) { l.codec = 77 }), "the compression 77"},
		{"no dictionary", with(func(l *lie) {
			l.encoding = encDictionary
			l.body = []byte{1, 2 << 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
		}), "index 0 in a dictionary of 0 values"},
		{"snappy's own length", with(func(l *lie) {
			l.codec = 1
			l.body = append(binary.AppendUvarint(nil, 1<<31), 0)
			l.packed = len(l.body)
		}), "a snappy page whose size"},
		{"snappy", with(func(l *lie) { l.codec = 1; l.body = snappy.Encode(nil, two)[:9]; l.packed = 9 }),
			"a corrupt page"},
		{"zstd bomb that says so", lie{rows: 1, values: 1, codec: 6, unpacked: len(big) + 4, packed: len(bomb),
			body: bomb}.file(), "found"},
		{"zstd bomb that lies", lie{rows: 1, values: 1, codec: 6, unpacked: 64, packed: len(bomb), body: bomb}.file(),
			"more bytes than in its header"},
		{"gzip bomb that lies", lie{rows: 1, values: 1, codec: 2, unpacked: 64, packed: len(gzipped(t, big)),
			body: gzipped(t, big)}.file(), "more bytes than in its header"},
		{"levels longer than their page", with(func(l *lie) {
			l.optional = 1
			l.body = append([]byte{0xff, 0xff, 0xff, 0x7f}, two...)
			l.packed = len(l.body)
		}), "truncated levels"},
		{"truncated levels", with(func(l *lie) {
			l.optional = 1
			l.body = append([]byte{2, 0, 0, 0, 2, 1}, two...)
			l.packed = len(l.body)
		}), "truncated run lengths"},
		{"a text of every row", lie{rows: 1 << 20, values: 1 << 20, encoding: encDictionary,
			body: append(binary.AppendUvarint([]byte{0}, 1<<21), 0), unpacked: 5, packed: 5,
			dictionary: plainTexts(string(big[:1<<20])), dictValues: 1}.file(), "grows to more than 200 times its size"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := writeFile(t, "a", c.file)
			d, err := grownBy(t, 900<<20, func() (*Dataset, error) { return Open(path, Options{Columns: columns}) })
			require.Nil(t, d)
			var e *Error
			require.ErrorAs(t, err, &e)
			require.ErrorContains(t, err, c.says)
		})
	}
}

// The reader must not allocate memory for the count of a Thrift list before it reads the elements.
func TestThriftListLengthsAreChecked(t *testing.T) {
	lying := append([]byte{0x19, 15<<4 | thriftStruct}, binary.AppendUvarint(nil, 1<<40)...)
	_, _, err := readThrift(lying)
	require.ErrorIs(t, err, errThriftCut)
	deep := bytes.Repeat([]byte{0x1c}, 1000)
	_, _, err = readThrift(deep)
	require.ErrorIs(t, err, errThriftBad)
}

func FuzzParquet(f *testing.F) {
	f.Add(foreignFile(f, foreignRows(3), parquet.DataPageVersion(1)))
	f.Add(foreignFile(f, foreignRows(3), parquet.DataPageVersion(2), parquet.Compression(&parquet.Snappy)))
	f.Add(honest(2, plainTexts("a", "b")).file())
	p, err := newPlan(testOptions())
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, content []byte) {
		r, err := newParquet(bytes.NewReader(content), int64(len(content)), p, true)
		for n := 0; err == nil && n < 1000; n++ {
			var record []byte
			if record, _, err = r.next(); err == nil {
				require.True(t, validJSON(record) || !bytes.Equal(bytes.ToValidUTF8(record, nil), record), "%q", record)
			}
		}
	})
}
