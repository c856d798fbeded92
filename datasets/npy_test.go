package datasets

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// npyFile returns a .npy file as numpy.save writes it. With columns 0 the array has one dimension.
func npyFile(version byte, descr string, rows, columns int, values ...int64) []byte {
	shape := fmt.Sprintf("(%d,)", rows)
	if columns > 0 {
		shape = fmt.Sprintf("(%d, %d)", rows, columns)
	}
	header := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %s, }\n", descr, shape)
	b := append([]byte("\x93NUMPY"), version, 0)
	if version == 1 {
		b = binary.LittleEndian.AppendUint16(b, uint16(len(header)))
	} else {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(header)))
	}
	b = append(b, header...)
	for _, v := range values {
		if strings.HasSuffix(descr, "4") {
			b = binary.LittleEndian.AppendUint32(b, uint32(v))
		} else {
			b = binary.LittleEndian.AppendUint64(b, uint64(v))
		}
	}
	return b
}

func npyOptions(t testing.TB, side string, lengths ...int64) Options {
	o := testOptions()
	o.Padding = Padding{Lengths: writeFile(t, "lengths", npyFile(1, "<i8", len(lengths), 0, lengths...)), Side: side}
	return o
}

func TestNPY(t *testing.T) {
	want := [][]int32{{1, 2, 3}, {4}, {5, 6}}
	table := []int64{1, 2, 3, 9, 4, 9, 9, 9, 5, 6, 9, 9}
	for name, c := range map[string]struct {
		side string
		file []byte
	}{
		"int32, right": {PadRight, npyFile(1, "<i4", 3, 4, table...)},
		"int64, right": {"", npyFile(2, "<i8", 3, 4, table...)},
		"left":         {PadLeft, npyFile(3, "<i4", 3, 4, 9, 1, 2, 3, 9, 9, 9, 4, 9, 9, 5, 6)},
		"ragged":       {"", npyFile(1, "<i8", 6, 0, 1, 2, 3, 4, 5, 6)},
		"gzip":         {"", gzipped(t, npyFile(1, "<i4", 6, 0, 1, 2, 3, 4, 5, 6))},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := Open(writeFile(t, "a", c.file), npyOptions(t, c.side, 3, 1, 2))
			require.NoError(t, err)
			require.Contains(t, d.Format, "NumPy array")
			for i, s := range d.Samples {
				require.Equal(t, want[i], s.InputIDs)
				require.Equal(t, len(want[i]), s.InputLen)
			}
			require.Len(t, d.Samples, len(want))
		})
	}
}

func TestNPYRefuses(t *testing.T) {
	ragged := npyFile(1, "<i4", 3, 0, 1, 2, 3)
	table := npyFile(1, "<i4", 2, 2, 1, 9, 3, 4)
	pad := int32(8)
	for _, c := range []struct {
		name    string
		file    []byte
		lengths []int64
		change  func(*Options)
		says    string
	}{
		{"no lengths", table, nil, func(o *Options) { o.Padding.Lengths = "" },
			"an array of ids without the lengths of its prompts"},
		{"no lengths file", table, nil, func(o *Options) { o.Padding.Lengths += ".none" }, "no such file"},
		{"lengths cut", table, nil, func(o *Options) {
			o.Padding.Lengths = writeFile(t, "l", npyFile(1, "<i4", 9, 0, 1))
		}, "found the end of the file, expected 9 lengths"},
		{"lengths cut short", table, nil, func(o *Options) {
			o.Padding.Lengths = writeFile(t, "l", npyFile(1, "<i8", maxSamples, 0, 1))
		}, "found the end of the file, expected 4194304 lengths"},
		{"lengths lie", table, nil, func(o *Options) {
			o.Padding.Lengths = writeFile(t, "l", npyFile(1, "<i8", 1<<60, 0, 1))
		}, "lengths of shape [1152921504606846976]"},
		{"too few lengths", table, []int64{1}, nil, "expected 2, one per row"},
		{"length too long", table, []int64{1, 3}, nil, "the length 3 of prompt 2"},
		{"length 0", table, []int64{0, 2}, nil, "the length 0 of prompt 1"},
		{"sum", ragged, []int64{1, 1}, nil, "that add up to 2"},
		{"wrong side", table, []int64{1, 1}, nil, `record 2, field "tok_input": found the id 4 at position 1, outside of the prompt's 1 ids, expected the padding id 9`},
		{"other padding", table, []int64{1, 2}, func(o *Options) { o.Padding.ID = &pad }, "expected the padding id 8"},
		{"unknown side", table, []int64{1, 2}, func(o *Options) { o.Padding.Side = "top" },
			`unknown padding side "top"; use left or right`},
		{"cut", table[:len(table)-2], []int64{1, 2}, nil, "found 14 bytes of numbers instead of the 16 of its shape"},
		{"more", append(table[:len(table):len(table)], 1), []int64{1, 2}, nil,
			"found 17 bytes of numbers instead of the 16 of its shape"},
		{"cut, packed", gzipped(t, table[:len(table)-2]), []int64{1, 2}, nil,
			"record 2: found the end of the file inside this prompt"},
		{"more, packed", gzipped(t, append(table[:len(table):len(table)], 1)), []int64{1, 2}, nil,
			"more bytes than its shape"},
		{"huge row, packed", gzipped(t, npyFile(1, "<i4", 1, maxRecord/4, 1)), []int64{1}, nil,
			"the end of the file inside this prompt"},
		{"cut header", table[:20], []int64{1, 2}, nil, "the end of the file inside its header"},
		{"version", npyFile(9, "<i4", 1, 0, 1), []int64{1}, nil, "version 9"},
		{"header without end", append([]byte("\x93NUMPY\x02\x00"), 0xff, 0xff, 0xff, 0x7f), []int64{1}, nil,
			"a header of 2147483647 bytes"},
		{"float", npyFile(1, "<f4", 1, 0, 1), []int64{1}, nil, `numbers of type "<f4", expected <i4 or <i8`},
		{"objects", npyFile(1, "|O", 1, 0, 1), []int64{1}, nil, `numbers of type "|O"`},
		{"big-endian", npyFile(1, ">i8", 1, 0, 1), []int64{1}, nil, `numbers of type ">i8"`},
		{"fortran", bytes.Replace(table, []byte("False"), []byte("True "), 1), []int64{1, 2}, nil, "Fortran order"},
		{"huge rows", npyFile(1, "<i8", 1, 1<<60, 1), []int64{1}, nil, "rows of 1152921504606846976 ids"},
		{"huge table", npyFile(1, "<i8", 1<<40, 1024, 1), []int64{1}, nil, "expected 1099511627776, one per row"},
		{"dimensions", bytes.Replace(table, []byte("(2, 2)"), []byte("(1,2,2)"), 1), []int64{1, 2}, nil, "found"},
		{"negative id", npyFile(1, "<i8", 1, 0, -4), []int64{1}, nil, "the negative id -4"},
		{"huge id", npyFile(1, "<i8", 1, 0, 1<<40), []int64{1}, nil, "the id 1099511627776, expected ids of at most"},
		{"vocabulary", npyFile(1, "<i4", 1, 0, 1000), []int64{1}, nil, "below the vocabulary's size 1000"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := npyOptions(t, "", c.lengths...)
			if c.change != nil {
				c.change(&o)
			}
			path := writeFile(t, "a", c.file)
			d, err := grownBy(t, 8<<20, func() (*Dataset, error) { return Open(path, o) })
			require.Nil(t, d)
			require.ErrorContains(t, err, c.says)
		})
	}
}

