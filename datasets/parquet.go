package datasets

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/mlperf-go/mlperf-go/datasets/internal/jsontext"
)

// maxFooter is the maximum size of a footer in bytes. A footer with thousands of columns and row groups has a few MiB.
const maxFooter = 16 << 20

// parquetRecords reads a Parquet file row by row. It holds one page of each wanted column, whatever the size of the
// file, and does not read columns that the schema does not know.
type parquetRecords struct {
	file    io.ReaderAt
	size    int64
	root    *pqNode
	leaves  []*pqNode
	groups  []thriftNode
	group   int   // index of the next row group
	left    int64 // number of rows left in the current row group
	columns []*pqColumn
	spare   []buffers // buffers of closed columns, by leaf
	out     []byte
	grown   growth
	n       int
}

// newParquet reads the footer.
func newParquet(file io.ReaderAt, size int64, p *plan, all bool) (records, error) {
	footer, f := pqFooter(file, size)
	if f != nil {
		return nil, &fileError{fault: f}
	}
	r := &parquetRecords{file: file, size: size, groups: footer.get(4).kids, grown: growth{size: size}}
	if r.root, r.leaves, f = readSchema(footer.get(2).kids); f != nil {
		return nil, &fileError{fault: f}
	}
	for _, n := range r.root.kids {
		n.kinds, n.known = p.kindsNamed(n.name)
		n.taken = n.known || all
	}
	r.columns, r.spare = make([]*pqColumn, len(r.leaves)), make([]buffers, len(r.leaves))
	return r, nil
}

// pqFooter reads the footer, whose length is in the last 8 bytes of the file.
func pqFooter(file io.ReaderAt, size int64) (*thriftNode, *fault) {
	cut := &fault{found: "no Parquet footer at its end", expected: "a complete Parquet file",
		try: "the file is truncated: get it again"}
	var tail [8]byte
	if size < 12 {
		return nil, cut
	}
	if _, err := file.ReadAt(tail[:], size-8); err != nil || string(tail[4:]) != "PAR1" {
		return nil, cut
	}
	length := int64(binary.LittleEndian.Uint32(tail[:]))
	if length > size-12 || length > maxFooter {
		return nil, pqDamaged(fmt.Sprintf("a footer of %d bytes in a file of %d", length, size))
	}
	b := make([]byte, length)
	if _, err := file.ReadAt(b, size-8-length); err != nil {
		return nil, pqDamaged(fmt.Sprintf("an unreadable footer (%v)", err))
	}
	footer, _, err := readThrift(b)
	if err != nil {
		return nil, pqDamaged("an invalid footer")
	}
	return &footer, nil
}

func (r *parquetRecords) passed() int   { return r.n }
func (r *parquetRecords) shape() string { return "Parquet" }

func (r *parquetRecords) next() ([]byte, int, error) {
	for r.left == 0 {
		if f := r.endGroup(); f != nil {
			return nil, 0, &fileError{fault: f}
		}
		if r.group == len(r.groups) {
			return nil, 0, io.EOF
		}
		if f := r.beginGroup(); f != nil {
			return nil, 0, &fileError{fault: f}
		}
	}
	r.left--
	r.n++
	r.out = append(r.out[:0], '{')
	for _, n := range r.root.kids {
		r.out = jsontext.AppendKey(r.out, n.name)
		if !n.taken {
			r.out = append(r.out, "null"...)
			continue
		}
		if f := r.column(n); f != nil {
			if f.field == "" {
				f.field = n.name
			}
			return nil, 0, &fileError{fault: f}
		}
	}
	r.out = append(r.out, '}')
	if r.grown.add(len(r.out)) {
		return nil, 0, errExpansion
	}
	return r.out, 0, nil
}

// column appends the value of a top-level column after checking that a row begins here in every leaf.
func (r *parquetRecords) column(n *pqNode) *fault {
	for _, c := range r.columns[n.leaf : n.leaf+n.leaves] {
		rep, _, more, f := c.peek()
		if f != nil {
			return f
		}
		if !more || rep != 0 {
			return pqDamaged("fewer values than rows in the footer, or columns with different numbers of rows")
		}
	}
	return r.write(n)
}

// beginGroup opens the wanted columns of the next row group.
func (r *parquetRecords) beginGroup() *fault {
	group := &r.groups[r.group]
	r.group++
	if r.left = group.get(3).whole; r.left < 0 || r.left > maxSamples {
		return pqDamaged(fmt.Sprintf("a row group of %d rows", r.left))
	}
	chunks := group.get(1).kids
	if len(chunks) != len(r.leaves) {
		return pqDamaged(fmt.Sprintf("a row group of %d columns for a schema of %d", len(chunks), len(r.leaves)))
	}
	for _, n := range r.root.kids {
		for i := n.leaf; n.taken && i < n.leaf+n.leaves; i++ {
			if f := r.openColumn(i, &chunks[i]); f != nil {
				f.field = n.name
				return f
			}
		}
	}
	return nil
}

func (r *parquetRecords) openColumn(i int, chunk *thriftNode) *fault {
	meta := chunk.find(3)
	if meta == nil || chunk.find(1) != nil || chunk.find(8) != nil {
		return pqRefused("a column that is encrypted or in another file")
	}
	start, length := meta.get(9).whole, meta.get(7).whole
	if dictionary := meta.get(11).whole; dictionary > 0 && dictionary < start {
		start = dictionary
	}
	if start < 4 || length < 0 || start > r.size-8 || length > r.size-8-start {
		return pqDamaged(fmt.Sprintf("a column of %d bytes at offset %d in a file of %d", length, start, r.size))
	}
	if physical := meta.get(1).whole; physical != r.leaves[i].physical {
		return pqDamaged(fmt.Sprintf("a column of type %d for type %d in the schema", physical, r.leaves[i].physical))
	}
	r.columns[i] = &pqColumn{node: r.leaves[i], file: r.file, codec: meta.get(4).whole, pos: start, end: start + length,
		grown: &r.grown, buffers: r.spare[i]}
	return nil
}

