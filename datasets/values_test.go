package datasets

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/models"
)

// An image is known by its first bytes, of which WEBP needs twelve.
func TestFirstBytesOfImages(t *testing.T) {
	for head, want := range map[string]string{"": "", "\xff": "", "\xff\xd8": "JPEG", "\x89PNG\r\n\x1a\n": "PNG",
		"\x89PNG\r\n\x1a": "",
		"GIF8":            "GIF", "GIF": "", "BM": "BMP", "B": "", "II*\x00": "TIFF", "MM\x00*": "TIFF", "MM*\x00": "",
		"RIFF1234WEBP": "WEBP", "RIFF1234WEB": "", "RIFF1234WEBQ": "", "RIFX1234WEBP": "", " \xff\xd8": ""} {
		require.Equal(t, want, imageFormat([]byte(head)), "%q", head)
	}
}

// A URL is sent as it is, and anything else is an image file in base64.
func TestURLsOfImages(t *testing.T) {
	const part = `{"type":"image_url","image_url":{"url":`
	jpeg := base64Of("\xff\xd8")
	for value, c := range map[string]struct {
		want string
		size int
		says string
	}{
		`"https://a"`:                      {part + `"https://a"}}`, 0, ""},
		`"http://a"`:                       {part + `"http://a"}}`, 0, ""},
		`"data:image/x"`:                   {part + `"data:image/x"}}`, 0, ""},
		`"https://a\"b"`:                   {part + `"https://a\"b"}}`, 0, ""},
		`"https://"`:                       {"", 0, "an image that is not base64"},
		`"http://"`:                        {"", 0, "an image that is not base64"},
		`"data:image/"`:                    {"", 0, "an image that is not base64"},
		`"ftp://a/b"`:                      {"", 0, "an image that is not base64"},
		`"` + jpeg + `"`:                   {part + `"data:image/JPEG;base64,` + jpeg + `"}}`, 2, ""},
		`{"bytes": "` + jpeg + `"}`:        {part + `"data:image/JPEG;base64,` + jpeg + `"}}`, 2, ""},
		`{"path": "` + jpeg + `"}`:         {"", 0, "an image object without bytes"},
		`{"a": {"bytes": "` + jpeg + `"}}`: {"", 0, "an image object without bytes"},
		`"QUJDREVGR0hJSktMTU4="`:           {"", 0, "bytes of an unknown image format, \"ABCDEFGHIJKL\""},
	} {
		got, size, f := (&decoder{}).appendImage([]byte("x"), []byte(value))
		require.Equal(t, c.says == "", f == nil, value)
		require.Equal(t, c.size, size, value)
		if f != nil {
			require.Contains(t, f.found, c.says, value)
			continue
		}
		require.Equal(t, "x"+c.want, string(got), value)
	}
	require.Nil(t, member([]byte(`{"a": 1, "b": 2}`), "c"))
	require.Equal(t, "2", string(member([]byte(`{"a": 1, "b": 2}`), "b")))
}

