package pickle

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Every opcode that pops operands from the stack needs all of them, above the last mark. Opcodes that need a mark do
// not find one on an empty stack, and those that fill a container need it below the mark.
func TestOperandsOfEveryOpcode(t *testing.T) {
	const value = "K\x01"
	number := "\x00\x00\x00\x00"
	for n, ops := range [][]string{1: {"0", "2", "\x85", "b", "q\x00", "r" + number, "\x94", "p0\n"},
		2: {"\x86", "a", "\x93", "R", "\x81", "b"}, 3: {"\x87", "s", "\x92"}} {
		for _, op := range ops {
			for held := range n {
				for _, stream := range []string{strings.Repeat(value, held) + op + ".",
					strings.Repeat(value, n) + "(" + strings.Repeat(value, held) + op + "."} {
					if strings.Contains(stream, "(0") {
						continue // POP removes a mark too
					}
					_, err := read(strings.NewReader(stream))
					require.ErrorContains(t, err, "empty stack", "%q", stream)
				}
			}
		}
	}
	for _, op := range []string{"l", "d", "t", "\x91", "e", "\x90", "u", "1"} {
		for held := range 3 {
			_, err := read(strings.NewReader(strings.Repeat(value, held) + op + "."))
			require.ErrorContains(t, err, "a stack without marks", "%q", op)
		}
	}
	for _, op := range []string{"e", "\x90", "u"} {
		for _, stream := range []string{"(" + op + ".", "((" + op + ".", "]((" + value + value + op + "."} {
			_, err := read(strings.NewReader(stream))
			require.ErrorContains(t, err, "empty stack", "%q", stream)
		}
	}
	for _, op := range []string{"l", "d", "t", "\x91", "1", "e", "\x90"} {
		v, err := read(strings.NewReader("](" + value + value + op + strings.Repeat("0", strings.Count("ldt\x91", op)) + "."))
		require.NoError(t, err, "%q", op)
		require.IsType(t, &List{}, v, op)
	}
}

// An argument that the end of the file cuts off is an error, whatever its bytes would mean as opcodes.
func TestArgumentsThatAreCutOff(t *testing.T) {
	for _, c := range []struct {
		ops   string
		bytes int    // length of the argument
		rest  string // an argument that announces two bytes more
	}{
		{"K\x80qh", 1, ""}, {"M", 2, ""}, {"Jrj", 4, ""}, {"G\x95", 8, ""}, {"\x8a\x8cUC", 1, "\x02"},
		{"\x8bXTB", 4, "\x02\x00\x00\x00"}, {"\x8d\x8e\x96", 8, "\x02\x00\x00\x00\x00\x00\x00\x00"},
	} {
		for i := range len(c.ops) {
			op := c.ops[i : i+1]
			for n := range c.bytes {
				_, err := read(strings.NewReader("K\x01" + op + strings.Repeat(".", n)))
				require.ErrorContains(t, err, "the end of the file before the end of the pickle at byte 3", "%q %d", op, n)
			}
			if c.rest != "" {
				_, err := read(strings.NewReader("0" + op + c.rest + "."))
				require.Error(t, err)
				_, err = read(strings.NewReader(op + c.rest + "."))
				require.ErrorContains(t, err, fmt.Sprintf("the end of the pickle at byte %d", 1+c.bytes), "%q", op)
			}
		}
	}
}

