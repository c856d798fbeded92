package datasets

import (
	"bytes"
	"encoding/base64"
	"math"
	"strings"
	"testing"

	"github.com/klauspost/compress/snappy"
	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/models"
)

// Each type of the compact protocol is read with its value, and the fields after it too.
func TestEachThriftType(t *testing.T) {
	b := []byte{
		0x11,       // 1: true
		0x12,       // 2: false
		0x13, 0xfe, // 3: the byte -2
		0x14, 0x05, // 4: 16 bits, -3
		0x15, 0x90, 0x03, // 5: 32 bits, 200
		0x16, 0x01, // 6: 64 bits, -1
		0x17, 1, 2, 3, 4, 5, 6, 7, 8, // 7: a double
		0x18, 3, 'a', 'b', 'c', // 8: bytes
		0x19, 0x25, 2, 4, // 9: a list of the integers 1 and 2
		0x1a, 0x21, 1, 2, // 10: a set of truth values
		0x1b, 1, 0x58, 2, 1, 'x', // 11: a map
		0x1c, 0x35, 8, 0, // 12: a struct with field 3
		0x05, 0xd0, 0x0f, 10, // 1000: 32 bits, 5
		0x75, 12, // 1007: 32 bits, 6
		0,
	}
	n, length, err := readThrift(append(b, 9, 9))
	require.NoError(t, err)
	require.Equal(t, len(b), length)
	whole := map[int16]int64{1: 1, 2: 0, 3: -2, 4: -3, 5: 200, 6: -1, 1000: 5, 1007: 6, 77: 0}
	for field, want := range whole {
		require.Equal(t, want, n.get(field).whole, field)
		require.Equal(t, field != 77, n.find(field) != nil, field)
	}
	require.Equal(t, []byte{1, 2, 3, 4, 5, 6, 7, 8}, n.get(7).bytes)
	require.Equal(t, "abc", string(n.get(8).bytes))
	require.Equal(t, []thriftNode{{whole: 1}, {whole: 2}}, n.get(9).kids)
	require.Equal(t, []thriftNode{{whole: 1}, {whole: 2}}, n.get(10).kids)
	require.Equal(t, thriftNode{field: 11}, *n.get(11))
	require.Equal(t, int64(4), n.get(12).get(3).whole)
	for cut := range b {
		_, _, err := readThrift(b[:cut])
		require.Equal(t, errThriftCut, err, cut)
	}
	for _, bad := range []string{"\x10\x00", "\x1d\x00", "\x1e\x00", "\x1f\x00",
		"\x16\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"} {
		_, _, err := readThrift([]byte(bad))
		require.Equal(t, errThriftBad, err, "%q", bad)
	}
}

// Structures may be nested to a depth and have a number of values, and not one more.
func TestLimitsOfThrift(t *testing.T) {
	for depth, want := range map[int]error{24: nil, 25: errThriftBad} {
		b := append(bytes.Repeat([]byte{0x1c}, depth), make([]byte, depth+1)...)
		_, _, err := readThrift(b)
		require.Equal(t, want, err, depth)
	}
	for depth, want := range map[int]error{23: nil, 24: errThriftBad} {
		lists := append([]byte{0x19}, bytes.Repeat([]byte{0x19}, depth-1)...)
		_, _, err := readThrift(append(lists, 0x15, 2, 0))
		require.Equal(t, want, err, "%d lists around a number", depth)
		for _, kinds := range []byte{0xb5, 0x5b} { // maps in the keys, and in the values
			maps := []byte{0x1b}
			for range depth - 1 {
				if maps = append(maps, 1, kinds); kinds == 0x5b {
					maps = append(maps, 2)
				}
			}
			maps = append(maps, 1, 0x55, 2, 2)
			if kinds == 0xb5 {
				maps = append(maps, bytes.Repeat([]byte{2}, depth-1)...)
			}
			_, _, err = readThrift(append(maps, 0))
			require.Equal(t, want, err, "%d maps around a number", depth)
		}
	}
	for before, want := range map[int]error{maxThriftNodes - 1: nil, maxThriftNodes: errThriftBad} {
		r := thriftReader{b: []byte{2}, nodes: before}
		r.value(thriftI64, 0)
		require.Equal(t, want, r.err, before)
	}
	_, _, err := readThrift([]byte("\x1b\xff\xff\xff\xff\xff\xff\xff\x0f\x55\x02"))
	require.Equal(t, errThriftCut, err, "a map of 1 << 60 pairs")
	r := thriftReader{b: []byte("x")}
	require.Nil(t, r.take(2))
	require.Equal(t, errThriftCut, r.err)
	r.fail(errThriftBad)
	require.Equal(t, errThriftCut, r.err, "the first error counts")
	require.Zero(t, (&thriftReader{}).octet())
}

