package pickle

import (
	"math"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// The expected value of each opcode is that of Python's pickle module.
func TestValuesOfEachOpcode(t *testing.T) {
	for opcodes, want := range map[string]string{
		"\x8a\x00": "0", "\x8a\x01\xff": "-1", "\x8a\x02\xff\x00": "255", "\x8a\x02\x00\x80": "-32768",
		"\x8a\x06\x00\x00\x00\x00\x00\x01":              "1099511627776",
		"\x8a\x08" + strings.Repeat("\xff", 8):          "-1",
		"\x8a\x08" + strings.Repeat("\x00", 7) + "\x40": "4611686018427387904",
		"\x8a\x09" + strings.Repeat("\x00", 8) + "\x01": "18446744073709551616",
		"\x8a\x09" + strings.Repeat("\xff", 9):          "-1",
		"\x8b\x02\x00\x00\x00\x34\x12":                  "4660",
		"J\xfe\xff\xff\xff":                             "-2", "K\xff": "255", "M\x00\x80": "32768",
		"G\x3f\xf8\x00\x00\x00\x00\x00\x00": "1.5", "G\x7f\xf8\x00\x00\x00\x00\x00\x00": "null",
		"U\x02ab": `"ab"`, "T\x02\x00\x00\x00ab": `"ab"`, "X\x02\x00\x00\x00ab": `"ab"`, "\x8c\x02ab": `"ab"`,
		"\x8d\x02\x00\x00\x00\x00\x00\x00\x00ab": `"ab"`,
		"C\x02ab":                                `"YWI="`, "B\x02\x00\x00\x00ab": `"YWI="`,
		"\x8e\x02\x00\x00\x00\x00\x00\x00\x00ab": `"YWI="`,
		"\x8f(K\x01K\x02\x90":                    "[1,2]",
		"\x88":                                   "true", "\x89": "false", "N": "null",
		")": "[]", "K\x01\x85": "[1]", "K\x01K\x02\x86": "[1,2]", "K\x01K\x02K\x03\x87": "[1,2,3]", "(K\x01K\x02t": "[1,2]",
		"(K\x01K\x02l": "[1,2]", "(K\x01K\x02d": `{"1":2}`, "}K\x01K\x02s": `{"1":2}`, "]K\x01a": "[1]",
		"I5\n": "5", "I01\n": "true", "I00\n": "false", "L-5L\n": "-5", "L5\n": "5", "F1.5\n": "1.5",
		"S'a\\x41\\n\\'\\\\\\q\\x4'\n": `"aA\n'\\\\q\\x4"`, "S\"b\"\n": `"b"`,
		"V\\u00e9\\U0001f600\\x41\n": `"é😀\\x41"`,
	} {
		rows, _, err := rowsOf(t, "](}("+text4("id")+text4("x")+text4("v")+opcodes+"ue.")
		require.NoError(t, err, "%q", opcodes)
		require.Equal(t, `{"id":"x","v":`+want+`}`, rows, "%q", opcodes)
	}
	// A memo number may be stored anew, and numbers may have gaps.
	for opcodes, want := range map[string]string{
		"K\x01q\x00K\x02q\x00h\x00\x87": "[1,2,2]", "K\x01q\x09K\x02q\x09h\x09\x87": "[1,2,2]",
		"K\x01q\x00K\x02q\x05h\x00\x87": "[1,2,1]", "K\x01\x94K\x02\x94h\x01\x87": "[1,2,2]",
		"K\x01r\x00\x00\x00\x00K\x02j\x00\x00\x00\x00\x87": "[1,2,1]", "K\x01p0\nK\x02g0\n\x87": "[1,2,1]",
	} {
		rows, _, err := rowsOf(t, "](}("+text4("id")+text4("x")+text4("v")+opcodes+"ue.")
		require.NoError(t, err, "%q", opcodes)
		require.Equal(t, `{"id":"x","v":`+want+`}`, rows, "%q", opcodes)
	}
	for opcodes, want := range map[string]string{
		"G\x7f\xf0\x00\x00\x00\x00\x00\x00": "an infinite number",
		"G\xff\xf0\x00\x00\x00\x00\x00\x00": "an infinite number",
		"}N" + "K\x01s":                     "as a key",
		"Sab\n":                             "a string without its quotes",
		"S'\n":                              "a string without its quotes",
		"S'a\"\n":                           "a string without its quotes",
		"\x8b\x01\x04\x00\x00" + strings.Repeat("x", 1025): "an integer of 1025 bytes",
	} {
		_, _, err := rowsOf(t, "](}("+text4("id")+text4("x")+text4("v")+opcodes+"ue.")
		require.ErrorContains(t, err, want, "%q", opcodes)
	}
}

// arrow returns an array of texts in the form in which pyarrow pickles it.
func arrow(kind string, n, from int64, valid, offsets, data any) *Object {
	typ := &Object{Class: &Global{class: classArrowType}, Args: Tuple{kind}}
	return &Object{Class: &Global{class: classArrowArray},
		Args: Tuple{Tuple{typ, n, int64(0), from, &List{Items: []any{valid, offsets, data}}}}}
}

func written(t *testing.T, c column) string {
	t.Helper()
	w := writer{most: 1 << 16}
	for i := range c.len() {
		require.NoError(t, c.append(&w, i))
	}
	return string(w.out)
}

func TestArrowTexts(t *testing.T) {
	narrow := []byte("\x00\x00\x00\x00\x01\x00\x00\x00\x03\x00\x00\x00\x03\x00\x00\x00")
	wide := []byte("\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00")
	data := []byte("xyz")
	for _, c := range []struct {
		o    *Object
		want string
	}{
		{arrow("string", 3, 0, nil, narrow, data), `"x""yz"""`},
		{arrow("utf8", 2, 1, nil, narrow, data), `"yz"""`},
		{arrow("large_string", 2, 0, nil, wide, data), `"x""yz"`},
		{arrow("string", 3, 0, []byte{0b101}, narrow, data), `"x"null""`},
		{arrow("string", 2, 1, []byte{0b011}, narrow, data), `"yz"null`},
		{arrow("string", 0, 0, nil, nil, nil), ``},
	} {
		got, err := arrowArray(c.o)
		require.NoError(t, err)
		require.Equal(t, c.want, written(t, got))
	}
	state := func(name string, o *Object) *Object {
		return &Object{Class: &Global{class: classArrow}, State: &Dict{Keys: []any{name}, Values: []any{o}}}
	}
	parts := &Object{Class: &Global{class: classArrowChunks}, Args: Tuple{&List{Items: []any{
		arrow("string", 1, 0, nil, narrow, data), arrow("string", 2, 1, nil, narrow, data)}}}}
	for _, name := range []string{"_pa_array", "_data"} {
		c, err := columnOf(state(name, parts))
		require.NoError(t, err)
		require.Equal(t, 3, c.len())
		require.Equal(t, `"x""yz"""`, written(t, c))
		require.ErrorContains(t, c.append(&writer{}, 3), "a row outside its column")
	}
	c, err := arrowArray(arrow("string", 2, 0, nil, narrow, data[:2]))
	require.NoError(t, err)
	require.NoError(t, c.append(&writer{most: 9}, 0))
	require.ErrorContains(t, c.append(&writer{most: 9}, 1), "a text outside its column")

	for why, o := range map[string]*Object{
		`of type "int64"`:       arrow("int64", 1, 0, nil, narrow, data),
		"with short buffers":    arrow("string", 4, 0, nil, narrow, data),
		"incomplete pyarrow":    arrow("string", -1, 0, nil, narrow, data),
		"an incomplete pyarrow": arrow("string", 1, -1, nil, narrow, data),
		"short buffers":         arrow("string", 3, 6, []byte{1}, make([]byte, 100), data),
		"pyarrow column with s": arrow("string", 1, 0, nil, nil, data),
		"with short":            arrow("string", 1, 0, "é", nil, data),
		"column with short":     arrow("string", 1, 0, nil, narrow, 5),
	} {
		_, err := arrowArray(o)
		require.ErrorContains(t, err, why)
	}
	numbers := []any{"1", int64(maxElements + 1), int64(-1)}
	for i, bad := range map[int][]any{1: numbers, 3: numbers, 4: {&List{Items: []any{nil, nil}}, &List{}, nil}} {
		for _, v := range bad {
			o := arrow("string", 1, 0, nil, narrow, data)
			o.Args[0].(Tuple)[i] = v
			_, err := arrowArray(o)
			require.ErrorContains(t, err, "an incomplete pyarrow column", "argument %d: %v", i, v)
		}
	}
	for _, typ := range []any{nil, "string", &Object{Class: &Global{class: classArrow}, Args: Tuple{"string"}},
		&Object{Class: &Global{class: classArrowType}},
		&Object{Class: &Global{class: classArrowType}, Args: Tuple{"string", "utf8"}},
		&Object{Class: &Global{class: classArrowType}, Args: Tuple{int64(4)}}} {
		o := arrow("string", 1, 0, nil, narrow, data)
		o.Args[0].(Tuple)[0] = typ
		_, err := arrowArray(o)
		require.ErrorContains(t, err, `a pyarrow column of type ""`, typ)
	}
	_, err = arrowOf(&Object{Class: &Global{class: classArrow}})
	require.ErrorContains(t, err, "a pyarrow column without its values")
}

// Bytes as each protocol and each version of Python writes them. A latin1 text whose characters are no bytes is
// refused.
func TestBytesInEveryForm(t *testing.T) {
	of := func(class class, args ...any) *Object {
		return &Object{Class: &Global{class: class}, Args: args}
	}
	wrapped := any([]byte("ab"))
	for range maxWrapped {
		wrapped = of(classBytes, wrapped)
	}
	for _, c := range []struct {
		v    any
		want string
		ok   bool
	}{
		{[]byte("\x00\xff"), "\x00\xff", true},
		{"\xc3\x80", "\xc3\x80", true},
		{of(classEncode, "\u0000a\u007f\u0080\u00ff", "latin1"), "\x00a\x7f\x80\xff", true},
		{of(classEncode, "", "latin1"), "", true},
		{of(classEncode, "\u0100", "latin1"), "", false},
		{of(classEncode, "\u01ff", "latin1"), "", false},
		{of(classEncode, "a", "utf8"), "", false},
		{of(classEncode, "a"), "", false},
		{of(classBytes), "", true},
		{of(classBytes, []byte("ab")), "ab", true},
		{of(classArrowBuffer, of(classBytes, []byte("ab"))), "ab", true},
		{of(classArrowBuffer), "", false},
		{wrapped, "ab", true},
		{of(classBytes, wrapped), "", false},
		{of(classSeries, []byte("ab")), "", false},
		{int64(3), "", false},
		{nil, "", false},
	} {
		got, ok := bytesOf(c.v)
		require.Equal(t, []any{c.want, c.ok}, []any{string(got), ok}, "%v", c.v)
	}
}

// A list keeps its integers whatever their size, and the position of the first that exceeds 32 bits.
func TestListsOfIntegers(t *testing.T) {
	edges := []any{int64(0), int64(-1), int64(math.MaxInt32), int64(math.MinInt32), int64(math.MaxInt32 + 1),
		int64(math.MinInt32 - 1), int64(math.MaxInt64), int64(math.MinInt64), "x", nil}
	rapid.Check(t, func(t *rapid.T) {
		var l List
		var want []any
		for range rapid.IntRange(0, 4).Draw(t, "appends") {
			values := rapid.SliceOfN(rapid.SampledFrom(edges), 0, 6).Draw(t, "values")
			want = append(want, values...)
			require.GreaterOrEqual(t, l.add(values), int64(4*len(values)), "bytes")
		}
		require.Equal(t, len(want), l.Len())
		for i, v := range want {
			require.Equal(t, v, l.At(i), "element %d of %v", i, want)
		}
		isSmall := func(v any) bool { n, ok := v.(int64); return ok && n == int64(int32(n)) }
		require.Equal(t, !slices.ContainsFunc(want, func(v any) bool { return !isSmall(v) }), l.Items == nil)
	})
}

// A line that is too long or has no end is an error for each opcode that reads one.
func TestLinesOfEveryOpcode(t *testing.T) {
	for _, opcode := range []string{"I", "L", "F", "c", "g", "p", "S", "V"} {
		for rest, want := range map[string]string{"": "the end of the file", "1": "the end of the file",
			strings.Repeat("1", 200_000) + "\n": "an overlong line"} {
			if len(rest) > 1 && (opcode == "S" || opcode == "V") {
				continue // texts may be long
			}
			_, err := Read(strings.NewReader("]"+opcode+rest), testNames)
			require.ErrorContains(t, err, want, "%s%.9s", opcode, rest)
		}
	}
	for _, text := range []string{"", "'", "\"", "aa", "a'a", "'a", "a'", "'a\"", "abba"} {
		_, err := Read(strings.NewReader("](S"+text+"\ne."), testNames)
		require.ErrorContains(t, err, "a string without its quotes", text)
	}
}

// A line that arrives byte by byte may have as many bytes as its limit, and no more.
func TestLimitOfALine(t *testing.T) {
	for n, want := range map[int]string{20: "", 21: "an overlong line"} {
		in := input{r: iotest.OneByteReader(strings.NewReader(strings.Repeat("1", n) + "\n"))}
		line, err := in.line(20)
		if want != "" {
			require.ErrorContains(t, err, want)
			continue
		}
		require.NoError(t, err)
		require.Len(t, line, n)
	}
}

// An escape that is cut off or invalid stays unchanged.
func TestEscapesThatAreCutOff(t *testing.T) {
	codes, single := map[byte]int{'u': 4, 'U': 8}, map[byte]byte{'n': '\n', '\\': '\\'}
	const whole = `a\u00e9\n\\\q`
	require.Equal(t, "aé\n\\\\q", unescape([]byte(whole), codes, single))
	for _, text := range []string{`\`, `\q`, `\u`, `\u1`, `\u12`, `\u123`, `\u12g4`, `\U0001f60`, `\uffg`, `x\u`} {
		exact := append(make([]byte, 0, len(text)), text...)[:len(text):len(text)]
		require.Equal(t, text, unescape(exact, codes, single))
		require.Equal(t, "é"+text, unescape([]byte(`\u00e9` + text)[:6+len(text):6+len(text)], codes, single))
	}
}

// The state of a pandas array may nest the array in dicts, but a state that contains itself is refused.
func TestNestedStatesOfArrays(t *testing.T) {
	array := &Object{Class: &Global{class: classBuffer}, Args: Tuple{[]byte{7},
		&Object{Class: &Global{class: classDType}, Args: Tuple{"i1"}}, Tuple{int64(1)}, "C"}}
	nested := &Dict{Keys: []any{"_ndarray"}, Values: []any{array}}
	for range maxWrapped {
		a, ok, err := backedOf(nested, 0)
		require.NoError(t, err)
		require.True(t, ok)
		require.EqualValues(t, 7, a.signed(0))
		nested = &Dict{Keys: []any{"_data"}, Values: []any{nested}}
	}
	itself := &Dict{Keys: []any{"_data"}, Values: make([]any, 1)}
	itself.Values[0] = itself
	for _, state := range []any{itself, &Dict{Values: []any{nested}}, &Dict{}, Tuple{}, nil} {
		_, _, err := backedOf(state, 0)
		require.ErrorContains(t, err, "a pandas array without its values")
	}
}

// A dict holds columns or is one row: its first known column decides, or else whether all values are equally long.
func TestDictsOfColumns(t *testing.T) {
	entry := func(name, value string) string { return text4(name) + value }
	lists, numbers, texts := list(list("K\x01"), list("K\x02", "K\x03")), list("K\x01", "K\x02"),
		list(text4("a"), text4("b"))
	for _, c := range []struct{ entries, want string }{
		{entry("tok_input", lists), `{"tok_input":[1]} {"tok_input":[2,3]}`},
		{entry("tok_input", numbers), `{"tok_input":[1,2]}`},
		{entry("id", texts), `{"id":"a"} {"id":"b"}`},
		{entry("id", text4("a")), `{"id":"a"}`},
		{entry("tok_input", numbers) + entry("id", text4("a")), `{"tok_input":[1,2],"id":"a"}`},
		{entry("tok_input", "]") + entry("id", text4("a")), `{"tok_input":[],"id":"a"}`},
		{entry("tok_input", "]") + entry("id", "]"), ""},
		{entry("x", numbers) + entry("y", numbers), `{"x":1,"y":1} {"x":2,"y":2}`},
		{entry("x", numbers) + entry("y", list("K\x03")), `{"x":[1,2],"y":[3]}`},
		{entry("x", "K\x05") + entry("y", numbers), `{"x":5,"y":[1,2]}`},
		{entry("x", numbers) + entry("y", "K\x05") + entry("z", numbers), `{"x":[1,2],"y":5,"z":[1,2]}`},
		{entry("x", numbers) + entry("tok_input", lists), `{"x":1,"tok_input":[1]} {"x":2,"tok_input":[2,3]}`},
		{entry("x", list("K\x03")) + entry("tok_input", numbers), `{"x":[3],"tok_input":[1,2]}`},
		{entry("id", "N") + entry("tok_input", lists), `{"id":null,"tok_input":[[1],[2,3]]}`},
		{entry("x", "K\x05") + entry("id", texts) + entry("y", ")"), "!an int for a column"},
		{entry("id", list(text4("a"))) + entry("x", numbers), "!columns of 1 and 2 rows"},
		{entry("tok_input", "]") + entry("id", list(text4("a"))), "!columns of 0 and 1 rows"},
	} {
		entries, want := c.entries, strings.ReplaceAll(c.want, "} {", "}\n{")
		rows, _, err := rowsOf(t, "}("+entries+"u.")
		if why, fails := strings.CutPrefix(want, "!"); fails {
			require.ErrorContains(t, err, why, "%q", entries)
			continue
		}
		require.NoError(t, err, "%q", entries)
		require.Equal(t, want, rows, "%q", entries)
	}
}

// A column of categories needs its numbers, in one dimension, and its categories; where one is missing the column is
// refused, in either form of its state.
func TestCategoriesNeedAllParts(t *testing.T) {
	array := func(kind string, data string, shape ...any) *Object {
		return &Object{Class: &Global{class: classBuffer}, Args: Tuple{[]byte(data),
			&Object{Class: &Global{class: classDType}, Args: Tuple{kind}}, Tuple(shape), "C"}}
	}
	codes := array("i1", "\x01\xff\x00", int64(3))
	categories := func(values any) *Object {
		return &Object{Class: &Global{class: classCategories},
			State: &Dict{Keys: []any{"categories", "ordered"}, Values: []any{values, false}}}
	}
	names := categories(&List{Items: []any{"x", "y"}})
	const incomplete = "an incomplete column of categories"
	for _, c := range []struct {
		parts      []any
		rows, fail string
	}{
		{[]any{codes, names}, `"y"null"x"`, ""},
		{[]any{names, "other", nil, codes}, `"y"null"x"`, ""},
		{[]any{codes}, "", incomplete},
		{[]any{names}, "", incomplete},
		{nil, "", incomplete},
		{[]any{array("i1", "\x01\x00", int64(1), int64(2)), names}, "", incomplete},
		{[]any{array("i1", "\x01"), names}, "", incomplete},
		{[]any{array("u1", "\x01", int64(1)), names}, "", incomplete},
		{[]any{array("f4", "\x00\x00\x00\x00", int64(1)), names}, "", incomplete},
		{[]any{codes, categories("x")}, "", "a str for a column"},
		{[]any{codes, categories(nil)}, "", "None for a column"},
		{[]any{array("i1", "\x01", int64(2)), names}, "", "wrong number of bytes"},
	} {
		byName := &Dict{Values: c.parts, Keys: make([]any, len(c.parts))}
		for _, state := range []any{Tuple(c.parts), byName} {
			got, err := columnOf(&Object{Class: &Global{class: classCategorical}, State: state})
			if c.fail != "" {
				require.ErrorContains(t, err, c.fail)
				continue
			}
			require.NoError(t, err)
			require.Equal(t, 3, got.len())
			require.Equal(t, c.rows, written(t, got))
		}
	}
	_, err := columnOf(&Object{Class: &Global{class: classCategorical}})
	require.ErrorContains(t, err, "an incomplete column of categories", "without a state")
	beyond, err := columnOf(&Object{Class: &Global{class: classCategorical},
		State: Tuple{array("i1", "\x02", int64(1)), names}})
	require.NoError(t, err)
	require.ErrorContains(t, beyond.append(&writer{most: 9}, 0), "an unknown category")
}

func TestNamesOfNumberedColumns(t *testing.T) {
	of := func(start, stop, step int64) *Object {
		return &Object{Args: Tuple{&Dict{Keys: []any{"start", "stop", "step"}, Values: []any{start, stop, step}}}}
	}
	names, err := labels(of(0, 3, 1))
	require.NoError(t, err)
	require.Equal(t, []string{"0", "1", "2"}, names)
	names, err = labels(of(1, 6, 2))
	require.NoError(t, err)
	require.Equal(t, []string{"1", "3", "5"}, names)
	for _, o := range []*Object{of(-1, 3, 1), of(0, maxColumns+1, 1), of(0, 3, 0)} {
		_, err = labels(o)
		require.ErrorContains(t, err, "unsupported column numbers")
	}
	_, err = labels("x")
	require.ErrorContains(t, err, "column names are")
}

// The types of numpy's arrays, as their name and their state describe them.
func TestTypesOfArrays(t *testing.T) {
	of := func(name any, state any) *Object {
		return &Object{Class: &Global{class: classDType}, Args: Tuple{name, false, true}, State: state}
	}
	for _, c := range []struct {
		o    *Object
		want dtype
	}{
		{of("i8", Tuple{int64(3), "<", nil}), dtype{'i', 8, false}}, {of("i8", Tuple{int64(3), ">", nil}), dtype{'i', 8,
			true}},
		{of("i8", Tuple{int64(3), ">"}), dtype{'i', 8, true}}, {of("i8", Tuple{">"}), dtype{'i', 8, false}},
		{of("i8", Tuple{int64(3), int64(4)}), dtype{'i', 8, false}}, {of("i8", nil), dtype{'i', 8, false}},
		{of("<u2", nil), dtype{'u', 2, false}}, {of("|b1", nil), dtype{'b', 1, false}}, {of("=f4", nil), dtype{'f', 4,
			false}},
		{of("U3", nil), dtype{'U', 12, false}}, {of("S3", nil), dtype{'S', 3, false}}, {of("O8", nil), dtype{'O', 8,
			false}},
		{of("S0", nil), dtype{'S', 0, false}}, {of("S65536", nil), dtype{'S', 1 << 16, false}},
		{of("M8", nil), dtype{'M', 8, false}}, {of("m8", nil), dtype{'m', 8, false}}, {of("i1", nil), dtype{'i', 1, false}},
		{of("i2", nil), dtype{'i', 2, false}}, {of("i4", nil), dtype{'i', 4, false}}, {of("f8", nil), dtype{'f', 8, false}},
	} {
		got, err := dtypeOf(c.o)
		require.NoError(t, err, c.o.Args[0])
		require.Equal(t, c.want, got, c.o.Args[0])
	}
	for _, name := range []string{"S65537", "S-1", "i3", "i16", "u3", "f2", "f16", "b2", "c8", "V4", "i", "8", "<",
		"<>"} {
		_, err := dtypeOf(of(name, nil))
		require.ErrorContains(t, err, "an array of type", name)
	}
	for _, bad := range []any{"", nil, int64(5)} {
		_, err := dtypeOf(of(bad, nil))
		require.ErrorContains(t, err, "an array of records")
	}
	for _, v := range []any{nil, "i8", &Object{Class: &Global{class: classArrow}, Args: Tuple{"i8"}},
		&Object{Class: &Global{class: classDType}}} {
		_, err := dtypeOf(v)
		require.ErrorContains(t, err, "an array with the type ")
	}
}

// Offsets that go back or beyond the text are damage.
func TestOffsetsOfTexts(t *testing.T) {
	for offsets, want := range map[string]string{"\x00\x03": `"xyz"`, "\x03\x03": `""`, "\x02\x01": "damaged",
		"\x00\x04": "damaged", "\x04\x04": "damaged"} {
		a := &arrowTexts{offsets: []byte{offsets[0], 0, 0, 0, offsets[1], 0, 0, 0}, width: 4, n: 1, data: []byte("xyz")}
		w := writer{most: 99}
		if err := a.append(&w, 0); want == "damaged" {
			require.ErrorContains(t, err, "a text outside its column", "%q", offsets)
		} else {
			require.NoError(t, err)
			require.Equal(t, want, string(w.out))
		}
	}
}

// A column with a mask needs two arrays of one axis and one length; the mask has bools.
func TestMaskedColumns(t *testing.T) {
	of := func(name string, data string, shape ...any) *Object {
		return &Object{Class: &Global{class: classBuffer}, Args: Tuple{[]byte(data),
			&Object{Class: &Global{class: classDType}, Args: Tuple{name}}, Tuple(shape), "C"}}
	}
	masked := func(data, mask any) (column, error) {
		return maskedOf(&Object{State: &Dict{Keys: []any{"_data", "_mask"}, Values: []any{data, mask}}})
	}
	two := int64(2)
	c, err := masked(of("i1", "\x05\x06", two), of("b1", "\x00\x01", two))
	require.NoError(t, err)
	require.Equal(t, "5null", written(t, c))
	good, mask := of("i1", "\x05\x06", two), of("b1", "\x00\x01", two)
	for name, bad := range map[string][2]any{
		"no data": {nil, mask}, "no mask": {good, nil}, "short data": {of("i1", "\x05", two), mask},
		"short mask": {good, of("b1", "\x00", two)}, "two axes": {of("i1", "\x05\x06", two, int64(1)), mask},
		"two axes of the mask": {good, of("b1", "\x00\x01", two, int64(1))}, "lengths": {of("i1", "\x05", int64(1)), mask},
		"numbers": {good, of("i1", "\x00\x01", two)}, "neither": {nil, nil},
	} {
		_, err := masked(bad[0], bad[1])
		require.ErrorContains(t, err, "a column with an invalid mask", name)
	}
	_, err = maskedOf(&Object{})
	require.ErrorContains(t, err, "a column with an invalid mask")
}

// Buffers that are as long as the rows need are enough, and one byte less is not.
func TestLengthsOfArrowBuffers(t *testing.T) {
	offsets, data := make([]byte, 4*9), []byte{}
	for _, c := range []struct {
		n, from      int64
		valid, bytes int
		ok           bool
	}{{8, 0, 1, 36, true}, {8, 0, 1, 35, false}, {4, 4, 1, 36, true}, {4, 4, 1, 35, false}, {9, 0, 2, 36, false},
		{8, 0, 0, 36, false}, {7, 1, 1, 36, true}, {0, 0, 1, 0, true}} {
		_, err := arrowArray(arrow("string", c.n, c.from, make([]byte, c.valid), offsets[:c.bytes], data))
		require.Equal(t, c.ok, err == nil, c)
	}
}