// The columns of a block are a slice as Python's range(start, stop, step) counts it, within the columns of a table.
func TestColumnsOfABlock(t *testing.T) {
	edges := []any{int64(0), int64(1), int64(2), int64(7), int64(-1), int64(-2), int64(-3), int64(maxColumns - 1),
		int64(maxColumns), int64(maxColumns + 1), int64(-maxColumns), int64(-maxColumns - 1), nil, "1"}
	slice := func(args ...any) *Object { return &Object{Class: &Global{class: classSlice}, Args: args} }
	rapid.Check(t, func(t *rapid.T) {
		of := rapid.SampledFrom(edges)
		args := []any{of.Draw(t, "start"), of.Draw(t, "stop"), of.Draw(t, "step")}
		start, ok1 := args[0].(int64)
		stop, ok2 := args[1].(int64)
		step, ok3 := args[2].(int64)
		if args[2] == nil {
			step, ok3 = 1, true
		}
		got, err := placesOf(slice(args...))
		if !ok1 || !ok2 || !ok3 || start < 0 || start > maxColumns || stop < -1 || stop > maxColumns || step == 0 ||
			max(step, -step) > maxColumns {
			require.ErrorContains(t, err, "without the numbers of its columns", "%v", args)
			return
		}
		require.NoError(t, err, "%v", args)
		var want []int
		for k := int64(0); ; k++ {
			at := start + k*step
			if step > 0 && at >= stop || step < 0 && at <= stop {
				break
			}
			want = append(want, int(at))
		}
		require.Equal(t, want, got, "%v", args)
	})
	for _, v := range []any{nil, "0", slice(int64(0), int64(1)), slice(), numpy("u1", "\x00", 1), numpy("i1", "\x00"),
		numpy("i1", "\x00", 1, 1), numpy("i1", strings.Repeat("\x00", maxColumns+1), maxColumns+1)} {
		_, err := placesOf(v)
		require.ErrorContains(t, err, "without the numbers of its columns")
	}
	got, err := placesOf(numpy("i2", "\x03\x00\x00\x00\xff\xff", 3))
	require.NoError(t, err)
	require.Equal(t, []int{3, 0, -1}, got)
	got, err = placesOf(numpy("i1", strings.Repeat("\x00", maxColumns), maxColumns))
	require.NoError(t, err)
	require.Len(t, got, maxColumns)
}

// numpy returns an array in the form in which numpy pickles one.
func numpy(kind, data string, shape ...int) *Object {
	var sizes Tuple
	for _, n := range shape {
		sizes = append(sizes, int64(n))
	}
	return &Object{Class: &Global{class: classBuffer}, Args: Tuple{[]byte(data),
		&Object{Class: &Global{class: classDType}, Args: Tuple{kind}}, sizes, "C"}}
}

// A block is a call with its values and its columns; everything else in the list of blocks is damage.
func TestBlocks(t *testing.T) {
	of := func(class class, args ...any) *Object {
		return &Object{Class: &Global{Name: "x.y", class: class}, Args: args}
	}
	place := func(at int) *Object { return of(classSlice, int64(at), int64(at+1), nil) }
	frame := func(blocks ...any) *Object {
		names := of(classIndex, &Dict{Keys: []any{"data"}, Values: []any{&List{Items: []any{"a", "b"}}}})
		manager := of(classManager, &List{Items: blocks}, Tuple{names, nil})
		return of(classFrame).with(&Dict{Keys: []any{"_mgr"}, Values: []any{manager}})
	}
	a, b := of(classBlock, numpy("i1", "\x01\x02", 1, 2), place(0), int64(2)), of(classBlock,
		numpy("i1", "\x03\x04", 2), place(1))
	both := of(classBlock, numpy("i1", "\x01\x02\x03\x04", 2, 2), numpy("i1", "\x00\x01", 2))
	for _, o := range []*Object{frame(a, b), frame(b, a), frame(both)} {
		table, err := frameOf(o)
		require.NoError(t, err)
		for i, want := range []string{`{"a":1,"b":3}`, `{"a":2,"b":4}`} {
			row, err := table.Append(nil, i, testNames.Wanted)
			require.NoError(t, err)
			require.Equal(t, want, string(row))
		}
	}
	for name, c := range map[string]struct {
		blocks []any
		want   string
	}{
		"another call":   {[]any{of(classOther, a.Args...), b}, "a block of type "},
		"no places":      {[]any{of(classBlock, a.Args[0]), b}, "a block of type "},
		"no arguments":   {[]any{of(classBlock), b}, "a block of type "},
		"no object":      {[]any{nil, b}, "a block of type None"},
		"wrong places":   {[]any{of(classBlock, a.Args[0], nil), b}, "without the numbers of its columns"},
		"twice":          {[]any{a, a}, "columns outside of the table"},
		"below":          {[]any{of(classBlock, a.Args[0], numpy("i1", "\xff", 1)), b}, "columns outside of the table"},
		"above":          {[]any{of(classBlock, a.Args[0], place(2)), b}, "columns outside of the table"},
		"lacking":        {[]any{a}, `a column without values, "b"`},
		"too many":       {[]any{of(classBlock, a.Args[0], numpy("i1", "\x00\x01", 2))}, "the wrong number of columns"},
		"one for two":    {[]any{of(classBlock, b.Args[0], numpy("i1", "\x00\x01", 2))}, "with several column numbers"},
		"no values":      {[]any{of(classBlock, nil, place(0)), b}, "None for a column"},
		"other lengths":  {[]any{a, of(classBlock, numpy("i1", "\x03", 1), place(1))}, "columns of 2 and 1 rows"},
		"damaged values": {[]any{of(classBlock, numpy("i1", "", 1, 2), place(0)), b}, "wrong number of bytes"},
	} {
		_, err := frameOf(frame(c.blocks...))
		require.ErrorContains(t, err, c.want, name)
	}
}