// The header of a .npy file has a shape of one or two dimensions in C order, and a number type of two.
func TestHeadersOfNPY(t *testing.T) {
	for text, c := range map[string]struct {
		word  int
		shape []int64
		says  string
	}{
		"{'descr': '<i4', 'fortran_order': False, 'shape': (3,), }":                    {4, []int64{3}, ""},
		"{'shape': (3, 5), 'fortran_order': False, 'descr':'<i8'}":                     {8, []int64{3, 5}, ""},
		"{'descr': '<i4', 'fortran_order': False, 'shape': (), }":                      {0, nil, "a single number"},
		"{'descr': '<i4', 'fortran_order': False, 'shape': (1, 2, 3), }":               {0, nil, `the shape "1, 2, 3"`},
		"{'descr': '<i4', 'fortran_order': False, 'shape': (99999999999999999999,), }": {0, nil, "the shape"},
		"{'descr': '<i4', 'fortran_order': True, 'shape': (3,), }":                     {0, nil, "an array in Fortran order"},
		"{'descr': '<i2', 'fortran_order': False, 'shape': (3,), }":                    {0, nil, `numbers of type "<i2"`},
		"{'fortran_order': False, 'shape': (3,), }":                                    {0, nil, "the header"},
		"{'descr': '<i4', 'shape': (3,), }":                                            {0, nil, "the header"},
		"{'descr': '<i4', 'fortran_order': False}":                                     {0, nil, "the header"},
		" {'descr': '<i4', 'fortran_order': False, 'shape': (3,), }":                   {0, nil, "the header"},
	} {
		h, f := parseNPYHeader(text)
		require.Equal(t, c.says == "", f == nil, text)
		if f != nil {
			require.Contains(t, f.found, c.says, text)
			continue
		}
		require.Equal(t, c.word, h.word)
		require.Equal(t, c.shape, h.shape)
	}
	for length, says := range map[int]string{maxNPYHeader: "the end of the file inside its header",
		maxNPYHeader + 1: "a header of 65537 bytes"} {
		b := binary.LittleEndian.AppendUint32([]byte("\x93NUMPY\x02\x00"), uint32(length))
		_, f := readNPYHeader(bytes.NewReader(b))
		require.Equal(t, says, f.found)
	}
	for version, fits := range map[byte]bool{0: false, 1: true, 2: true, 3: true, 4: false} {
		b := npyFile(min(max(version, 1), 3), "<i4", 1, 0, 7)
		b[6] = version
		_, f := readNPYHeader(bytes.NewReader(b))
		require.Equal(t, fits, f == nil, version)
	}
	for _, c := range []struct {
		b    string
		word int
		want int64
	}{{"\xff\xff\xff\xff\x01\x00\x00\x00", 4, -1}, {"\xff\xff\xff\xff\x01\x00\x00\x00", 8, 0x1ffffffff},
		{"\xfe\xff\xff\xff\xff\xff\xff\xff", 8, -2}} {
		require.Equal(t, c.want, npyNumber([]byte(c.b), c.word))
	}
	for _, n := range []int64{0, 1, 9, 10, 12345678901, 1 << 60} {
		text := npyHeaderText("<i8", n)
		h, f := readNPYHeader(strings.NewReader(text))
		require.Nil(t, f)
		require.Equal(t, []int64{8, int64(len(text)), n}, []int64{int64(h.word), h.begin, h.shape[0]})
		require.Zero(t, len(text)%64)
		require.LessOrEqual(t, len(text), 192)
		require.Equal(t, byte('\n'), text[len(text)-1])
	}
}

// The lengths of prompts are at least 1 and at most a row's, and as many as the array has rows or numbers.
func TestLengthsOfPrompts(t *testing.T) {
	table := func(rows, columns int64) npyHeader { return npyHeader{word: 4, shape: []int64{rows, columns}} }
	flat := func(n int64) npyHeader { return npyHeader{word: 8, shape: []int64{n}} }
	const most = maxRecord / 8
	for name, c := range map[string]struct {
		h       npyHeader
		lengths []int64
		says    string
	}{
		"table": {table(2, 5), []int64{1, 5}, ""}, "zero": {table(2, 5), []int64{1, 0}, "the length 0 of prompt 2 in p"},
		"beyond": {table(2, 5), []int64{6, 1}, "the length 6 of prompt 1 in p"},
		"few":    {table(2, 5), []int64{1}, "1 lengths in p"}, "many": {table(2, 5), []int64{1, 1, 1}, "3 lengths in p"},
		"widest": {table(1, maxRecord/4), []int64{1}, ""}, "wider": {table(1, maxRecord/4+1), []int64{1},
			"rows of 16777217 ids"},
		"flat": {flat(3), []int64{1, 2}, ""}, "less": {flat(4), []int64{1, 2}, "lengths in p that add up to 3"},
		"more":    {flat(2), []int64{1, 2}, "lengths in p that add up to 3"},
		"longest": {flat(most), []int64{most}, ""}, "longer": {flat(most + 1), []int64{most + 1}, "the length 8388609 of"},
	} {
		f := (&npyRecords{h: &c.h, lengths: c.lengths}).checkLengths("p")
		require.Equal(t, c.says == "", f == nil, name)
		if f != nil {
			require.Contains(t, f.found, c.says, name)
		}
	}
	h := npyHeader{word: 4, begin: 10, shape: []int64{2, 3}}
	for size, says := range map[int64]string{34: "", 33: "23 bytes of numbers instead of the 24",
		35: "25 bytes of numbers",
		10: "0 bytes of numbers", 5: "0 bytes of numbers"} {
		f := h.checkSize(size)
		require.Equal(t, says == "", f == nil, size)
		if f != nil {
			require.Contains(t, f.found, says)
		}
	}
	for rows, says := range map[int]string{0: "", maxSamples: "the end of the file",
		maxSamples + 1: "lengths of shape [4194305]"} {
		_, f, _ := lengthsOf(bytes.NewReader(npyFile(1, "<i4", rows, 0)))
		require.Equal(t, says == "", f == nil, rows)
		if f != nil {
			require.Equal(t, says, f.found)
		}
	}
	_, f, _ := lengthsOf(bytes.NewReader(npyFile(1, "<i4", 1, 1, 5)))
	require.Equal(t, "lengths of shape [1 1]", f.found)
	lengths, f, err := lengthsOf(bytes.NewReader(npyFile(1, "<i4", 2, 0, 5, 7)))
	require.Nil(t, f)
	require.NoError(t, err)
	require.Equal(t, []int64{5, 7}, lengths)
}