// A run after another, the largest run, and packed bits that end with the last number needed.
func TestEdgesOfRuns(t *testing.T) {
	for _, c := range []struct {
		src      string
		n, width int
		want     []uint32
	}{
		{"\x04\x05\x03\x88\xc6\xfa", 5, 3, []uint32{5, 5, 0, 1, 2}},
		{"\x03\x88\xc6", 3, 3, []uint32{0, 1, 2}},
		{"\x03\x88\xc6", 5, 3, []uint32{0, 1, 2, 3, 4}},
		{"\x03\x88", 3, 3, nil}, // nine bits
		{"\xfe\xff\xff\xff\x0f\x05", 2, 3, []uint32{5, 5}},
		{"\x80\x80\x80\x80\x10\x05", 2, 3, nil}, // 1 << 32
		{"\xff\xff\xff\xff\x0f\x88", 2, 3, []uint32{0, 1}},
		{"\x02\x05", 1, 3, []uint32{5}},
		{"\x00\x05", 1, 3, nil},
		{"\x80", 1, 3, nil},
		{"\x02\x05\x06", 2, 9, nil}, // 0x605, then nothing
		{"\x04\x05\x06", 2, 9, []uint32{0x605, 0x605}},
		{"\x04\x01\x02\x03\x04", 2, 32, []uint32{0x04030201, 0x04030201}},
		{"\x05" + strings.Repeat("\xaa", 2) + "\x02\x01", 17, 1, []uint32{0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 1}},
		{"", 0, 3, nil},
		{strings.Repeat("\xff", 10) + "\x01", 1, 3, nil},
	} {
		got, f := hybrid(nil, []byte(c.src), c.n, c.width)
		require.Equal(t, c.want == nil && c.n > 0, f != nil, "%q", c.src)
		if f == nil {
			require.Equal(t, c.want, got, "%q", c.src)
		} else {
			require.Contains(t, f.found, "truncated", "%q", c.src)
		}
	}
	for most, width := range map[int]int{1: 1, 2: 2, 3: 2, 4: 3, 7: 3, 8: 4} {
		b := []byte{3}
		for range width {
			b = append(b, 0)
		}
		_, f := pqLevels(nil, b, 8, most)
		require.Nil(t, f, most)
		_, f = pqLevels(nil, b[:width], 8, most)
		require.NotNil(t, f, most)
	}
	levels, f := pqLevels([]uint32{}, nil, 8, 0)
	require.Nil(t, f)
	require.Empty(t, levels, "a column without levels stores none")
	_, f = pqLevels(nil, []byte("\x02\x03"), 1, 2)
	require.Equal(t, "a level 3 above the maximum 2", f.found)
}

// A page has exactly the bytes of its values, or more.
func TestPlainValuesFillTheirPage(t *testing.T) {
	for _, c := range []struct {
		physical int64
		body     string
		n        int
		numbers  []uint64
		strings  []string
	}{
		{pqBoolean, "\xa5\x01", 9, []uint64{1, 0, 1, 0, 0, 1, 0, 1, 1}, nil},
		{pqInt32, "\x01\x02\x03\x04\xff\xff\xff\xff", 2, []uint64{0x04030201, math.MaxUint32}, nil},
		{pqFloat, "\x01\x00\x00\x00", 1, []uint64{1}, nil},
		{pqInt64, "\x01\x00\x00\x00\x00\x00\x00\x80\x02\x00\x00\x00\x00\x00\x00\x00", 2, []uint64{1<<63 + 1, 2}, nil},
		{pqDouble, "\x03\x00\x00\x00\x00\x00\x00\x00", 1, []uint64{3}, nil},
		{pqFixed, "abcdef", 2, nil, []string{"abc", "def"}},
		{pqBytes, "\x02\x00\x00\x00ab\x00\x00\x00\x00\x01\x00\x00\x00c", 3, nil, []string{"ab", "", "c"}},
	} {
		column := &pqColumn{node: &pqNode{physical: c.physical, width: 3}}
		column.dictionary.numbers = []uint64{9}
		for _, more := range []string{"", "\x01"} {
			var v pqValues
			require.Nil(t, column.plain(&v, []byte(c.body+more), c.n), "%q", c.body)
			require.Equal(t, c.numbers, v.numbers)
			require.Equal(t, c.n, v.len())
			for i, s := range c.strings {
				require.Equal(t, s, string(v.strings[i]))
			}
		}
		var v pqValues
		f := column.plain(&v, []byte(c.body[:len(c.body)-1]), c.n)
		require.NotNil(t, f, "%q", c.body)
		require.Nil(t, column.plain(&v, nil, 0), "%q", c.body)
		require.Zero(t, v.len())
	}
	column := &pqColumn{node: &pqNode{physical: pqBytes}}
	for _, bad := range []string{"", "abc", "\x02\x00\x00\x00a"} {
		require.Equal(t, "a byte string longer than its page", column.plain(&pqValues{}, []byte(bad), 1).found)
	}
	column.node = &pqNode{physical: pqInt96}
	require.Equal(t, "96-bit integers", column.plain(&pqValues{}, make([]byte, 12), 1).found)
	column.node = &pqNode{physical: pqInt32}
	require.Equal(t, "a page of 3 bytes for 1 values", column.plain(&pqValues{}, make([]byte, 3), 1).found)
}

