package pickle

import (
	"encoding/binary"
	"fmt"

	"github.com/mlperf-go/mlperf-go/internal/foreign"
)

// column is the values of one column, one per row.
type column interface {
	len() int
	append(w *writer, row int) error
}

// grid is a column of a numpy array: the values along one axis.
type grid struct {
	a    *array
	at   int // index of row 0 in the array
	axis int
}

func (g *grid) len() int { return g.a.shape[g.axis] }

func (g *grid) append(w *writer, row int) error {
	return w.appendArray(g.a, g.axis+1, g.at+row*g.a.strides[g.axis], 1)
}

// sequence is a list or a tuple.
type sequence struct{ list *List }

func (s sequence) len() int                        { return s.list.Len() }
func (s sequence) append(w *writer, row int) error { return w.value(s.list.At(row), 1) }

// masked is a column with a mask of missing values.
type masked struct{ data, mask *array }

func (m *masked) len() int { return m.data.shape[0] }

func (m *masked) append(w *writer, row int) error {
	if m.mask.data[row] != 0 {
		return w.null()
	}
	return w.appendElement(m.data, row, 1)
}

// categorical is a column of category numbers; -1 is a missing value.
type categorical struct {
	codes      *array
	categories column
}

func (c *categorical) len() int { return c.codes.shape[0] }

func (c *categorical) append(w *writer, row int) error {
	code := c.codes.signed(row)
	switch {
	case code < 0:
		return w.null()
	case code >= int64(c.categories.len()):
		return damaged("an unknown category")
	}
	return c.categories.append(w, int(code))
}

// columnOf reads a value that can be a column.
func columnOf(v any) (column, error) { return columnIn(v, 0) }

func columnIn(v any, depth int) (column, error) {
	if depth > maxWrapped {
		return nil, damaged("nested columns")
	}
	switch v := v.(type) {
	case *List:
		return sequence{v}, nil
	case Tuple:
		return sequence{&List{Items: v}}, nil
	case *Object:
		return columnOfObject(v, depth)
	}
	return nil, refused(kindOf(v) + " for a column")
}

func columnOfObject(o *Object, depth int) (column, error) {
	switch o.Class.class {
	case classSeries:
		blocks, _, err := managerOf(o)
		if err != nil {
			return nil, err
		}
		if len(blocks) != 1 {
			return nil, damaged("a Series without its values")
		}
		return columnIn(blocks[0].values, depth+1)
	case classIndex:
		for _, arg := range o.Args {
			if d, ok := arg.(*Dict); ok {
				return columnIn(d.Get("data"), depth+1)
			}
		}
		return nil, damaged("an index without its values")
	case classMasked:
		return maskedOf(o)
	case classCategorical:
		return categoricalOf(o, depth)
	case classArrow:
		return arrowOf(o)
	case classBacked:
		if len(o.Args) > 0 {
			if g, ok := o.Args[0].(*Global); ok && g.class == classCategorical {
				return categoricalOf(o, depth)
			}
		}
	}
	a, ok, err := arrayOf(o)
	if err != nil {
		return nil, err
	}
	if !ok || len(a.shape) < 1 {
		return nil, refused(kindOf(o) + " for a column")
	}
	return &grid{a: a}, nil
}

// maskedOf reads an array of integers, booleans or floats with a mask.
func maskedOf(o *Object) (column, error) {
	state, _ := o.State.(*Dict)
	data, ok1, err1 := arrayOf(state.Get("_data"))
	mask, ok2, err2 := arrayOf(state.Get("_mask"))
	if err1 != nil || err2 != nil || !ok1 || !ok2 || len(data.shape) != 1 || len(mask.shape) != 1 ||
		data.shape[0] != mask.shape[0] || mask.kind != 'b' || mask.size != 1 {
		return nil, damaged("a column with an invalid mask")
	}
	return &masked{data, mask}, nil
}

// categoricalOf reads category numbers and the categories.
func categoricalOf(o *Object, depth int) (column, error) {
	parts, _ := o.State.(Tuple)
	if d, ok := o.State.(*Dict); ok {
		parts = d.Values
	}
	c := &categorical{}
	for _, part := range parts {
		switch classOf(part) {
		case classRebuilt, classBuffer, classArray:
			a, _, err := arrayOf(part)
			if err != nil {
				return nil, err
			}
			c.codes = a
		case classCategories:
			state, _ := part.(*Object).State.(*Dict)
			var err error
			if c.categories, err = columnIn(state.Get("categories"), depth+1); err != nil {
				return nil, err
			}
		}
	}
	if c.codes == nil || c.categories == nil || len(c.codes.shape) != 1 || c.codes.kind != 'i' {
		return nil, damaged("an incomplete column of categories")
	}
	return c, nil
}

