package datasets

import (
	"bytes"
	"encoding/binary"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

// A map in a file's structures is passed over, whatever its size, and what follows is read.
func TestMapsAreSkipped(t *testing.T) {
	for pairs := range 4 {
		b := []byte{byte(pairs)}
		if pairs > 0 {
			b = append(b, 5<<4|5) // keys and values are integers
			for range 2 * pairs {
				b = append(b, 14)
			}
		}
		r := thriftReader{b: append(b, 99)}
		r.mapping(0)
		require.NoError(t, r.err, pairs)
		require.Equal(t, byte(99), r.octet(), pairs)
	}
}

// A page may have no values, and at most so many.
func TestCountsOfPages(t *testing.T) {
	for n, fits := range map[int64]bool{0: true, 1: true, maxPageValues: true, maxPageValues + 1: false, -1: false} {
		got, f := pqCount(n)
		require.Equal(t, fits, f == nil, n)
		if fits {
			require.Equal(t, int(n), got)
		}
	}
}

// Files that only begin like packed ones are faults.
func TestBrokenPackedFiles(t *testing.T) {
	for _, text := range []string{"\x1f\x8b", "\x1f\x8bx", "\x1f\x8b\x08\xff", "\x28\xb5\x2f\xfd", "\x28\xb5\x2f\xfdxyz"} {
		path := writeFile(t, "d.jsonl", []byte(text))
		_, err := Open(path, testOptions())
		require.ErrorContains(t, err, "found damaged compressed data", "%q", text)
		_, err = UnpackedSHA256(path)
		require.ErrorContains(t, err, "found damaged compressed data", "%q", text)
	}
}

// Columns of a JSON object are held in memory up to a limit. Columns of no interest do not count.
func TestColumnsAreHeldUpToALimit(t *testing.T) {
	const text = `{"other": ["123456789", null], "id": ["abc", "d"]}`
	for free, fits := range map[int]bool{8: true, 7: false, 0: false} {
		p, err := newPlan(testOptions())
		require.NoError(t, err)
		c := newColumns(newFramer(strings.NewReader(text)), p, false)
		c.f.peek() // as the detection of the format does
		c.bytes = maxColumnar - free
		if err = c.readAll(); fits {
			require.NoError(t, err, free)
			require.Equal(t, [][]byte{[]byte(`"abc"`), []byte(`"d"`)}, c.kept[1])
		} else {
			require.ErrorContains(t, err, "columns of more than 2048 MiB", free)
		}
	}
}

// A footer lies between the marks at both ends of a file.
func TestLengthsOfFooters(t *testing.T) {
	for length, says := range map[uint32]string{0: "an invalid footer", 8: "an invalid footer",
		9: "a footer of 9 bytes in a file of 20", 21: "a footer of 21 bytes in a file of 20", maxFooter + 1: "a footer of"} {
		file := binary.LittleEndian.AppendUint32([]byte("PAR1\xff\xff\xff\xff\xff\xff\xff\xff"), length)
		_, f := pqFooter(bytes.NewReader(append(file, "PAR1"...)), 20)
		require.NotNil(t, f, length)
		require.Contains(t, f.found, says, length)
	}
}

// The schema of a Parquet file is whole, and describes at least one column.
func TestSchemasOfParquet(t *testing.T) {
	root := func(kids int) []th { return []th{{4, "root"}, {5, kids}} }
	column := []th{{1, pqBytes}, {3, 0}, {4, "input"}}
	for name, elements := range map[string][][]th{"none": {}, "no columns": {root(0)},
		"a column is missing": {root(2), column}, "one too many": {root(1), column, column}} {
		footer := thriftOf([]th{{1, 1}, {2, elements}, {3, 0}, {4, [][]th{}}})
		file := binary.LittleEndian.AppendUint32(append([]byte("PAR1"), footer...), uint32(len(footer)))
		_, err := Open(writeFile(t, "a", append(file, "PAR1"...)), testOptions())
		require.ErrorContains(t, err, "expected a complete Parquet file", name)
	}
}

// Truth values may be written in runs, after the length of these in four bytes.
func TestRunsOfTruthValues(t *testing.T) {
	for _, c := range []struct {
		body string
		n    int
		want []uint64
	}{
		{"\x02\x00\x00\x00\x06\x01", 3, []uint64{1, 1, 1}},
		{"\x02\x00\x00\x00\x03\x05", 4, []uint64{1, 0, 1, 0}},
		{"\x00\x00\x00\x00", 0, []uint64{}},
		{"\x02\x00\x00", 3, nil},
		{"\x02\x00\x00\x00\x06", 3, nil},
	} {
		column := &pqColumn{node: &pqNode{physical: pqBoolean}}
		require.NotNil(t, column.data([]byte(c.body), 77, c.n), "%q in an unknown encoding", c.body)
		f := column.data([]byte(c.body), encRLE, c.n)
		require.Equal(t, c.want == nil, f != nil, "%q", c.body)
		if f == nil {
			require.Equal(t, c.want, append([]uint64{}, column.values.numbers...), "%q", c.body)
		}
	}
}

// Ids of the synthetic vocabulary are those of bytes, the first 256, of invented words, and the first of a prompt.
func TestIDsOfTheSyntheticVocabulary(t *testing.T) {
	for id, known := range map[int32]bool{-1: false, 0: true, 255: true, 256: false, SynthBOS: true,
		synthSpacedWord - 1: false, synthSpacedWord: true, synthBareWord + SynthWords - 1: true,
		synthBareWord + SynthWords: false} {
		require.Equal(t, known, synthIDs([]int32{synthSpacedWord, synthSpacedWord, id}), id)
	}
}

// Each option is an answer of some question.
func TestLettersOfSyntheticAnswers(t *testing.T) {
	seen := map[string]bool{}
	for i := range 200 {
		a := letterOf("ABCD")(&generator{state: uint64(i)}, i)
		require.Equal(t, "Answer: "+a.truth, a.text)
		seen[a.truth] = true
	}
	require.Equal(t, map[string]bool{"A": true, "B": true, "C": true, "D": true}, seen)
}

// A part of a prompt with half of a surrogate pair is a fault of its column.
func TestPartsAreText(t *testing.T) {
	const parts = `{"product_title": "Mug", "product_description": "\ud800", "product_image": "`
	_, err := Open(writeFile(t, "a.json", []byte(parts+base64Of(tinyJPEG)+`"}`)), productOptions())
	require.ErrorContains(t, err, `field "product_description": found`)
}

// A text may be empty, as the last of its page too.
func TestEmptyTextsOfParquet(t *testing.T) {
	for _, texts := range [][]string{{"a", ""}, {"", "a"}, {""}} {
		column := &pqColumn{node: &pqNode{physical: pqBytes}}
		require.Nil(t, column.data(plainTexts(texts...), encPlain, len(texts)))
		for i, text := range texts {
			require.Equal(t, text, string(column.values.strings[i]))
		}
	}
}

// A stream that arrives byte by byte is read to its end.
func TestStreamsOfSingleBytes(t *testing.T) {
	f := newFramer(iotest.OneByteReader(strings.NewReader("{\"a\": 1}\n{\"b\": [2]}")))
	for _, want := range []string{`{"a": 1}`, `{"b": [2]}`} {
		record, _, err := f.next()
		require.NoError(t, err)
		require.Equal(t, want, string(record))
	}
	_, _, err := f.next()
	require.ErrorIs(t, err, io.EOF)
	require.Equal(t, "abc", string(newFramer(iotest.OneByteReader(strings.NewReader("abc"))).head(3)))
}

// A group is a list if it has one repeated column. Its values lie one group deeper, unless the name is one of an old
// writer's.
func TestListsOfASchema(t *testing.T) {
	leaf := func(repetition int64) *pqNode { return &pqNode{repetition: repetition} }
	for _, c := range []struct {
		name        string
		annotated   bool
		kids        []*pqNode
		list, inner bool
	}{
		{"list", true, []*pqNode{{name: "list", repetition: pqRepeated, kids: []*pqNode{leaf(0)}}}, true, true},
		{"no annotation", false, []*pqNode{{name: "list", repetition: pqRepeated, kids: []*pqNode{leaf(0)}}}, false, false},
		{"two columns", true, []*pqNode{{name: "list", repetition: pqRepeated, kids: []*pqNode{leaf(0)}}, leaf(0)}, false,
			false},
		{"not repeated", true, []*pqNode{{name: "list", kids: []*pqNode{leaf(0)}}}, false, false},
		{"array", true, []*pqNode{{name: "array", repetition: pqRepeated, kids: []*pqNode{leaf(0)}}}, true, false},
		{"tuple", true, []*pqNode{{name: "n_tuple", repetition: pqRepeated, kids: []*pqNode{leaf(0)}}}, true, false},
		{"pair", true, []*pqNode{{name: "list", repetition: pqRepeated, kids: []*pqNode{leaf(0), leaf(0)}}}, true, false},
	} {
		n := &pqNode{name: "n", list: c.annotated, kids: c.kids}
		require.Nil(t, (&schemaReader{}).finish(n, &thriftNode{}), c.name)
		require.Equal(t, c.list, n.list, c.name)
		require.Equal(t, c.inner, n.kids[0].inner, c.name)
	}
}

// A column that Convert writes has the narrowest type of its values, in whichever order they come. A null fits any.
func TestTypesOfWrittenColumns(t *testing.T) {
	for a := cellNull; a <= cellJSON; a++ {
		require.Equal(t, a, joinCells(a, a))
		require.Equal(t, a, joinCells(a, cellNull))
		require.Equal(t, a, joinCells(cellNull, a))
		for b := cellText; b <= cellJSON && a != cellNull; b++ {
			want := cellJSON
			if a == b {
				want = a
			} else if min(a, b) == cellIDs && max(a, b) == cellInts {
				want = cellInts
			}
			require.Equal(t, want, joinCells(a, b), "%d %d", a, b)
		}
	}
}

// A fault that a later record repeats is only counted. One of the whole file is not.
func TestRepeatedFaults(t *testing.T) {
	r := &reader{path: "p"}
	for _, record := range []int{1, 2, 3, 0, 0} {
		r.report(record, record, &fault{field: "f", found: "x"}, nil)
	}
	r.report(4, 4, &fault{field: "f", found: "y"}, nil)
	require.Len(t, r.errs, 4)
	var first *Error
	require.ErrorAs(t, r.errs[0], &first)
	require.Equal(t, 2, first.more)
}

// An image whose value is not a text is a fault.
func TestImagesOfOtherTypes(t *testing.T) {
	for value, fits := range map[string]bool{`"https://a/b.png"`: true, `5`: false, `true`: false, `[1]`: false,
		`{"bytes": 5}`: false, `{"path": "x"}`: false, `"\ud800"`: false} {
		d := &decoder{}
		_, _, f := d.appendImage(nil, []byte(value))
		require.Equal(t, fits, f == nil, value)
	}
}