// An index is that of a value in the dictionary, and has at most 32 bits.
func TestIndicesOfADictionary(t *testing.T) {
	column := &pqColumn{node: &pqNode{physical: pqInt32}, dictionary: pqValues{numbers: []uint64{10, 11, 12}}}
	require.Nil(t, column.codes([]byte("\x02\x06\x02"), 3))
	require.True(t, column.coded)
	require.Equal(t, uint64(12), column.number())
	require.Equal(t, "index 3 in a dictionary of 3 values", column.codes([]byte("\x02\x06\x03"), 3).found)
	require.Nil(t, column.codes([]byte("\x20\x04\x01\x00\x00\x00"), 2))
	require.Equal(t, uint64(11), column.number())
	require.Equal(t, "invalid dictionary indices", column.codes([]byte("\x21\x04\x01\x00\x00\x00\x00"), 2).found)
	require.Equal(t, "invalid dictionary indices", column.codes(nil, 1).found)
	require.NotNil(t, column.codes([]byte("\x02"), 1))
	require.Nil(t, column.codes(nil, 0))
	require.Empty(t, column.indices)
}

// page returns the bytes of a page: its header with the given fields, and its body.
func page(head []th, body string) []byte { return append(thriftOf(head), body...) }

// columnOf returns an uncompressed column of optional texts whose chunk is b.
func columnOf(b []byte) *pqColumn {
	return &pqColumn{node: &pqNode{physical: pqBytes, name: "c", def: 1, repetition: pqOptional}, end: int64(len(b)),
		file: bytes.NewReader(append(bytes.Clone(b), "PAR1"...)), grown: &growth{size: int64(len(b))}}
}

// The levels of a page lie before its values, with their length in version 1 and without it in version 2.
func TestLevelsOfPages(t *testing.T) {
	const texts = "\x01\x00\x00\x00a\x01\x00\x00\x00b"
	counts := []th{{1, 3}, {2, encPlain}, {3, encRLE}, {4, encRLE}}
	read := func(c *pqColumn) (got []string) {
		for {
			_, def, more, f := c.peek()
			require.Nil(t, f)
			if !more {
				return got
			}
			if def == 1 {
				got = append(got, string(c.text()))
			} else {
				got = append(got, "null")
			}
			c.pass(def == 1)
		}
	}
	const levels = "\x02\x01\x02\x00\x02\x01" // 1, 0, 1
	body := "\x06\x00\x00\x00" + levels + texts
	first := page([]th{{1, pageData}, {2, len(body)}, {3, len(body)}, {5, counts}}, body)
	second := page([]th{{1, pageDataV2}, {2, len(levels + texts)}, {3, len(levels + texts)},
		{8, []th{{1, 3}, {4, encPlain}, {5, len(levels)}, {6, 0}}}}, levels+texts)
	index := page([]th{{1, 1}, {2, 3}, {3, 3}}, "xyz")
	for name, b := range map[string][]byte{"version 1": first, "version 2": second, "an index page": append(index,
		first...)} {
		require.Equal(t, []string{"a", "null", "b"}, read(columnOf(b)), name)
	}
	require.Equal(t, []string{"a", "null", "b", "a", "null", "b"}, read(columnOf(append(first, second...))))

	for name, c := range map[string]struct{ body, says string }{
		"no length":       {"\x06\x00\x00", "truncated levels"},
		"nothing":         {"", "truncated levels"},
		"a length beyond": {"\x07\x00\x00\x00" + levels, "truncated levels"},
		"levels alone":    {"\x06\x00\x00\x00" + levels, "a byte string longer than its page"},
		"no levels":       {"\x00\x00\x00\x00" + texts, "truncated run lengths"},
	} {
		b := page([]th{{1, pageData}, {2, len(c.body)}, {3, len(c.body)}, {5, counts}}, c.body)
		_, _, _, f := columnOf(b).peek()
		require.NotNil(t, f, name)
		require.Equal(t, []string{"c", c.says}, []string{f.field, f.found}, name)
	}
	for _, field := range []int{3} {
		obsolete := []th{{1, 3}, {2, encPlain}, {field, 4}}
		_, _, _, f := columnOf(page([]th{{1, pageData}, {2, 0}, {3, len(body)}, {5, obsolete}}, body)).peek()
		require.Equal(t, "levels in an obsolete encoding", f.found)
	}
}