func FuzzNPY(f *testing.F) {
	f.Add(npyFile(1, "<i4", 2, 2, 1, 9, 3, 4))
	f.Add(npyFile(3, "<i8", 3, 0, 1, 2, 3))
	f.Add([]byte("\x93NUMPY\x01\x00\x10\x00{'descr': '<i4'}"))
	lengths := writeFile(f, "lengths", npyFile(1, "<i8", 2, 0, 1, 2))
	all := func(content, whole []byte) (rows []string, err error) {
		r, err := newNPY(bytes.NewReader(content), whole, "ids", Padding{Lengths: lengths})
		for err == nil {
			var row []byte
			if row, _, err = r.next(); err == nil {
				rows = append(rows, string(row))
			}
		}
		return rows, err
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		streamed, wantErr := all(content, nil)
		require.LessOrEqual(t, len(streamed), 2)
		if mapped, err := all(content, content); err == io.EOF {
			require.Equal(t, io.EOF, wantErr)
			require.Equal(t, streamed, mapped)
		} else {
			require.NotEqual(t, io.EOF, wantErr, "only the map is refused: %v", err)
		}
		if lengths, fault, _ := lengthsOf(bytes.NewReader(content)); fault == nil {
			require.LessOrEqual(t, len(lengths)*4, len(content))
		}
	})
}

// TestNPYIsMapped truncates an opened file. Reading beyond its end must be an error, which only a mapped file causes,
// and must not kill the process with a signal.
func TestNPYIsMapped(t *testing.T) {
	const rows, columns = 4, 64 << 10
	o := npyOptions(t, "", columns, columns, columns, columns)
	path := writeFile(t, "ids", npyFile(1, "<i4", rows, columns, make([]int64, rows*columns)...))
	src, err := openSource(path)
	require.NoError(t, err)
	defer src.Close()
	whole := src.mapped()
	require.Len(t, whole, len(npyFile(1, "<i4", rows, columns))+rows*columns*4)
	r, err := newNPY(src.content, whole, "ids", o.Padding)
	require.NoError(t, err)
	_, _, err = r.next()
	require.NoError(t, err)
	require.NoError(t, os.Truncate(path, columns))
	_, _, err = r.next()
	require.ErrorContains(t, err, "fewer bytes than when it was opened")

	packed, err := openSource(writeFile(t, "ids.gz", gzipped(t, []byte("x"))))
	require.NoError(t, err)
	defer packed.Close()
	require.Nil(t, packed.mapped())
}

// TestNPYWindow reads a mapped file twice as long as npyWindow and checks every number.
func TestNPYWindow(t *testing.T) {
	b := make([]byte, 3*npyWindow+5)
	for i := range b {
		b[i] = byte(i >> 12)
	}
	path := writeFile(t, "numbers", b)
	src, err := openSource(path)
	require.NoError(t, err)
	defer src.Close()
	m := &npyMap{b: src.mapped()}
	got := []byte{}
	for {
		piece, err := m.take(npyWindow / 3)
		got = append(got, piece...)
		if err != nil {
			require.Equal(t, io.ErrUnexpectedEOF, err)
			break
		}
	}
	require.True(t, bytes.Equal(b, got))
	require.GreaterOrEqual(t, m.dropped, 2*npyWindow)
}