// arrowTexts is a column of texts in pyarrow's layout: n+1 offsets, and the concatenated bytes.
type arrowTexts struct {
	valid   []byte // bit set of the rows that have a value; nil: all have one
	offsets []byte
	width   int // number of bytes of an offset
	from    int // index of the first row in offsets
	n       int
	data    []byte
}

func (a *arrowTexts) len() int { return a.n }

func (a *arrowTexts) offset(i int) uint64 {
	if a.width == 4 {
		return uint64(binary.LittleEndian.Uint32(a.offsets[4*i:]))
	}
	return binary.LittleEndian.Uint64(a.offsets[8*i:])
}

func (a *arrowTexts) append(w *writer, row int) error {
	i := a.from + row
	if a.valid != nil && a.valid[i/8]>>(i%8)&1 == 0 {
		return w.null()
	}
	start, end := a.offset(i), a.offset(i+1)
	if start > end || end > uint64(len(a.data)) {
		return damaged("a text outside its column")
	}
	return w.value(string(a.data[start:end]), 1)
}

// chunks is a column in several parts.
type chunks []column

func (c chunks) len() int {
	n := 0
	for _, part := range c {
		n += part.len()
	}
	return n
}

func (c chunks) append(w *writer, row int) error {
	for _, part := range c {
		if row < part.len() {
			return part.append(w, row)
		}
		row -= part.len()
	}
	return damaged("a row outside its column")
}

// arrowOf reads the texts of a pandas array that wraps a pyarrow array.
func arrowOf(o *Object) (column, error) {
	state, _ := o.State.(*Dict)
	inner, ok := state.Get("_pa_array").(*Object)
	if !ok {
		inner, ok = state.Get("_data").(*Object) // before pandas 2.1
	}
	if !ok {
		return nil, damaged("a pyarrow column without its values")
	}
	if inner.Class.class != classArrowChunks {
		return arrowArray(inner)
	}
	var out chunks
	for _, arg := range inner.Args {
		for _, v := range elements(arg) {
			part, ok := v.(*Object)
			if !ok {
				return nil, damaged("a pyarrow column with a part that is " + kindOf(v))
			}
			c, err := arrowArray(part)
			if err != nil {
				return nil, err
			}
			out = append(out, c)
		}
	}
	return out, nil
}

// arrowArray reads _restore_array((type, length, nulls, offset, buffers, children, dictionary)).
func arrowArray(o *Object) (column, error) {
	args := o.Args
	if len(args) == 1 {
		args, _ = args[0].(Tuple)
	}
	if o.Class.class != classArrowArray || len(args) < 5 {
		return nil, damaged("an incomplete pyarrow column")
	}
	typ, _ := args[0].(*Object)
	name := ""
	if typ != nil && typ.Class.class == classArrowType && len(typ.Args) == 1 {
		name, _ = typ.Args[0].(string)
	}
	width := map[string]int{"string": 4, "utf8": 4, "large_string": 8, "large_utf8": 8}[name]
	if width == 0 {
		return nil, refused(fmt.Sprintf("a pyarrow column of type %q", foreign.Line(name, 20)))
	}
	n, ok1 := args[1].(int64)
	from, ok2 := args[3].(int64)
	buffers := elements(args[4])
	a := &arrowTexts{width: width, n: int(n), from: int(from)}
	if !ok1 || !ok2 || n < 0 || from < 0 || n > maxElements || from > maxElements || len(buffers) != 3 {
		return nil, damaged("an incomplete pyarrow column")
	}
	if buffers[0] != nil {
		a.valid, ok1 = bytesOf(buffers[0])
	}
	a.offsets, ok2 = bytesOf(buffers[1])
	if buffers[2] != nil {
		var ok bool
		if a.data, ok = bytesOf(buffers[2]); !ok {
			ok1 = false
		}
	}
	if !ok1 || (!ok2 && n > 0) || (n > 0 && len(a.offsets) < width*(a.from+a.n+1)) ||
		(a.valid != nil && len(a.valid)*8 < a.from+a.n) {
		return nil, damaged("a pyarrow column with short buffers")
	}
	return a, nil
}