// The levels of a page of version 2 lie inside it, and are not compressed.
func TestLevelsOfPagesOfVersion2(t *testing.T) {
	const levels = "\x06\x01" // 1, 1, 1
	texts := string(plainTexts("a", "b", "c"))
	packed := string(snappy.Encode(nil, []byte(texts)))
	for name, c := range map[string]struct {
		defs, reps, unpacked int
		compressed           any
		body                 string
		codec                int64
		says                 string
	}{
		"plain":                {2, 0, 0, nil, levels + texts, 0, ""},
		"snappy":               {2, 0, len(levels + texts), nil, levels + packed, 1, ""},
		"snappy by its flag":   {2, 0, len(levels + texts), 1, levels + packed, 1, ""},
		"not compressed":       {2, 0, len(levels + texts), 0, levels + texts, 1, ""},
		"another size":         {2, 0, len(levels+texts) - 1, nil, levels + packed, 1, "a snappy page whose size differs"},
		"all levels":           {len(levels + texts), 0, len(levels + texts), nil, levels + texts, 0, "a byte string longer"},
		"one more":             {len(levels+texts) + 1, 0, 1000, nil, levels + texts, 0, "levels longer than their page"},
		"negative":             {-1, 0, 1000, nil, levels + texts, 0, "levels longer than their page"},
		"negative repetition":  {2, -1, 1000, nil, levels + texts, 0, "levels longer than their page"},
		"repetition beyond":    {0, len(levels+texts) + 1, 1000, nil, levels + texts, 0, "levels longer than their page"},
		"larger than unpacked": {2, 0, 1, nil, levels + texts, 0, "levels longer than their page"},
	} {
		head := []th{{1, 3}, {4, encPlain}, {5, c.defs}, {6, c.reps}}
		unpacked := c.unpacked
		if name == "plain" {
			unpacked = len(c.body)
		}
		if c.compressed != nil {
			head = append(head, th{7, c.compressed})
		}
		column := columnOf(page([]th{{1, pageDataV2}, {2, unpacked}, {3, len(c.body)}, {8, head}}, c.body))
		column.codec = c.codec
		_, def, more, f := column.peek()
		if c.says != "" {
			require.NotNil(t, f, name)
			require.Contains(t, f.found, c.says, name)
			continue
		}
		require.Nil(t, f, name)
		require.True(t, more && def == 1, name)
		require.Equal(t, "a", string(column.text()), name)
		require.Equal(t, "c", string(column.values.strings[2]), name)
	}
}

// The size of a page is at most that of the rest of its column, and of a large page.
func TestSizesOfPages(t *testing.T) {
	texts := string(plainTexts("a"))
	for name, c := range map[string]struct {
		packed, unpacked int
		says             string
	}{
		"whole": {len(texts), 0, ""}, "one more": {len(texts) + 1, 0, "in a column with 5 bytes left"},
		"negative":      {-1, 0, "a page of -1 bytes, 0 when unpacked, in a column"},
		"largest":       {len(texts), maxPage, ""},
		"too large":     {len(texts), maxPage + 1, "a page of 5 bytes, 536870913 when unpacked"},
		"int32":         {len(texts), math.MaxInt32, "2147483647 when unpacked"},
		"beyond int32":  {len(texts), math.MaxInt32 + 1, "2147483648 when unpacked, in a column"},
		"negative size": {len(texts), -1, "-1 when unpacked, in a column"},
	} {
		column := columnOf(page([]th{{1, pageData}, {2, c.unpacked}, {3, c.packed}, {5, []th{{1, 1}, {2, encPlain}}}}, texts))
		column.node.def = 0
		_, _, _, f := column.peek()
		require.Equal(t, c.says == "", f == nil, name)
		if f == nil {
			require.Equal(t, "a", string(column.text()))
			continue
		}
		require.Contains(t, f.found, c.says, name)
		require.Equal(t, name == "too large" || name == "int32", strings.Contains(f.expected, "at most 512 MiB"), name)
	}
}

// Each kind of page has a limited number of values, and is whole in its file.
func TestPagesWithFalseCounts(t *testing.T) {
	for kind, field := range map[int]int{pageData: 5, pageDictionary: 7, pageDataV2: 8} {
		b := page([]th{{1, kind}, {2, 4}, {3, 4}, {field, []th{{1, maxPageValues + 1}, {2, encPlain}}}}, "abcd")
		column := columnOf(b)
		_, _, _, f := column.peek()
		require.NotNil(t, f, kind)
		require.Equal(t, "a page header with 8388609 values", f.found)
		column = columnOf(b)
		column.file = bytes.NewReader(b[:len(b)-1])
		require.Equal(t, "an unreadable page header (EOF)", column.page().found)
	}
	b := page([]th{{1, 1}, {2, 1000}, {3, 1000}}, strings.Repeat("x", 1000))
	column := columnOf(b)
	column.file = bytes.NewReader(b[:len(b)-1])
	require.Equal(t, "an unreadable page (EOF)", column.page().found)
}

// Numbers of 32 bits keep the fewest digits that identify them.
func TestNumbersOf32Bits(t *testing.T) {
	type row struct {
		TokInput []int32 `parquet:"tok_input,list,plain"`
		F        float32 `parquet:"f,plain"`
		D        float64 `parquet:"d,dict"`
		U        uint32  `parquet:"u,plain"`
		S        int32   `parquet:"s,dict"`
	}
	file := writeAny(t, []row{{[]int32{1}, 0.1, 0.1, math.MaxUint32, -7}, {[]int32{2}, float32(math.NaN()), math.NaN(),
		0, 0}})
	require.Equal(t, `{"tok_input":[1],"f":0.1,"d":0.1,"u":4294967295,"s":-7}`+"\n"+
		`{"tok_input":[2],"f":null,"d":null,"u":0,"s":0}`+"\n", string(converted(t, writeFile(t, "a", file), FormatJSONL)))
}