// endGroup closes the columns, which must have no values left.
func (r *parquetRecords) endGroup() *fault {
	for i, c := range r.columns {
		if c == nil {
			continue
		}
		_, _, more, f := c.peek()
		c.close()
		r.columns[i], r.spare[i] = nil, c.buffers
		if f == nil && more {
			f = pqDamaged("more values than rows in the footer")
			f.field = c.node.name
		}
		if f != nil {
			return f
		}
	}
	return nil
}

// write appends a node's value as JSON (record assembly in the Dremel encoding).
func (r *parquetRecords) write(n *pqNode) *fault {
	if n.repetition == pqRequired {
		return r.inner(n)
	}
	first := r.columns[n.leaf]
	_, def, more, f := first.peek()
	switch {
	case f != nil:
		return f
	case !more:
		return pqDamaged("a truncated row")
	case def < n.def && n.repetition == pqOptional:
		r.out = append(r.out, "null"...)
		return r.skip(n)
	case def < n.def:
		r.out = append(r.out, "[]"...)
		return r.skip(n)
	case n.repetition == pqOptional:
		return r.inner(n)
	}
	for r.out = append(r.out, '['); ; r.out = append(r.out, ',') {
		if f := r.inner(n); f != nil {
			return f
		}
		if len(r.out) > maxRecord {
			return &fault{found: fmt.Sprintf("a record of more than %d MiB", maxRecord>>20), expected: "a shorter one",
				try: "check the content of the column"}
		}
		rep, _, more, f := first.peek()
		if f != nil {
			return f
		}
		if !more || rep != n.rep {
			r.out = append(r.out, ']')
			return nil
		}
	}
}

// skip skips the one entry that each leaf of an absent node has.
func (r *parquetRecords) skip(n *pqNode) *fault {
	for _, c := range r.columns[n.leaf : n.leaf+n.leaves] {
		_, def, more, f := c.peek()
		if f != nil {
			return f
		}
		if !more || def >= n.def {
			return pqDamaged("columns of one value that disagree whether it is null")
		}
		c.pass(false)
	}
	return nil
}

// inner appends a value that is not null.
func (r *parquetRecords) inner(n *pqNode) *fault {
	switch {
	case n.kids == nil:
		return r.leaf(n)
	case n.list || n.inner:
		return r.write(n.kids[0])
	}
	r.out = append(r.out, '{')
	for _, kid := range n.kids {
		r.out = jsontext.AppendKey(r.out, kid.name)
		if f := r.write(kid); f != nil {
			return f
		}
	}
	r.out = append(r.out, '}')
	return nil
}

func (r *parquetRecords) leaf(n *pqNode) *fault {
	c := r.columns[n.leaf]
	_, def, more, f := c.peek()
	if f != nil {
		return f
	}
	if !more || def < n.def {
		return pqDamaged("columns of one value that disagree whether it is null")
	}
	defer c.pass(true)
	if n.meaning == pqDecimal {
		return &fault{found: "decimal numbers", expected: "integers, floating-point numbers, text, bytes or booleans",
			try: "write the column as another type"}
	}
	switch n.physical {
	case pqBoolean:
		r.out = strconv.AppendBool(r.out, c.number() == 1)
	case pqInt32, pqInt64:
		r.out = appendWhole(r.out, c.number(), n)
	case pqFloat:
		return r.float(float64(math.Float32frombits(uint32(c.number()))), 32)
	case pqDouble:
		return r.float(math.Float64frombits(c.number()), 64)
	default:
		return r.text(n, c.text())
	}
	return nil
}

func appendWhole(dst []byte, bits uint64, n *pqNode) []byte {
	switch {
	case n.meaning == pqUnsigned:
		return strconv.AppendUint(dst, bits, 10)
	case n.physical == pqInt32:
		return strconv.AppendInt(dst, int64(int32(bits)), 10)
	}
	return strconv.AppendInt(dst, int64(bits), 10)
}

// float appends a number. It appends NaN as null, since pandas stores a missing number as NaN.
func (r *parquetRecords) float(v float64, bits int) *fault {
	switch {
	case math.IsNaN(v):
		r.out = append(r.out, "null"...)
	case math.IsInf(v, 0):
		return &fault{found: "an infinite number", expected: "a finite one", try: "correct the column"}
	default:
		r.out = jsontext.AppendFloat(r.out, v, bits)
	}
	return nil
}

// text appends a byte string: as text, as the JSON that it contains, or as base64.
func (r *parquetRecords) text(n *pqNode, b []byte) *fault {
	if len(b) > maxRecord/2 {
		return &fault{found: fmt.Sprintf("a value of %d MiB", len(b)>>20),
			expected: fmt.Sprintf("one of at most %d MiB", maxRecord>>21), try: "check the content of the column"}
	}
	switch {
	case n.meaning == pqJSON:
		if !utf8.Valid(b) || !validJSON(b) {
			return &fault{found: "invalid JSON in a JSON column, " + shown(b), expected: "JSON",
				try: "correct the column"}
		}
		r.out = append(r.out, b...)
	case n.known && n.kinds&kindText == 0 && len(b) > 0:
		var f *fault
		r.out, f = appendCell(r.out, b, n.kinds)
		return f
	case n.meaning == pqText || (n.known && n.kinds == kindText):
		r.out = jsontext.AppendQuoted(r.out, b)
	default:
		r.out = append(base64.StdEncoding.AppendEncode(append(r.out, '"'), b), '"')
	}
	return nil
}
