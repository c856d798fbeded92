package datasets

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mlperf-go/mlperf-go/datasets/internal/jsontext"
	"github.com/mlperf-go/mlperf-go/internal/race"
	"github.com/mlperf-go/mlperf-go/models"
)

// badCSV and badColumns are contents that Open must reject, with the expected error.
var badCSV = []struct {
	name, content string
	record, line  int
	says          string
}{
	{"header only", "tok_input,id\n", 0, 0, "found 0 records"},
	{"no known column", "prompt,answer\nx,y\n", 1, 2,
		`field "tok_input": found no such field (the record has prompt, answer)`},
	{"too few cells", "tok_input,id\n1 2,a\n3\n", 2, 3, "found 1 cells, expected 2 like the header"},
	{"too many cells", "tok_input\n1,2,3\n", 1, 2, "found 3 cells, expected 1"},
	{"text among the ids", "tok_input\n1 x 3\n", 1, 2, `field "tok_input": found "x 3" among the ids`},
	{"shortened by numpy", "tok_input\n[1 2 ... 8 9]\n", 1, 2, `"... 8 9" among the ids`},
	{"float ids", "tok_input\n\"[1.0, 2.0]\"\n", 1, 2, "the number 1.0 among the ids"},
	{"empty ids", "tok_input,id\n,a\n", 1, 2, "found null"},
	{"empty list", "tok_input\n[]\n", 1, 2, "found no token ids"},
	{"stray quote", "tok_input,input\n1,a \"b\" c\n", 1, 2, "a double quote inside an unquoted cell"},
	{"text after a quote", "tok_input,input\n1,\"a\nb\"c\n", 1, 3, `found "c" after a closing quote`},
	{"quote not closed", "tok_input,input\n1,a\n2,\"b\n", 2, 3, "the end of the file inside a quoted cell"},
	{"stray quote runs on", "tok_input,input\n1,a \"b\n2,c\n", 1, 2,
		"a double quote inside an unquoted cell"},
	{"not UTF-8", "tok_input,input\n1,a\xff\n", 1, 2, "bytes that are not UTF-8"},
	{"column twice", "tok_input,tok_input\n1,2\n", 1, 2, "a duplicate field"},
	{"duplicate id", "tok_input,id\n1,a\n2,a\n", 2, 3, `found the id "a" of record 1 again`},
}

var badColumns = []struct {
	name, content string
	says          string
}{
	{"cut in a value", `{"tok_input":[[1,2],[3`,
		"the end of the file inside the object of columns, expected a complete file"},
	{"cut between columns", `{"tok_input":[[1]],`, "the end of the file inside the object of columns"},
	{"lengths differ", `{"tok_input":[[1],[2]],"input":["a"]}`,
		`field "input": found 1 values, expected 2 like column "tok_input"`},
	{"a scalar column", `{"tok_input":[[1],[2]],"input":"a"}`,
		`field "input": found a string, "\"a\"}", expected an array of one value per record`},
	{"wrong type", `{"tok_input":[[1],"x"]}`, `record 2, field "tok_input": found a string`},
	{"brackets mixed up", `{"tok_input":[[1},[2]]}`, "record 1: found"},
	{"no comma", `{"tok_input":[[1] [2]]}`, "a comma or the end of the column after a value"},
	{"no value", `{"tok_input":[[1],,[2]]}`, "expected a JSON value"},
	{"text after it", `{"tok_input":[[1]]} x`, "nothing after the object of columns"},
	{"depth bomb", `{"tok_input":[[1],` + strings.Repeat("[", 100_000), "nested more than 64 deep"},
	{"no rows", `{"tok_input":[],"input":[]}`, "found 0 records, expected at least one"},
}

func TestOpenRefusesCSV(t *testing.T) {
	for _, c := range badCSV {
		t.Run(c.name, func(t *testing.T) {
			o := testOptions()
			o.Format = FormatCSV
			d, err := Open(writeFile(t, "bad", []byte(c.content)), o)
			require.Nil(t, d)
			var e *Error
			require.ErrorAs(t, err, &e)
			require.ErrorContains(t, err, c.says)
			require.Equal(t, c.record, e.Record, err)
			require.Equal(t, c.line, e.Line, err)
		})
	}
}

func TestOpenRefusesColumns(t *testing.T) {
	for _, c := range badColumns {
		t.Run(c.name, func(t *testing.T) {
			d, err := Open(writeFile(t, "bad", []byte(c.content)), testOptions())
			require.Nil(t, d)
			var e *Error
			require.ErrorAs(t, err, &e)
			require.ErrorContains(t, err, c.says)
		})
	}
}