func (o *Object) with(state any) *Object {
	o.State = state
	return o
}

// A column that is not wanted is null in each form of a table, even where its values cannot be written.
func TestColumnsThatAreNotWanted(t *testing.T) {
	dates := arrayObject("M8", "K\x01", bytes4("12345678"))
	for _, stream := range []string{
		"](" + dict(text4("id"), text4("a"), text4("when"), dates) + "e.",
		dict(text4("id"), text4("a"), text4("when"), dates) + ".",
		dict(text4("id"), list(text4("a")), text4("when"), dates) + ".",
	} {
		table, err := Read(strings.NewReader(stream), testNames)
		require.NoError(t, err)
		_, err = table.Append(nil, 0, testNames.Wanted)
		require.ErrorContains(t, err, "dates or times")
		row, err := table.Append([]byte("before "), 0, func(name string) bool { return name == "id" })
		require.NoError(t, err)
		require.Equal(t, `before {"id":"a","when":null}`, string(row))
	}
}

// An array of dicts has its rows along one axis. A column that cannot be written is named, wherever it is.
func TestRowsInArraysAndBadColumns(t *testing.T) {
	row := dict(text4("id"), text4("a"))
	rows, _, err := rowsOf(t, arrayObject("O8", "K\x02", list(row, row))+".")
	require.NoError(t, err)
	require.Equal(t, `{"id":"a"}`+"\n"+`{"id":"a"}`, rows)
	for shape, items := range map[string]string{"": list(row), "K\x01K\x02": list(row, row),
		"K\x01K\x01K\x02": list(row, row)} {
		_, _, err = rowsOf(t, arrayObject("O8", shape, items)+".")
		require.ErrorContains(t, err, "found a numpy.", "%q", shape)
	}
	_, _, err = rowsOf(t, arrayObject("i1", "K\x01", bytes4("1"))+".")
	require.Error(t, err)
	good, bad := list(text4("a")), arrayObject("M8", "K\x01", bytes4("12345678"))
	for _, entries := range [][]string{{"id", "x"}, {"x", "id"}, {"id", "x", "y"}} {
		var pairs []string
		for _, name := range entries {
			values := good
			if name == "x" {
				values = bad
			}
			pairs = append(pairs, text4(name), values)
		}
		_, _, err := rowsOf(t, dict(pairs...)+".")
		require.ErrorContains(t, err, `column "x": `)
		require.ErrorContains(t, err, "dates or times")
	}
}