// A text that cannot be written is a fault of its record.
func TestRecordsThatCannotBeWritten(t *testing.T) {
	for format, says := range map[string]string{FormatParquet: "writing record 2 as Parquet: an unpaired surrogate",
		FormatCSV: `writing record 2 as CSV: field "more" has an unpaired surrogate`} {
		_, err := Convert(&bytes.Buffer{}, []string{writeFile(t, "a", []byte(
			`[{"tok_input":[1],"more":"x"},{"more":"\ud800","tok_input":[1]}]`))}, testOptions(), format)
		require.ErrorContains(t, err, says)
	}
}

// A page's header may be long, since some writers store values in it, but not without end.
func TestLengthsOfPageHeaders(t *testing.T) {
	for size, fits := range map[int]bool{10: true, 500: true, 512: true, 5000: true, maxPageHeader - 100: true,
		maxPageHeader: false} {
		texts := string(plainTexts("a"))
		head := []th{{1, pageData}, {2, 5}, {3, 5}, {5, []th{{1, 1}, {2, encPlain}}}, {9, strings.Repeat("x", size)}}
		b := append(page(head, texts), make([]byte, 8*512)...)
		column := columnOf(b)
		column.node.def = 0
		_, _, _, f := column.peek()
		require.Equal(t, fits, f == nil, size)
		if !fits {
			require.Equal(t, "an invalid page header", f.found)
		}
		column = columnOf(b[:size])
		_, _, _, f = column.peek()
		require.Equal(t, "an invalid page header", f.found, size)
	}
	column := columnOf(append([]byte{0x1d}, make([]byte, 10_000)...))
	_, f := column.header()
	require.Equal(t, "an invalid page header", f.found)
	require.Len(t, column.window, 512, "no structure becomes valid by reading more")
}

// A compressed page has exactly the size in its header, and unpacked data are limited.
func TestSizesOfUnpackedPages(t *testing.T) {
	data := []byte(strings.Repeat("abc", 100))
	for codec, packed := range map[int64][]byte{1: snappy.Encode(nil, data), 2: gzipped(t, data), 6: zstded(t, data)} {
		for _, room := range []int{0, 299, 300, 1000} {
			c := &pqColumn{codec: codec, grown: &growth{size: 1}}
			for range 2 { // the decoder is used again
				got, f := c.unpack(make([]byte, room), packed, 300)
				require.Nil(t, f, codec)
				require.Equal(t, data, got)
			}
			for _, size := range []int{299, 301, -1, 0} {
				_, f := c.unpack(nil, packed, size)
				require.NotNil(t, f, "codec %d, size %d", codec, size)
			}
			_, f := c.unpack(nil, packed[:len(packed)/2], 300)
			require.NotNil(t, f, codec)
			c.close()
		}
	}
	c := &pqColumn{codec: 1, grown: &growth{size: 1, made: freeBytes - 300}}
	_, f := c.unpack(nil, snappy.Encode(nil, data), 300)
	require.Nil(t, f)
	_, f = c.unpack(nil, snappy.Encode(nil, data), 300)
	require.Equal(t, errExpansion.Error(), f.found)
	got, f := (&pqColumn{}).unpack([]byte("xyz"), []byte("ab"), 77)
	require.Nil(t, f)
	require.Equal(t, "ab", string(got))
	for codec, name := range map[int64]string{0: "none", 3: "LZO", 4: "brotli", 5: "LZ4", 7: "LZ4_RAW", 8: "8", -1: "-1"} {
		require.Equal(t, name, pqCodecName(codec))
		if codec != 0 {
			_, f := (&pqColumn{codec: codec, grown: &growth{}}).unpack(nil, nil, 1)
			require.Equal(t, "the compression "+name, f.found)
		}
	}
}

// What is made from a file may be larger than its limit only in proportion to the file.
func TestGrowthOfAFile(t *testing.T) {
	g := growth{size: freeBytes / maxRatio}
	require.False(t, g.add(freeBytes))
	require.True(t, g.add(1))
	g = growth{size: freeBytes}
	require.False(t, g.add(freeBytes*maxRatio))
	require.True(t, g.add(1))
}