// The ids outside of a prompt are one padding id, at the side that was given.
func TestPaddingOfPrompts(t *testing.T) {
	nine := int32(9)
	for _, c := range []struct {
		row  []int64
		pad  *int32
		from int
		to   int
		says string
	}{
		{[]int64{1, 9, 9}, nil, 1, 3, ""}, {[]int64{1, 9, 8}, nil, 1, 3, "the id 8 at position 2"}, {[]int64{1, 2, 3}, nil,
			1, 1, ""},
		{[]int64{1, 9, 9}, &nine, 1, 3, ""}, {[]int64{8, 8, 1}, &nine, 0, 2, "the id 8 at position 0"},
		{[]int64{-1, -1, 1}, nil, 0, 2, ""}, {[]int64{1 << 40, 1, 1}, nil, 0, 1, "the id 1099511627776 at position 0"},
		{[]int64{1<<32 + 9, 1, 1}, &nine, 0, 1, "the id 4294967305 at position 0"},
	} {
		n := &npyRecords{h: &npyHeader{word: 8}, pad: c.pad, lengths: []int64{1}, n: 1, name: "ids"}
		for _, id := range c.row {
			n.row = binary.LittleEndian.AppendUint64(n.row, uint64(id))
		}
		f := n.checkPadding(c.from, c.to)
		require.Equal(t, c.says == "", f == nil, c.row)
		if f == nil {
			continue
		}
		require.Contains(t, f.found, c.says+", outside of the prompt's 1 ids")
		require.Equal(t, "ids", f.field)
		if n.pad == nil {
			require.Equal(t, "one padding id throughout", f.expected)
		} else {
			require.Equal(t, "the padding id 9", f.expected)
		}
	}
}

// Numbers arrive in pieces, whatever the reader returns at once, and their end differs from a cut.
func TestPiecesOfNPY(t *testing.T) {
	content := bytes.Repeat([]byte("0123456789"), npyPiece/5)
	for _, n := range []int{1, npyPiece - 1, npyPiece, npyPiece + 1, len(content)} {
		s := &npyStream{r: iotest.HalfReader(bytes.NewReader(content))}
		for at := 0; at+n <= len(content) && at < 3*n; at += n {
			got, err := s.take(n)
			require.NoError(t, err)
			require.True(t, bytes.Equal(content[at:at+n], got))
		}
	}
	for _, c := range []npyContent{&npyStream{r: strings.NewReader("abc")}, &npyMap{b: []byte("abc")}} {
		got, err := c.take(2)
		require.NoError(t, err)
		require.Equal(t, "ab", string(got))
		got, err = c.take(0)
		require.NoError(t, err)
		require.Empty(t, got)
		got, err = c.take(2)
		require.Equal(t, io.ErrUnexpectedEOF, err)
		require.Equal(t, "c", string(got))
	}
	for _, c := range []npyContent{&npyStream{r: strings.NewReader("")}, &npyMap{}} {
		_, err := c.take(1)
		require.Equal(t, io.EOF, err)
		_, err = c.take(0)
		require.NoError(t, err)
	}
	for n, want := range map[int]error{npyPiece: io.ErrUnexpectedEOF, npyPiece + 1: io.ErrUnexpectedEOF,
		npyPiece - 1: nil} {
		_, err := (&npyStream{r: bytes.NewReader(content[:npyPiece-1])}).take(n)
		require.Equal(t, want, err, n)
	}
	_, err := (&npyStream{r: bytes.NewReader(content[:npyPiece])}).take(npyPiece + 1)
	require.Equal(t, io.ErrUnexpectedEOF, err, "the end between two pieces is a cut too")
}