// The memo is a dict of numbers, in which MEMOIZE uses the number of its entries, as in Python.
func TestMemo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &machine{}
		memo := map[uint64]any{}
		for k := range int64(rapid.IntRange(1, 12).Draw(t, "opcodes")) {
			i := rapid.OneOf(rapid.Uint64Range(0, 6), rapid.Just(uint64(1)<<40)).Draw(t, "number")
			m.stack = []any{k}
			switch rapid.SampledFrom([]string{"put", "memoize", "get"}).Draw(t, "opcode") {
			case "put":
				require.NoError(t, m.put(i))
				memo[i] = k
			case "memoize":
				require.NoError(t, opcodes[0x94](m))
				memo[uint64(len(memo))] = k
			default:
				want, ok := memo[i]
				err := m.get(i)
				require.Equal(t, ok, err == nil)
				if ok {
					require.Equal(t, []any{k, want}, m.stack)
				}
			}
		}
	})
}

// The estimate may reach freeHeld and heldPerByte for each byte that was read, and no more.
func TestLimitOfMemory(t *testing.T) {
	for _, passed := range []int64{0, 1, 1000, 1 << 40} {
		m := &machine{input: input{passed: passed}, held: freeHeld + heldPerByte*passed}
		require.NoError(t, m.check())
		m.held++
		require.ErrorContains(t, m.check(), "MiB of pickle")
	}
	m := &machine{stack: make([]any, maxStack), marks: make([]int, maxMarks)}
	require.NoError(t, m.check())
	m.stack = append(m.stack, nil)
	require.ErrorContains(t, m.check(), "a stack deeper")
	m.stack, m.marks = nil, append(m.marks, 0)
	require.ErrorContains(t, m.check(), "a stack deeper")
}

// A row's values may be nested maxDepth deep, whatever the form of the table. An array of Python values counts for one.
func TestDepthInEachForm(t *testing.T) {
	nested := func(depth int) string {
		return strings.Repeat("]", depth) + strings.Repeat("a", depth-1)
	}
	for depth, ok := range map[int]bool{maxDepth: true, maxDepth + 1: false} {
		for _, stream := range []string{
			"](" + dict(text4("id"), nested(depth)) + "e.",
			dict(text4("id"), list(nested(depth))) + ".",
			dict(text4("id"), "("+nested(depth)+"t") + ".",
			dict(text4("id"), arrayObject("O8", "K\x01", list(nested(depth-1)))) + ".",
			"](" + dict(text4("id"), arrayObject("O8", "K\x01", list(nested(depth-2)))) + "e.",
		} {
			_, _, err := rowsOf(t, stream)
			if ok {
				require.NoError(t, err, "%d %.40q", depth, stream)
			} else {
				require.ErrorContains(t, err, "nested more than 64 deep", "%d %.40q", depth, stream)
			}
		}
	}
}

// The number of elements of an array is bounded before it is multiplied, so that no product overflows.
func TestShapesOfArrays(t *testing.T) {
	for _, c := range []struct {
		shape []int
		ok    bool
	}{
		{nil, true}, {[]int{maxElements}, true}, {[]int{maxElements + 1}, false}, {[]int{1 << 16, 1 << 15}, true},
		{[]int{1 << 16, 1<<15 + 1}, false}, {[]int{3, maxElements / 3}, true}, {[]int{3, maxElements/3 + 1}, false},
		{[]int{1 << 32, 1 << 32}, false}, {[]int{1 << 31, 1 << 31, 4}, false}, {[]int{0, maxElements}, true},
		{[]int{maxElements, 0}, true}, {[]int{-1}, false}, {[]int{2, -2}, false}, {[]int{1, 1, 1, 1, 1, 1, 1, 1}, true},
		{[]int{1, 1, 1, 1, 1, 1, 1, 1, 1}, false},
	} {
		a, _, err := arrayOf(numpy("S0", "", c.shape...))
		require.Equal(t, c.ok, err == nil, "%v: %v", c.shape, err)
		if c.ok {
			require.Equal(t, c.shape, a.shape)
		}
	}
	_, _, err := arrayOf(&Object{Class: &Global{class: classBuffer}, Args: Tuple{[]byte{1}, numpy("i1", "").Args[1], nil,
		"C"}})
	require.ErrorContains(t, err, "an array without a shape")
}