// A column lies between the marks of its file, and is that of the schema.
func TestPlacesOfColumns(t *testing.T) {
	chunk := func(change func(m map[int16]int64)) *thriftNode {
		m := map[int16]int64{1: pqBytes, 4: 0, 7: 10, 9: 20}
		change(m)
		meta := thriftNode{field: 3}
		for field, whole := range m {
			meta.kids = append(meta.kids, thriftNode{field: field, whole: whole})
		}
		return &thriftNode{kids: []thriftNode{meta}}
	}
	open := func(c *thriftNode) (*pqColumn, *fault) {
		r := &parquetRecords{size: 100, leaves: []*pqNode{{physical: pqBytes}}, columns: make([]*pqColumn, 1),
			spare: make([]buffers, 1)}
		f := r.openColumn(0, c)
		return r.columns[0], f
	}
	for name, c := range map[string]struct {
		change   func(m map[int16]int64)
		pos, end int64
		says     string
	}{
		"inside": {func(map[int16]int64) {}, 20, 30, ""},
		"first":  {func(m map[int16]int64) { m[9] = 4 }, 4, 14, ""},
		"in the mark": {func(m map[int16]int64) { m[9] = 3 }, 0, 0,
			"a column of 10 bytes at offset 3 in a file of 100"},
		"empty":             {func(m map[int16]int64) { m[7] = 0 }, 20, 20, ""},
		"negative":          {func(m map[int16]int64) { m[7] = -1 }, 0, 0, "a column of -1 bytes"},
		"to the end":        {func(m map[int16]int64) { m[7] = 72 }, 20, 92, ""},
		"beyond":            {func(m map[int16]int64) { m[7] = 73 }, 0, 0, "a column of 73 bytes"},
		"at the end":        {func(m map[int16]int64) { m[9], m[7] = 92, 0 }, 92, 92, ""},
		"after the end":     {func(m map[int16]int64) { m[9], m[7] = 93, 0 }, 0, 0, "at offset 93"},
		"dictionary before": {func(m map[int16]int64) { m[11] = 19 }, 19, 29, ""},
		"dictionary first":  {func(m map[int16]int64) { m[11] = 1 }, 0, 0, "at offset 1"},
		"no dictionary":     {func(m map[int16]int64) { m[11] = 0 }, 20, 30, ""},
		"dictionary behind": {func(m map[int16]int64) { m[11] = 21 }, 20, 30, ""},
		"another type":      {func(m map[int16]int64) { m[1] = pqInt64 }, 0, 0, "a column of type 2 for type 6"},
	} {
		column, f := open(chunk(c.change))
		require.Equal(t, c.says == "", f == nil, name)
		if f != nil {
			require.Contains(t, f.found, c.says, name)
			continue
		}
		require.Equal(t, []int64{c.pos, c.end}, []int64{column.pos, column.end}, name)
	}
	for _, field := range []int16{1, 8} { // the name of another file, and the metadata of an encryption
		c := chunk(func(map[int16]int64) {})
		c.kids = append(c.kids, thriftNode{field: field})
		_, f := open(c)
		require.Equal(t, "a column that is encrypted or in another file", f.found)
	}
	_, f := open(&thriftNode{})
	require.Equal(t, "a column that is encrypted or in another file", f.found)
}

// A row group has a column for each of the schema, and a number of rows.
func TestRowGroups(t *testing.T) {
	for _, c := range []struct {
		rows    int64
		columns int
		says    string
	}{{0, 1, ""}, {maxSamples, 1, ""}, {maxSamples + 1, 1, "a row group of 4194305 rows"}, {-1, 1,
		"a row group of -1 rows"},
		{1, 0, "a row group of 0 columns for a schema of 1"}, {1, 2, "a row group of 2 columns for a schema of 1"}} {
		group := thriftNode{kids: []thriftNode{{field: 1, kids: make([]thriftNode, c.columns)}, {field: 3, whole: c.rows}}}
		leaf := &pqNode{leaves: 1}
		r := &parquetRecords{groups: []thriftNode{group}, leaves: []*pqNode{leaf}, root: &pqNode{kids: []*pqNode{leaf}}}
		f := r.beginGroup()
		require.Equal(t, c.says == "", f == nil, c)
		if f != nil {
			require.Equal(t, c.says, f.found)
		}
		require.Equal(t, []int64{1, c.rows}, []int64{int64(r.group), r.left})
	}
}

// A footer's length is at least that of nothing, and at most that of the file.
func TestFilesOfTwelveBytes(t *testing.T) {
	for size, says := range map[int]string{11: "no Parquet footer at its end", 12: "an invalid footer"} {
		b := append(make([]byte, size-4), "PAR1"...)
		_, f := pqFooter(bytes.NewReader(b), int64(size))
		require.Equal(t, says, f.found)
	}
}

// Numbers are read as their annotation requires.
func TestWholeNumbers(t *testing.T) {
	for _, c := range []struct {
		n    pqNode
		bits uint64
		want string
	}{{pqNode{physical: pqInt32}, math.MaxUint32, "-1"}, {pqNode{physical: pqInt64}, math.MaxUint64, "-1"},
		{pqNode{physical: pqInt32, meaning: pqUnsigned}, math.MaxUint32, "4294967295"},
		{pqNode{physical: pqInt64, meaning: pqUnsigned}, math.MaxUint64, "18446744073709551615"},
		{pqNode{physical: pqInt64}, math.MaxUint32, "4294967295"}} {
		require.Equal(t, c.want, string(appendWhole(nil, c.bits, &c.n)))
	}
	r := &parquetRecords{}
	for v, want := range map[float64]string{0.1: "0.1", math.Inf(1): "", math.Inf(-1): "", 1: "1.0"} {
		r.out = nil
		f := r.float(v, 64)
		require.Equal(t, want == "", f != nil)
		require.Equal(t, want, string(r.out))
	}
	require.Nil(t, r.float(math.NaN(), 64))
	require.Contains(t, string(r.out), "null")
}

