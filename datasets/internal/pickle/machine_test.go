package pickle

import (
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

// Pieces of hand-built pickles.

func text4(s string) string {
	return "X" + string(binary.LittleEndian.AppendUint32(nil, uint32(len(s)))) + s
}

func bytes4(s string) string { return "B" + text4(s)[1:] }

func name(module, n string) string { return "c" + module + "\n" + n + "\n" }

func call(callee string, args ...string) string {
	return callee + "(" + strings.Join(args, "") + "tR"
}

func list(items ...string) string { return "](" + strings.Join(items, "") + "e" }

func dict(pairs ...string) string { return "}(" + strings.Join(pairs, "") + "u" }

func dtypeObject(kind, order string) string {
	return call(name("numpy", "dtype"), text4(kind), "I00\n", "I01\n") + "(K\x03" + text4(order) +
		"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
}

func arrayObject(kind, shape, data string) string {
	return call(name("numpy.core.multiarray", "_reconstruct"), name("numpy", "ndarray"), "(K\x00t", bytes4("b")) +
		"(K\x01(" + shape + "t" + dtypeObject(kind, "<") + "I00\n" + data + "tb"
}

func indexObject(labels string, n string) string {
	return call(name("pandas.core.indexes.base", "_new_Index"), name("pandas.core.indexes.base", "Index"),
		dict(text4("data"), arrayObject("O8", n, labels), text4("name"), "N"))
}

// oldFrame is a DataFrame as pandas before 1.3 writes it: the manager's state is a tuple, whose last element contains
// the version of the layout.
func oldFrame(manager string) string {
	axes := list(indexObject(list(text4("id"), text4("n"), text4("m")), "K\x03"),
		call(name("pandas.core.indexes.base", "_new_Index"), name("pandas.core.indexes.range", "RangeIndex"),
			dict(text4("start"), "K\x00", text4("stop"), "K\x02", text4("step"), "K\x01")))
	texts := dict(text4("values"), arrayObject("O8", "K\x01K\x02", list(text4("a"), text4("b"))), text4("mgr_locs"),
		call(name("builtins", "slice"), "K\x00", "K\x01", "K\x01"))
	numbers := dict(text4("values"), arrayObject("i4", "K\x02K\x02",
		bytes4("\x07\x00\x00\x00\x08\x00\x00\x00\xff\xff\xff\xff\x01\x00\x00\x00")),
		text4("mgr_locs"), arrayObject("i8", "K\x02",
			bytes4("\x02\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00")))
	state := "(" + axes + list() + list() + dict(text4("0.14.1"),
		dict(text4("axes"), axes, text4("blocks"), list(texts, numbers))) + "t"
	return "\x80\x02" + name("pandas.core.frame", "DataFrame") + ")\x81" + dict(text4(manager),
		name("pandas.core.internals.managers", "BlockManager")+")\x81"+state+"b",
		text4("_typ"), text4("dataframe")) + "b."
}

func TestOldFrames(t *testing.T) {
	for _, manager := range []string{"_data", "_mgr"} {
		rows, _, err := rowsOf(t, oldFrame(manager))
		require.NoError(t, err)
		require.Equal(t, `{"id":"a","n":-1,"m":7}`+"\n"+`{"id":"b","n":1,"m":8}`, rows)
	}
}

func TestPicklesRunNoCode(t *testing.T) {
	for stream, says := range map[string]string{
		"cos\nsystem\n(S'echo owned > /tmp/owned'\ntR.":         "the name os.system, which the pickle would call",
		"\x80\x04" + text4("posix") + text4("system") + "\x93.": "the name posix.system",
		"\x80\x02cbuiltins\neval\nX\x01\x00\x00\x001\x85R.":     "the name builtins.eval",
		"\x80\x02cnumpy\nload\nX\x01\x00\x00\x001\x85R.":        "the name numpy.load",
		"\x80\x02cpandas\nDataFrame.query\n.":                   "the name pandas.DataFrame.query",
		"c\x00\x1b[2J\n" + strings.Repeat("x", 200) + "\n.":     "the name \\u0000\\u001b[2J.xxx",
		"ios\nsystem\n.":               "an instance of a Python 2 class",
		"\x80\x02X\x01\x00\x00\x001Q.": "a reference to data outside the file",
		"\x80\x02\x82\x01.":            "a reference to data outside the file",
		"\x80\x05\x97.":                "a reference to data outside the file",
		"\x80\x06.":                    "protocol 6",
		"\x80\x02cnumpy\nndarray\n)\x81}X\x01\x00\x00\x00aK\x01sbK\x01.": "2 values left",
	} {
		_, err := Read(strings.NewReader(stream), testNames)
		require.ErrorContains(t, err, says)
		var e *Error
		if errors.As(err, &e) && strings.HasPrefix(says, "the name") {
			require.Contains(t, e.Try, "nothing was run")
		}
	}
}

func TestDamaged(t *testing.T) {
	for stream, says := range map[string]string{
		"":                                     "the end of the file before the end of the pickle at byte 0",
		"\x80\x02]":                            "the end of the file",
		"\xff.":                                "the byte 0xff, which is not an opcode",
		".":                                    "0 values left at the end",
		"0.":                                   "an empty stack",
		"(0.":                                  "0 values left",
		"t.":                                   "a stack without marks",
		"\x85.":                                "an empty stack",
		"](.":                                  "1 values left", // a mark that is still open
		"]K\x01(a.":                            "an empty stack",
		"K\x01K\x02a.":                         "elements appended to an int",
		"K\x01K\x02K\x03s.":                    "entries set in an int",
		"K\x01K\x02b.":                         "a state for an int",
		"K\x01)R.":                             "a call of an int",
		"cnumpy\ndtype\nK\x01R.":               "a call with an int as arguments",
		"K\x01)}\x92.":                         "a call of an int",
		"K\x01K\x01\x93.":                      "a name that is not a string",
		"h\x05.":                               "a reference to value 5, which was not stored",
		"gx\n.":                                "an invalid memo number",
		"Ix\n.":                                "an invalid integer",
		"Fx\n.":                                "an invalid number",
		"S'x\n.":                               "a string without its quotes",
		"(K\x01d.":                             "a key without a value",
		"\x8d\xff\xff\xff\xff\xff\xff\xff\x7f": "longer than 1 GiB",
		"X\xff\xff\xff\x3fabc":                 "the end of the file",
		"K\x01.":                               "an int, expected",
		"](K\x01K\x02e.":                       "a list of numbers",
		"](K\x01Ne.":                           "a list whose element 1 is an int",
		strings.Repeat("(", 2000):              "a stack deeper",
		strings.Repeat("N", 2<<20):             "a stack deeper",
		"I" + strings.Repeat("1", 200_000):     "an overlong line",
		"c" + strings.Repeat("x", 200_000):     "an overlong line",
		"cnumpy\ndtype":                        "the end of the file",
		"cnumpy\nx\n.":                         "x",
		strings.Repeat("]", 100) + strings.Repeat("l", 1): "a stack without marks",
		"}" + text4("id") + "K\x01K\x02K\x03\x87" + "s.":  "",
	} {
		_, err := Read(strings.NewReader(stream), testNames)
		if says == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, says, "%.40q", stream)
	}
	_, err := Read(iotest.ErrReader(io.ErrClosedPipe), testNames)
	require.ErrorIs(t, err, io.ErrClosedPipe)
}