// A row of CSV ends outside of quotes, and a cell at a comma.
func TestCellsOfRows(t *testing.T) {
	for row, want := range map[string][]string{"": {""}, "a": {"a"}, "a,b\r\n": {"a", "b"}, "a,\n": {"a", ""}, ",": {"",
		""},
		`"a,b",c`: {"a,b", "c"}, `"a""b"`: {`a"b`}, `""""`: {`"`}, `"",""`: {"", ""}, "\"a\nb\",\n": {"a\nb", ""},
		"a\r": {"a"}} {
		var r csvRow
		require.Nil(t, r.split([]byte(row)), row)
		var got []string
		for i := range r.cells {
			got = append(got, string(r.cell(i)))
		}
		require.Equal(t, want, got, "%q", row)
	}
	for row, at := range map[string]int{`a"b`: 1, `x,a"b`: 3, `"a`: 2, `"a"b`: 2, `"a""`: 4, `x,"a"b,c`: 4, `"`: 1} {
		var r csvRow
		f := r.split([]byte(row))
		require.NotNil(t, f, row)
		require.Equal(t, at, f.offset, row)
	}
	p, err := newPlan(testOptions())
	require.NoError(t, err)
	for text, want := range map[string]bool{"": false, "\n\n": false, "tok_input": true, "\r\ntok_input\n": true,
		"other": false,
		"a,b\n": true, "Z,b": true, "_,b": true, `"x",b`: true, ",b": true, "1,b": false, "[1,2]": false, "{,b": false,
		`a"b,c`: false, "@,b": false, "`,b": false, "x,tok_input\nmore": true, "z,b": true, "1,tok_input": true} {
		require.Equal(t, want, looksLikeCSV([]byte(text), p), "%q", text)
	}
}

// Ids in a cell are numbers between blanks or commas, in brackets or not.
func TestIDsOfCells(t *testing.T) {
	for cell, want := range map[string]string{"1 2": "[1,2]", "[1, 2]": "[1,2]", " [1,2] ": "[1,2]", "[1\n 2]": "[1,2]",
		"[]":  "[]",
		"1,2": "[1,2]", "-1": "[-1]", "1.5": "[1.5]", "[1]": "[1]", "1 , 2": "[1,2]", "": "[]", "[1,2": "", "1]": "",
		"[": "", "]": "",
		"a": "", "1a": "", "1,,2": "", "1 x": "", "1,": "", "1;2": "", "01": ""} {
		got, f := appendCellIDs(nil, []byte(cell))
		require.Equal(t, want == "", f != nil, "%q", cell)
		if f == nil {
			require.Equal(t, want, string(got), "%q", cell)
		} else {
			require.Contains(t, f.found, " among the ids", cell)
		}
	}
	_, f := appendCellIDs(nil, []byte("1 "+strings.Repeat("x", 30)))
	require.Equal(t, `"`+strings.Repeat("x", 24)+`" among the ids`, f.found)
}

// The longest record, value and row are read, and one byte more is not.
func TestLengthsOfRecords(t *testing.T) {
	text := func(n int) io.Reader {
		return io.MultiReader(strings.NewReader(`"`), bytes.NewReader(bytes.Repeat([]byte("x"), n-2)),
			strings.NewReader(`" `))
	}
	for n, want := range map[int]error{maxRecord: nil, maxRecord + 1: errTooLong} {
		f := newFramer(text(n))
		f.peek()
		got, err := f.measure()
		require.Equal(t, want, err, n)
		require.Equal(t, maxRecord, got)
	}
}