// A byte string becomes a text, the JSON in it, or base64, depending on its annotation and the data set's schema.
func TestFormsOfByteStrings(t *testing.T) {
	for _, c := range []struct {
		n          pqNode
		bytes      string
		want, says string
	}{
		{pqNode{meaning: pqText}, "a\"b", `"a\"b"`, ""},
		{pqNode{}, "ab", `"` + base64.StdEncoding.EncodeToString([]byte("ab")) + `"`, ""},
		{pqNode{known: true, kinds: kindText}, "ab", `"ab"`, ""},
		{pqNode{known: true, kinds: kindText | kindObject}, "ab", `"YWI="`, ""},
		{pqNode{known: true, kinds: kindText | kindObject, meaning: pqText}, "ab", `"ab"`, ""},
		{pqNode{kinds: kindText}, "ab", `"YWI="`, ""},
		{pqNode{known: true, kinds: kindIDs}, "1 2", "[1,2]", ""},
		{pqNode{known: true, kinds: kindIDs, meaning: pqText}, "[1, 2]", "[1,2]", ""},
		{pqNode{known: true, kinds: kindIDs}, "x", "", `"x" among the ids`},
		{pqNode{known: true, kinds: kindIDs}, "", `""`, ""},
		{pqNode{kinds: kindIDs}, "1 2", `"MSAy"`, ""},
		{pqNode{meaning: pqJSON}, `{"a": 1}`, `{"a": 1}`, ""},
		{pqNode{meaning: pqJSON}, `{"a": 1`, "", "invalid JSON in a JSON column"},
		{pqNode{meaning: pqJSON}, "\"\xff\"", "", "invalid JSON in a JSON column"},
		{pqNode{meaning: pqJSON}, "", "", "invalid JSON in a JSON column"},
	} {
		r := &parquetRecords{}
		f := r.text(&c.n, []byte(c.bytes))
		require.Equal(t, c.says == "", f == nil, "%+v", c)
		if f != nil {
			require.Contains(t, f.found, c.says)
			continue
		}
		require.Equal(t, c.want, string(r.out), "%+v", c)
	}
	long := bytes.Repeat([]byte("x"), maxRecord/2+1)
	r := &parquetRecords{}
	require.Nil(t, r.text(&pqNode{meaning: pqText}, long[1:]))
	f := r.text(&pqNode{meaning: pqText}, long)
	require.Equal(t, []string{"a value of 32 MiB", "one of at most 32 MiB"}, []string{f.found, f.expected})
}

// listOf returns a reader of one column that contains one repeated number, with these levels.
func listOf(reps, defs []uint32) *parquetRecords {
	n := &pqNode{name: "c", repetition: pqRepeated, physical: pqInt32, def: 1, rep: 1, leaves: 1}
	column := &pqColumn{node: n, reps: reps, defs: defs, n: len(reps)}
	for i := range reps {
		column.values.numbers = append(column.values.numbers, uint64(i+1))
	}
	return &parquetRecords{root: &pqNode{kids: []*pqNode{n}}, leaves: []*pqNode{n}, columns: []*pqColumn{column}}
}

// The length of a record is limited while its lists are read.
func TestLengthsOfLists(t *testing.T) {
	r := listOf([]uint32{0, 1, 1}, []uint32{1, 1, 1})
	require.Nil(t, r.write(r.leaves[0]))
	require.Equal(t, "[1,2,3]", string(r.out))
	before := make([]byte, maxRecord, maxRecord+8)
	for used, fits := range map[int]bool{maxRecord - 4: true, maxRecord - 3: false} {
		r := listOf([]uint32{0, 1}, []uint32{1, 1})
		r.out = before[:used]
		f := r.write(r.leaves[0])
		require.Equal(t, fits, f == nil, used)
		if f != nil {
			require.Equal(t, "a record of more than 64 MiB", f.found)
		}
	}
	r = listOf([]uint32{0, 0, 1}, []uint32{0, 1, 1})
	r.columns[0].values.numbers = []uint64{7, 8}
	require.Nil(t, r.write(r.leaves[0]))
	require.Nil(t, r.write(r.leaves[0]))
	require.Equal(t, "[][7,8]", string(r.out), "an empty list has no value")
	require.Equal(t, "a truncated row", r.write(r.leaves[0]).found)
}

// A value that cannot be read is a fault wherever it is in its row.
func TestFaultsInsideOfLists(t *testing.T) {
	type inner struct {
		V float64 `parquet:"v,plain"`
	}
	type row struct {
		TokInput []int32   `parquet:"tok_input,list,plain"`
		More     []float64 `parquet:"more,list,plain"`
		Bare     []float64 `parquet:"bare,plain"`
		In       *inner    `parquet:"in,optional"`
	}
	inf := math.Inf(1)
	columns := append(testColumns[:len(testColumns):len(testColumns)], models.Column{Name: "more", Type: "array"},
		models.Column{Name: "bare", Type: "array"}, models.Column{Name: "in", Type: "object"})
	for field, r := range map[string]row{"more": {More: []float64{1, inf, 2}}, "bare": {Bare: []float64{inf}},
		"in": {In: &inner{inf}}} {
		r.TokInput = []int32{1}
		_, err := Open(writeFile(t, "a", writeAny(t, []row{{TokInput: []int32{1}}, r})), Options{Columns: columns})
		require.ErrorContains(t, err, `record 2, field "`+field+`": found an infinite number`)
	}
}