func TestFramesWithFalseLengths(t *testing.T) {
	good := oldFrame("_mgr")
	for _, c := range []struct{ from, to, says string }{
		{"_mgr", "_xxx", "a table without its blocks"},
		{"0.14.1", "0.13.1", "before 0.14.1"},
		{"K\x02K\x02t", "K\x02K\x03t", "the wrong number of bytes for its shape"},
		{"K\x01K\x02t", "K\x02K\x02t", "the wrong number of Python values"},
		{text4("i4"), text4("i3"), `an array of type "i3"`},
		{text4("i4"), text4("M4"), "dates or times"},
		{text4("i4"), text4(""), "an array of records"},
		{"\x02\x00\x00\x00\x00\x00\x00\x00\x01", "\x01\x00\x00\x00\x00\x00\x00\x00\x01", "columns outside of the table"},
		{"\x02\x00\x00\x00\x00\x00\x00\x00\x01", "\xff\xff\xff\xff\xff\xff\xff\xff\x01", "columns outside of the table"},
		{"K\x00K\x01K\x01t", "K\x00K\x09K\x01t", "the wrong number of columns"},
		{"K\x00K\x01K\x01t", "K\x00K\x01K\x00t", "without the numbers of its columns"},
		{"K\x00K\x01K\x01t", "K\x00K\x00K\x01t", "a column without values"},
		{"RangeIndex", "MultiIndex", "the name pandas.core.indexes.range.MultiIndex"},
	} {
		require.Contains(t, good, c.from)
		_, _, err := rowsOf(t, strings.Replace(good, c.from, c.to, 1))
		require.ErrorContains(t, err, c.says, "%q", c.to)
	}
}