// Nesting is limited equally in the framer and in the scanner.
func TestDepthsOfRecords(t *testing.T) {
	for depth, fits := range map[int]bool{1: true, maxDepth: true, maxDepth + 1: false} {
		text := strings.Repeat("[", depth) + strings.Repeat("]", depth)
		f := newFramer(strings.NewReader(text + " "))
		f.peek()
		n, err := f.measure()
		require.Equal(t, fits, err == nil, depth)
		require.Equal(t, fits, n == len(text), depth)
		s := scanner{b: []byte(text)}
		fault := s.value()
		require.Equal(t, fits, fault == nil, depth)
		if !fits {
			require.Equal(t, maxDepth, fault.offset)
		}
	}
	for value, n := range map[string]int{"12,": 3 - 1, "1 ": 1, "null]": 4, "true}": 4, "1\n": 1, "1\t": 1, "1\r": 1,
		",": 0, `"a" `: 3,
		`"\"]" `: 5, `{"a":"}"} `: 9, "[[1],2] ": 7} {
		f := newFramer(strings.NewReader(value))
		f.peek()
		got, err := f.measureValue()
		require.NoError(t, err, value)
		require.Equal(t, n, got, value)
	}
	for _, cut := range []string{"12", `"a`, "[1", `"\"`} {
		f := newFramer(strings.NewReader(cut))
		f.peek()
		_, err := f.measureValue()
		require.Equal(t, errCut, err, cut)
	}
}

// A read error is reported as itself, wherever it happens.
func TestReadErrorsEverywhere(t *testing.T) {
	broken := errors.New("broken")
	for _, text := range []string{"", "[", `[{"tok_input":[1]}`, `[{"tok_input":[1]},`, `[{"tok_input":[1]}]`,
		`{"tok_input":[1]}`, `{"tok_in`,
		"{\"tok_input\":[1]}\n", `{"tok_input":[[1]`, `{"tok_input":`, `{"tok_input"`, `{"tok_input":[[1]]`,
		`{"tok_input":[[1]]}`,
		"tok_input,id\n1,", "tok_input,id\n1,\"", "tok_input"} {
		p, err := newPlan(testOptions())
		require.NoError(t, err)
		for name, open := range map[string]func(*framer) records{"JSON": func(f *framer) records { return f },
			"columns": func(f *framer) records { f.peek(); return newColumns(f, p, false) },
			"CSV":     func(f *framer) records { return newCSV(f, p, false) }} {
			if name == "columns" && !strings.HasPrefix(text, "{") ||
				text != "" && (name == "CSV") != strings.HasPrefix(text, "tok_input") {
				continue
			}
			r := open(newFramer(io.MultiReader(strings.NewReader(text), iotest.ErrReader(broken))))
			var err error
			for i := 0; i < 5 && err == nil; i++ {
				_, _, err = r.next()
			}
			require.ErrorIs(t, err, broken, "%s %q", name, text)
		}
	}
}

// The names of a missing column's record are listed up to twelve.
func TestNamesOfAMissingColumn(t *testing.T) {
	for n, says := range map[int]string{0: "no such field (the record is empty)", 1: "no such field (the record has c00)",
		12: "c10, c11)", 13: "c10, c11 and 1 more)", 15: "c11 and 3 more)"} {
		var names []string
		for i := range n {
			names = append(names, `"c`+string(rune('0'+i/10))+string(rune('0'+i%10))+`": 1`)
		}
		_, err := Open(writeFile(t, "a", []byte("[{"+strings.Join(names, ",")+"}]")), testOptions())
		require.ErrorContains(t, err, says)
	}
	for role, flag := range map[string]string{roleInput: "--input-column", roleIDs: "--input-ids-column",
		roleTarget: "--output-column", roleSession: "--session-column", roleMessages: ""} {
		typ := roleTypes[role]
		_, err := Open(writeFile(t, "a", []byte(`{"other": 1}`)),
			Options{Columns: []models.Column{{Name: "named", Type: typ, Role: role, Required: true}}})
		require.ErrorContains(t, err, `field "named"`)
		if flag == "" {
			require.NotContains(t, err.Error(), "pass the column's name")
		} else {
			require.ErrorContains(t, err, "or pass the column's name with "+flag)
		}
		require.Equal(t, role == roleIDs, strings.Contains(err.Error(), "--model generic"), role)
	}
}