// Convert begins a row group when the records of the one before have its size.
func TestSizesOfRowGroups(t *testing.T) {
	const record = `{"tok_input":[1]}`
	for _, c := range []struct{ before, records, groups int }{{parquetGroup - len(record), 3, 2},
		{parquetGroup - len(record) - 1, 2, 1}, {parquetGroup - len(record) - 1, 3, 2}} {
		columns := &columnCells{}
		require.NoError(t, columns.look([]byte(record), nil))
		var out bytes.Buffer
		w := newParquetWriter(&out, columns)
		w.held = c.before
		for range c.records {
			require.NoError(t, w.write([]byte(record), nil))
		}
		require.NoError(t, w.close())
		file, err := parquet.OpenFile(bytes.NewReader(out.Bytes()), int64(out.Len()))
		require.NoError(t, err)
		require.Len(t, file.RowGroups(), c.groups, c)
	}
}

// The column of a page is described by its levels in the schema.
func TestLevelsOfASchema(t *testing.T) {
	element := func(name string, kids, repetition, converted int) thriftNode {
		n := thriftNode{kids: []thriftNode{{field: 4, bytes: []byte(name)}, {field: 3, whole: int64(repetition)}}}
		if kids > 0 {
			n.kids = append(n.kids, thriftNode{field: 5, whole: int64(kids)})
		} else {
			n.kids = append(n.kids, thriftNode{field: 1, whole: pqInt32})
		}
		if converted >= 0 {
			n.kids = append(n.kids, thriftNode{field: 6, whole: int64(converted)})
		}
		return n
	}
	root, leaves, f := readSchema([]thriftNode{element("root", 3, pqRepeated, -1),
		element("a", 1, pqOptional, pqConvertedList), element("list", 1, pqRepeated, -1),
		element("element", 0, pqOptional, -1), element("b", 0, pqRequired, -1), element("c", 0, pqRepeated, -1)})
	require.Nil(t, f)
	require.Len(t, leaves, 3)
	describe := func(n *pqNode) []int { return []int{n.def, n.rep, n.leaf, n.leaves} }
	a := root.kids[0]
	require.Equal(t, []int{0, 0, 0, 3}, describe(root))
	require.Equal(t, []int{1, 0, 0, 1}, describe(a))
	require.Equal(t, []int{2, 1, 0, 1}, describe(a.kids[0]))
	require.Equal(t, []int{3, 1, 0, 1}, describe(a.kids[0].kids[0]))
	require.Equal(t, []int{0, 0, 1, 1}, describe(root.kids[1]))
	require.Equal(t, []int{1, 1, 2, 1}, describe(root.kids[2]))
	for depth, fits := range map[int]bool{maxThriftDepth: true, maxThriftDepth + 1: false} {
		var list []thriftNode
		for range depth {
			list = append(list, element("g", 1, pqRequired, -1))
		}
		_, _, f := readSchema(append(list, element("leaf", 0, pqRequired, -1)))
		require.Equal(t, fits, f == nil, depth)
	}
}

// The new annotation of a column counts before the old one.
func TestAnnotationsOfColumns(t *testing.T) {
	logical := func(kind int16, signed ...int64) *thriftNode {
		inside := thriftNode{field: kind}
		for _, s := range signed {
			inside.kids = append(inside.kids, thriftNode{field: 2, whole: s})
		}
		return &thriftNode{kids: []thriftNode{{field: 10, kids: []thriftNode{inside}}}}
	}
	for name, c := range map[string]struct {
		e       *thriftNode
		meaning pqMeaning
		list    bool
	}{
		"text": {logical(1), pqText, false}, "map": {logical(2), pqPlain, true}, "list": {logical(3), pqPlain, true},
		"enum": {logical(4), pqText, false}, "decimal": {logical(5), pqDecimal, false}, "date": {logical(6), pqPlain, false},
		"unsigned": {logical(10, 0), pqUnsigned, false}, "signed": {logical(10, 1), pqPlain, false},
		"JSON": {logical(12), pqJSON, false}, "uuid": {logical(14), pqPlain, false},
	} {
		n := &pqNode{}
		n.annotate(c.e)
		require.Equal(t, c.meaning, n.meaning, name)
		require.Equal(t, c.list, n.list, name)
		both := &pqNode{}
		c.e.kids = append(c.e.kids, thriftNode{field: 6, whole: 0})
		both.annotate(c.e)
		if c.meaning != pqPlain {
			require.Equal(t, c.meaning, both.meaning, name)
		} else {
			require.Equal(t, pqText, both.meaning, name)
		}
	}
	for converted, list := range map[int64]bool{0: false, 1: true, 2: true, 3: true, 4: false} {
		n := &pqNode{}
		n.annotate(&thriftNode{kids: []thriftNode{{field: 6, whole: converted}, {field: 10}}})
		require.Equal(t, list, n.list, converted)
	}
}