// A palette is a list of at most 256 colors of three bytes each.
func TestPalettes(t *testing.T) {
	of := func(n int) *List { return &List{Ints: make([]int32, n)} }
	for _, good := range []int{3, 6, 768} {
		p, err := paletteOf(of(good))
		require.NoError(t, err)
		require.Len(t, p, good/3)
	}
	mixed := &List{}
	mixed.add([]any{int64(1), int64(2), nil})
	for _, bad := range []any{nil, "abc", Tuple{int64(1), int64(2), int64(3)}, of(0), of(1), of(2), of(4), of(767),
		of(771), mixed, &List{}, (*Dict)(nil)} {
		_, err := paletteOf(bad)
		require.ErrorContains(t, err, "an image without its palette", "%v", bad)
	}
}

// The estimate of memory is at least what the values take, for containers about that, and far below the limit for
// values as a table has them.
func TestEstimateOfMemory(t *testing.T) {
	const any16, n = 16, 1000
	long := strings.Repeat("x", n)
	for name, c := range map[string]struct {
		stream string
		least  int
	}{
		"text":           {text4(long), n},
		"bytes":          {bytes4(long), n},
		"line":           {"V" + long + "\n", n},
		"escapes":        {"V" + strings.Repeat(`\U0001f600`, n) + "\n", 4 * n},
		"latin1":         {"V" + strings.Repeat("\xff", n) + "\n", 2 * n},
		"literal":        {"S'" + strings.Repeat("\xff", n) + "'\n", 2 * n},
		"large integer":  {"L1" + strings.Repeat("0", n) + "L\n", n * 10 / 24},
		"binary integer": {"\x8b\xe8\x03\x00\x00" + long, n},
		"integers":       {list(strings.Repeat("K\x01", n)), 4 * n},
		"more integers":  {"](" + strings.Repeat("K\x01", n) + "e(" + strings.Repeat("K\x01", n) + "e", 8 * n},
		"values":         {list(strings.Repeat("K\x01", n) + "N"), any16 * n},
		"more values":    {"](Ne(" + strings.Repeat("K\x01", n) + "e", any16 * n},
		"tuple":          {"(" + strings.Repeat("N", n) + "t", any16 * n},
		"object":         {name("numpy", "dtype") + ")R(" + strings.Repeat("N", n) + "e", any16 * n},
		"dict":           {"}(" + strings.Repeat("NN", n) + "u", 2 * any16 * n},
		"dict of a mark": {"(" + strings.Repeat("NN", n) + "d", 2 * any16 * n},
		"list of a mark": {"(" + strings.Repeat("N", n) + "l", any16 * n},
		"memo":           {"K\x01" + strings.Repeat("\x94", n), any16 * n},
		"dicts":          {list(strings.Repeat("}", n)), n * (any16 + 48)},
		"lists":          {list(strings.Repeat("]", n)), n * (any16 + 48)},
	} {
		m := &machine{input: input{r: strings.NewReader(c.stream)}}
		for {
			code, err := m.byte()
			if err != nil {
				break
			}
			require.NoError(t, opcodes[code](m), name)
		}
		require.EqualValues(t, len(c.stream), m.passed, name)
		require.GreaterOrEqual(t, m.held, int64(c.least), name)
		if c.least >= any16*n {
			require.Less(t, m.held, int64(2*c.least+400), name)
		}
		if !slices.Contains([]string{"tuple", "dict", "dicts", "lists", "memo"}, name) { // real ones have elements
			require.LessOrEqual(t, m.held, heldPerByte*m.passed, name)
		}
	}
}