// What cannot be the value of a column is named by its place, field and kind.
func TestKindsOfValues(t *testing.T) {
	types := map[string]string{"ids": "[1]", "text": `"a"`, "object": `{}`, "messages": `[{}]`, "int": "1",
		"number": "1.5", "bool": "true",
		"array": "[2]"}
	fits := map[string]string{"ids": "ids messages array", "text": "text", "object": "object",
		"messages": "ids messages array",
		"int":      "int", "number": "int number", "bool": "bool", "array": "ids messages array",
		"any": "ids messages array text object int number bool"}
	for typ, words := range fits {
		for other, value := range types {
			columns := []models.Column{{Name: "p", Type: "text", Role: "input"}, {Name: "c", Type: typ}}
			_, err := Open(writeFile(t, "a", []byte("[{\"p\": \"x\",\n\"c\":\n"+value+"}]")), Options{Columns: columns})
			accepted := err == nil || typ == "ids" && other == "messages"
			require.Equal(t, strings.Contains(" "+words+" ", " "+other+" "), accepted, "%s for %s: %v", value, typ, err)
			if !accepted {
				require.ErrorContains(t, err, `record 1 (line 3), field "c": found `+kindName(value[0])+", ")
				require.ErrorContains(t, err, "expected "+columnTypes[typ].name)
			}
		}
	}
	for value, kind := range map[string]string{"{": "an object", "[": "an array", `"`: "a string", "t": "a boolean",
		"f": "a boolean", "n": "null", "1": "a number", "-": "a number"} {
		require.Equal(t, kind, kindName(value[0]))
	}
	require.Equal(t, kindNumber, kindsOf([]byte("1e5")))
	require.Equal(t, kindNumber, kindsOf([]byte("1E5")))
	require.Equal(t, kindInt, kindsOf([]byte("-15")))
	require.Zero(t, kindsOf([]byte("null")))
	for text, at := range map[string]int{"a\xffb": 1, "\xff": 0, "é\ufffd\xc3": 5, "ok": 2} {
		require.Equal(t, at, invalidUTF8([]byte(text)), "%q", text)
	}
}

// A list of ids has lines and a size up to their limits.
func TestLimitsOfALists(t *testing.T) {
	longest := strings.Repeat("x", mostOnlyLine-1)
	only, err := ReadOnly(writeFile(t, "l", []byte("b\n "+longest[1:]+"\na")), "id")
	require.NoError(t, err)
	require.Len(t, only.met, 3)
	_, err = ReadOnly(writeFile(t, "l", []byte(longest+"xx\n")), "id")
	require.ErrorContains(t, err, "found a read error")
	require.True(t, only.takes([]byte(`{"id": "a"}`)))
	require.False(t, only.takes([]byte(`{"id": "c", "other": "a"}`)))
	require.False(t, only.takes([]byte(`{"other": "b"}`)))
	require.ErrorContains(t, only.whole(), `2 of 3 ids without a record that has them in "id", such as "b"`)
	require.True(t, only.takes([]byte(`{"id": "\u0062"}`)))
	only.met[longest[1:]] = true
	require.NoError(t, only.whole())
	numbers, err := ReadOnly(writeFile(t, "l", []byte("17")), "id")
	require.NoError(t, err)
	require.True(t, numbers.takes([]byte(`{"id": 17}`)))
	require.NoError(t, (*Only)(nil).whole())
	require.True(t, (*Only)(nil).takes(nil))
}

// A template may have its largest size.
func TestLargestTemplate(t *testing.T) {
	text := "{input}" + strings.Repeat("x", maxTemplate-7)
	_, err := ReadTemplate(writeFile(t, "t", []byte(text)))
	require.NoError(t, err)
	_, err = ReadTemplate(writeFile(t, "t", []byte(text+"x")))
	require.ErrorContains(t, err, "not a regular file of at most 1024 KiB")
	for text, want := range map[string]string{"{a}": "A", "{a}\n": "A", "{a}\r\n": "A", "{a}\n\n": "A\n",
		"x{a}y": "xAy", "{a}{a}": "AA",
		"{{a}} {a}": "{a} A", "{{a!r}} {a!r}": "{a!r} 'A'", "{1} {a}": "{1} A", "{a b} {a}": "{a b} A", "{a!s}{a}": "{a!s}A",
		"{_a9}{a}": "?A", "{{a}}{{a}}{a}": "{a}{a}A"} {
		parsed, f := parseTemplate(text)
		require.Nil(t, f, text)
		got, fault := parsed.messages[0].appendText(nil, func(name string) []byte {
			return map[string][]byte{"a": []byte(`"A"`), "_a9": []byte(`"?"`)}[name]
		})
		require.Nil(t, fault, text)
		require.Equal(t, want, string(got), text)
	}
}