// TestCutAnywhere truncates the file and flips bits: the result is an error or a table, never a panic.
func TestCutAnywhere(t *testing.T) {
	good := oldFrame("_mgr")
	for n := range len(good) - 1 {
		_, _, err := rowsOf(t, good[:n])
		require.Error(t, err, n)
	}
	for n := range len(good) {
		flipped := []byte(good)
		flipped[n] ^= 1
		_, _, _ = rowsOf(t, string(flipped))
	}
}

// A value that contains itself is an error.
func TestRecursiveValues(t *testing.T) {
	frame := name("pandas", "Series") + ")\x81q\x00" + dict(text4("_mgr"),
		call(name("pandas.core.internals.managers", "SingleBlockManager"),
			"("+call(name("pandas._libs.internals", "_unpickle_block"), "h\x00",
				call(name("builtins", "slice"), "K\x00", "K\x01", "K\x01"), "K\x01")+"t", list())) + "b"
	for stream, says := range map[string]string{
		"](}" + text4("id") + "]q\x00h\x00ase.":                                         "nested more than 64 deep",
		"]q\x00}" + text4("x") + "h\x00sa.":                                             "nested more than 64 deep",
		"}q\x00" + text4("id") + "h\x00s.":                                              "nested more than 64 deep",
		"}" + text4("tok_input") + frame + "s.":                                         "a pandas.Series for a value",
		"](}" + text4("id") + strings.Repeat("]", 70) + strings.Repeat("a", 69) + "se.": "nested more than 64 deep",
	} {
		_, _, err := rowsOf(t, stream)
		require.ErrorContains(t, err, says, "%q", stream)
	}
}

// TestMemoryIsBounded reads a stream that would create far more data than it contains.
func TestMemoryIsBounded(t *testing.T) {
	empty := io.MultiReader(strings.NewReader("]("), &repeated{text: []byte("]]]]]]]]]]]]]]]]"), n: 1 << 30})
	_, err := Read(empty, testNames)
	require.ErrorContains(t, err, "a stack deeper")
	lists := io.MultiReader(strings.NewReader("]q\x00"),
		&repeated{text: []byte("(]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]e"), n: 1 << 30})
	_, err = Read(lists, testNames)
	require.ErrorContains(t, err, "MiB of pickle")
	far := io.MultiReader(strings.NewReader("]"), &repeated{text: []byte("r\x00\x00\x00\xff"), n: 1 << 26, step: true})
	_, err = Read(far, testNames)
	require.ErrorContains(t, err, "MiB of pickle")
	// All rows share the same long list; the limit for a row applies.
	long := "]q\x00(" + strings.Repeat("X\x01\x00\x00\x00x", 1000) + "e0]q\x01(" + strings.Repeat("h\x00", 1000) + "e0](" +
		strings.Repeat("h\x01", 1000) + "eq\x020"
	_, _, err = rowsOf(t, long+"](}"+text4("id")+
		"](h\x02h\x02h\x02h\x02h\x02h\x02h\x02h\x02h\x02h\x02h\x02h\x02h\x02h\x02h\x02h\x02h\x02h\x02h\x02h\x02ese.")
	require.ErrorContains(t, err, "a row of more than 64 MiB")
}

// repeated is a stream of n bytes that repeats a text. If step is set, the second byte counts up.
type repeated struct {
	text []byte
	n    int
	at   int
	step bool
}

func (r *repeated) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) && r.n > 0 {
		p[n] = r.text[r.at]
		if r.at++; r.at == len(r.text) {
			r.at = 0
			if r.step {
				binary.LittleEndian.PutUint32(r.text[1:], binary.LittleEndian.Uint32(r.text[1:])+1)
			}
		}
		n++
		r.n--
	}
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

func FuzzRead(f *testing.F) {
	f.Add(oldFrame("_mgr"))
	f.Add("](}" + text4("id") + text4("a") + "se.")
	f.Add("}" + text4("tok_input") + list(list("K\x01"), list("M\x01\x02")) + "s.")
	f.Fuzz(func(t *testing.T, stream string) {
		table, err := Read(strings.NewReader(stream), testNames)
		if err != nil {
			return
		}
		for i := range min(table.Rows(), 100) {
			if _, err := table.Append(nil, i, testNames.Wanted); err != nil {
				return
			}
		}
	})
}