func TestOverlongRows(t *testing.T) {
	long := bytes.Repeat([]byte("x"), maxRecord+4096)
	_, err := Open(writeFile(t, "a.csv", append([]byte("tok_input,input\n1,"), long...)), testOptions())
	require.ErrorContains(t, err, "record 1 (line 2): found a row of more than 64 MiB")
	_, err = Open(writeFile(t, "a.json", append([]byte(`{"tok_input":[[1]],"input":["`), long...)), testOptions())
	require.ErrorContains(t, err, "found a value of more than 64 MiB")
	_, err = Open(writeFile(t, "a.json", append([]byte(`{"other":[1],"more":[`),
		bytes.Repeat([]byte("1,"), maxRecord/2+4096)...)), testOptions())
	require.ErrorContains(t, err, "found too many values, expected at most 4194304")
}

func TestCSVBomb(t *testing.T) {
	bomb := append([]byte("tok_input,input\n1,\""), bytes.Repeat([]byte("x\n"), freeBytes*2)...)
	for name, pack := range map[string]func(testing.TB, []byte) []byte{"gzip": gzipped, "zstd": zstded} {
		_, err := Open(writeFile(t, name, pack(t, bomb)), testOptions())
		require.Error(t, err)
		require.Regexp(t, "a row of more than 64 MiB|grows to more than 200 times", err.Error())
	}
}

func TestFormatComesFromContentOrOption(t *testing.T) {
	o := testOptions()
	o.Format = "xml"
	_, err := Open(writeFile(t, "a", []byte("x")), o)
	require.ErrorContains(t, err, `unknown format "xml"; use one of auto, json, csv`)

	// An object that fits the schema of a record is a record, even if all its values are arrays.
	columns := []models.Column{{Name: "messages", Type: "messages", Role: "messages"}, {Name: "extra", Type: "array"}}
	for content, n := range map[string]int{
		`{"extra":[1],"messages":[{"role":"user"}]}`:                     1,
		`{"extra":[[1],[2]],"messages":[[{"role":"a"}],[{"role":"b"}]]}`: 2,
		"{\"messages\":[{\"a\":1}]}\n{\"messages\":[{\"a\":2}]}\n":       2,
	} {
		d, err := Open(writeFile(t, "a", []byte(content)), Options{Columns: columns})
		require.NoError(t, err)
		require.Len(t, d.Samples, n, content)
	}

	// A column that is not in the schema may be larger than any record.
	unknown := append(append([]byte(`{"other":["`), bytes.Repeat([]byte("y"), 1<<20)...), `"],"tok_input":[[1]]}`...)
	d, err := Open(writeFile(t, "a", unknown), testOptions())
	require.NoError(t, err)
	require.Equal(t, "JSON columns", d.Format)
}

func TestCSVCellsByType(t *testing.T) {
	columns := []models.Column{{Name: "text", Type: "text", Role: "input"}, {Name: "flag", Type: "bool"},
		{Name: "n", Type: "number"},
		{Name: "o", Type: "object"}, {Name: "chat", Type: "messages", Role: "messages"}}
	keep := []string{"flag", "n", "o"}
	content := "text,flag,n,o,chat,\n\"a\r\nb\t\",True,1.5,\"{\"\"k\"\":1}\",\"[{\"\"role\"\":\"\"user\"\"}]\",9\n"
	d, err := Open(writeFile(t, "a", []byte(content)), Options{Columns: columns, Keep: keep, KeepText: true})
	require.NoError(t, err)
	require.Equal(t, "a\r\nb\t", d.Samples[0].Input, "nothing in a prompt is changed, line ends included")
	require.Equal(t, []string{"true", "1.5", `{"k":1}`}, d.Samples[0].Kept)
	_, err = Open(writeFile(t, "a", []byte("text,n\nx,many\n")), Options{Columns: columns})
	require.ErrorContains(t, err, `field "n": found a string, "\"many\"", expected a number`)
}

func TestCheckGoesOnAfterABadRow(t *testing.T) {
	_, errs := Check(writeFile(t, "a", []byte("tok_input\n1\nx\n2,3\n4\n-5\n")), testOptions(), 10)
	require.Len(t, errs, 3)
	for i, record := range []int{2, 3, 5} {
		var e *Error
		require.ErrorAs(t, errs[i], &e)
		require.Equal(t, record, e.Record)
	}
}

func TestQuotedTextIsJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		var back string
		require.NoError(t, json.Unmarshal(jsontext.AppendQuoted(nil, text), &back))
		require.Equal(t, text, back)
	})
}

// FuzzCSV compares the rows with those of encoding/csv, except for content with carriage returns, which encoding/csv
// drops.
func FuzzCSV(f *testing.F) {
	for _, c := range badCSV {
		f.Add([]byte(c.content))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		if bytes.IndexByte(content, '\r') >= 0 {
			return
		}
		want, wantErr := csvRows(content)
		c := newCSV(newFramer(bytes.NewReader(content)), &plan{}, true)
		for i := 0; ; i++ {
			line, _, err := c.readRow()
			if err == io.EOF {
				require.NoError(t, wantErr)
				require.Len(t, want, i)
				return
			}
			if err != nil || c.row.split(line) != nil {
				require.Error(t, wantErr)
				return
			}
			if i == len(want) {
				require.Error(t, wantErr)
				return
			}
			require.Len(t, c.row.cells, len(want[i]))
			for j, cell := range want[i] {
				require.Equal(t, cell, string(c.row.cell(j)))
			}
		}
	})
}

// csvRows returns the rows before the first one that encoding/csv rejects.
func csvRows(content []byte) (rows [][]string, err error) {
	r := csv.NewReader(bytes.NewReader(content))
	r.FieldsPerRecord = -1
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return rows, err
		}
		rows = append(rows, row)
	}
}

// bigIDs is the length of a row in the big sets.
const bigIDs = 1024

// bigRows is the number of rows in the big sets: a few, or with DATASETS_BENCH=1, as make bench sets it, the largest
// token set of the benchmarks (llama2-70b's rows at their longest). bigMemory bounds the resident size in bytes of a
// process that reads one: 16 bytes per id, for pickles, and 40 MB for the process itself.
var bigRows, bigMemory = func() (rows int, memory int64) {
	rows = 2048
	if os.Getenv("DATASETS_BENCH") != "" {
		rows = 24_576
	}
	if race.Enabled {
		rows = 512
	}
	return rows, int64(rows)*bigIDs*16 + 40_000_000
}()

// bigID returns the id at a position of the big set.
func bigID(row, i int) int { return (row*7919 + i*104729) % 128_000 }

func bigList(dst []byte, row int, between string) []byte {
	for i := range bigIDs {
		if i > 0 {
			dst = append(dst, between...)
		}
		dst = strconv.AppendInt(dst, int64(bigID(row, i)), 10)
	}
	return dst
}

// bigSets write the big set in one format each.
var bigSets = map[string]func(t *testing.T, f *os.File){
	"JSON array": func(t *testing.T, f *os.File) { writeBigArray(t, f) },
	"JSON array, gzip": func(t *testing.T, f *os.File) {
		w, err := gzip.NewWriterLevel(f, gzip.BestSpeed)
		require.NoError(t, err)
		writeBigArray(t, w)
		require.NoError(t, w.Close())
	},
	"JSON array, zstd": func(t *testing.T, f *os.File) {
		w, err := zstd.NewWriter(f, zstd.WithEncoderLevel(zstd.SpeedFastest))
		require.NoError(t, err)
		writeBigArray(t, w)
		require.NoError(t, w.Close())
	},
	"JSON Lines": func(t *testing.T, f *os.File) {
		writeBig(t, f, "", "{\"tok_input\":[", ", ", "],\"input\":\"text\"}\n", "")
	},
	"JSON columns": func(t *testing.T, f *os.File) {
		writeBig(t, f, `{"tok_input":[[1]`, ",[", ", ", "]", "]}")
	},
	"Parquet": func(t *testing.T, f *os.File) {
		type row struct {
			TokInput []int64 `parquet:"tok_input,list,plain"`
			Input    string  `parquet:"input,dict"`
		}
		w := parquet.NewGenericWriter[row](f, parquet.Compression(&parquet.Snappy), parquet.MaxRowsPerRowGroup(4096))
		for i := range bigRows {
			r := row{Input: "text"}
			for j := range bigIDs {
				r.TokInput = append(r.TokInput, int64(bigID(i, j)))
			}
			_, err := w.Write([]row{r})
			require.NoError(t, err)
		}
		require.NoError(t, w.Close())
	},
	"pickle": func(t *testing.T, f *os.File) {
		w := bufio.NewWriter(f)
		w.WriteString("\x80\x02](")
		for i := range bigRows {
			w.WriteString("}(X\x05\x00\x00\x00inputX\x04\x00\x00\x00textX\x09\x00\x00\x00tok_input](")
			for j := range bigIDs {
				w.Write(binary.LittleEndian.AppendUint32([]byte{'J'}, uint32(bigID(i, j))))
			}
			w.WriteString("eu")
		}
		w.WriteString("e.")
		require.NoError(t, w.Flush())
	},
	"NumPy": func(t *testing.T, f *os.File) {
		w := bufio.NewWriter(f)
		w.Write(npyFile(1, "<i8", bigRows, bigIDs))
		for i := range bigRows {
			for j := range bigIDs {
				w.Write(binary.LittleEndian.AppendUint64(nil, uint64(bigID(i, j))))
			}
		}
		require.NoError(t, w.Flush())
		lengths := slices.Repeat([]int64{bigIDs}, bigRows)
		require.NoError(t, os.WriteFile(f.Name()+bigLengths, npyFile(1, "<i4", bigRows, 0, lengths...), 0o644))
	},
	"CSV": func(t *testing.T, f *os.File) {
		writeBig(t, f, "input,tok_input\n", "\"a, text\",\"[", ", ", "]\"\n", "")
	},
}

// bigLengths is the suffix of the companion file with lengths.
const bigLengths = ".lengths"

func writeBigArray(t *testing.T, w io.Writer) {
	writeBig(t, w, `[{"tok_input":[1],"input":"text"}`, `,{"tok_input":[`, ", ", "],\"input\":\"text\"}", "]")
}

func writeBig(t *testing.T, f io.Writer, begin, before, between, after, end string) {
	row := []byte(begin)
	for i := range bigRows {
		row = append(bigList(append(row, before...), i, between), after...)
		_, err := f.Write(row)
		require.NoError(t, err)
		row = row[:0]
	}
	_, err := io.WriteString(f, end)
	require.NoError(t, err)
}

// peakMemory returns a process's largest resident size from /proc/self/status. (Rusage would include the parent's
// before the exec.)
var peakMemory = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

// TestBigSets reads each big set in a child process and measures its time and peak memory.
func TestBigSets(t *testing.T) {
	if path := os.Getenv("DATASETS_TEST_BIG"); path != "" {
		d, err := Open(path, Options{Columns: testColumns, Vocabulary: 128_000, MaxInputTokens: bigIDs,
			Padding: Padding{Lengths: path + bigLengths}})
		require.NoError(t, err)
		last := d.Samples[len(d.Samples)-1]
		require.GreaterOrEqual(t, len(d.Samples), bigRows)
		require.Equal(t, int32(bigID(bigRows-1, bigIDs-1)), last.InputIDs[bigIDs-1])
		status, err := os.ReadFile("/proc/self/status")
		require.NoError(t, err)
		fmt.Println(string(status))
		return
	}
	table := fmt.Sprintf("%d rows of %d ids       s  CPU s   MB of file  peak MB", bigRows, bigIDs)
	mostCPU, mostMemory := 0.0, int64(0)
	for _, name := range slices.Sorted(maps.Keys(bigSets)) {
		write := bigSets[name]
		t.Run(name, func(t *testing.T) {
			f, err := os.CreateTemp(t.TempDir(), "big")
			require.NoError(t, err)
			write(t, f)
			require.NoError(t, f.Close())
			cmd := exec.Command(os.Args[0], "-test.run=^TestBigSets$", "-test.v")
			cmd.Env = append(os.Environ(), "DATASETS_TEST_BIG="+f.Name())
			start := time.Now()
			out, err := cmd.CombinedOutput()
			took := time.Since(start)
			require.NoError(t, err, string(out))
			found := peakMemory.FindSubmatch(out)
			require.NotNil(t, found, string(out))
			peak, err := strconv.ParseInt(string(found[1])+"000", 10, 64)
			require.NoError(t, err)
			info, err := os.Stat(f.Name())
			require.NoError(t, err)
			cpu := (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
			table += fmt.Sprintf("\n%-20s %7.2f %6.2f %12d %8d", name, took.Seconds(), cpu, info.Size()/1e6, peak/1e6)
			mostCPU, mostMemory = max(mostCPU, cpu), max(mostMemory, peak)
			if !race.Enabled {
				require.Less(t, peak, bigMemory)
			}
		})
	}
	t.Log(table)
	fmt.Printf("MEASURED datasets/cpu %.2f s\nMEASURED datasets/memory %d MB\n", mostCPU, mostMemory/1e6)
}
