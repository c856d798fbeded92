package pickle

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mlperf-go/mlperf-go/datasets/internal/jsontext"
	"github.com/mlperf-go/mlperf-go/internal/foreign"
)

// Limits for an array.
const (
	maxDimensions = 8
	maxElements   = 1 << 31
	maxWrapped    = 8 // maximum nesting of a column's values
)

// dtype is a numpy element type: numpy's kind letter and the size of an element in bytes.
type dtype struct {
	kind byte
	size int
	big  bool // big-endian
}

// dtypeOf reads the arguments of numpy.dtype.
func dtypeOf(v any) (dtype, error) {
	o, ok := v.(*Object)
	if !ok || o.Class.class != classDType || len(o.Args) < 1 {
		return dtype{}, damaged("an array with the type " + kindOf(v))
	}
	name, _ := o.Args[0].(string)
	if name == "" {
		return dtype{}, refused("an array of records")
	}
	order := ""
	if state, ok := o.State.(Tuple); ok && len(state) > 1 {
		order, _ = state[1].(string)
	}
	name = strings.TrimLeft(name, "<>|=")
	size, err := strconv.Atoi(name[min(1, len(name)):])
	if err != nil || size < 0 || size > 1<<16 || name == "" {
		return dtype{}, refused("an array of type " + strconv.Quote(foreign.Line(name, 20)))
	}
	d := dtype{name[0], size, order == ">"}
	if d.kind == 'U' {
		d.size *= 4
	}
	switch d.kind {
	case 'O', 'S', 'U', 'M', 'm':
		return d, nil
	case 'b':
		ok = size == 1
	case 'i', 'u':
		ok = size == 1 || size == 2 || size == 4 || size == 8
	case 'f':
		ok = size == 4 || size == 8
	default:
		ok = false
	}
	if !ok {
		return dtype{}, refused("an array of type " + strconv.Quote(foreign.Line(name, 20)))
	}
	return d, nil
}

// array is a numpy array of numbers or of Python values.
type array struct {
	dtype
	shape   []int
	strides []int // distances of neighbours along each axis, in elements
	data    []byte
	items   *List // elements, if they are Python values
}

// arrayOf reads an array created by one of numpy's two functions, or a pandas array that wraps one. It returns false
// for other values.
func arrayOf(v any) (*array, bool, error) {
	o, ok := v.(*Object)
	if !ok {
		return nil, false, nil
	}
	switch o.Class.class {
	case classRebuilt, classArray:
		state, ok := o.State.(Tuple)
		if !ok || len(state) != 5 {
			return nil, true, damaged("an array without its state")
		}
		fortran, _ := state[3].(bool)
		a, err := newArray(state[2], state[1], fortran, state[4])
		return a, true, err
	case classBuffer:
		if len(o.Args) != 4 {
			return nil, true, damaged("an incomplete array")
		}
		order, _ := o.Args[3].(string)
		a, err := newArray(o.Args[1], o.Args[2], order == "F", o.Args[0])
		return a, true, err
	case classBacked:
		return backedOf(o.State, 0)
	}
	return nil, false, nil
}

// backedOf finds the numpy array in the state of a pandas array.
func backedOf(state any, depth int) (*array, bool, error) {
	parts, _ := state.(Tuple)
	if d, ok := state.(*Dict); ok {
		parts = d.Values
	}
	for _, part := range parts {
		switch classOf(part) {
		case classRebuilt, classArray, classBuffer:
			return arrayOf(part)
		}
		if inner, ok := part.(*Dict); ok && depth < maxWrapped {
			return backedOf(inner, depth+1)
		}
	}
	return nil, true, damaged("a pandas array without its values")
}

func newArray(typ, shape any, fortran bool, data any) (*array, error) {
	d, err := dtypeOf(typ)
	if err != nil {
		return nil, err
	}
	a := &array{dtype: d}
	sizes, ok := shape.(Tuple)
	if !ok || len(sizes) > maxDimensions {
		return nil, damaged("an array without a shape")
	}
	n := int64(1)
	for _, s := range sizes {
		size, ok := s.(int64)
		if !ok || size < 0 || (size > 0 && n > maxElements/size) {
			return nil, damaged("an array with an invalid shape")
		}
		n *= size
		a.shape = append(a.shape, int(size))
	}
	a.strides = stridesOf(a.shape, fortran)
	if d.kind == 'O' {
		if a.items, ok = data.(*List); !ok || int64(a.items.Len()) != n {
			return nil, damaged("an array with the wrong number of Python values for its shape")
		}
		return a, nil
	}
	if a.data, ok = bytesOf(data); !ok || int64(len(a.data)) != n*int64(d.size) {
		return nil, damaged("an array with the wrong number of bytes for its shape")
	}
	return a, nil
}

// stridesOf returns the distance of neighbours along each axis, in elements.
func stridesOf(shape []int, fortran bool) []int {
	strides := make([]int, len(shape))
	distance := 1
	for k := range shape {
		i := len(shape) - 1 - k
		if fortran {
			i = k
		}
		strides[i] = distance
		distance *= shape[i]
	}
	return strides
}

// bytesOf reads bytes in the form of any pickle protocol.
func bytesOf(v any) ([]byte, bool) {
	for range maxWrapped {
		o, ok := v.(*Object)
		if !ok || len(o.Args) == 0 || (o.Class.class != classBytes && o.Class.class != classArrowBuffer) {
			break
		}
		v = o.Args[0]
	}
	switch v := v.(type) {
	case []byte:
		return v, true
	case string: // a string of Python 2
		return []byte(v), true
	case *Object:
		switch {
		case v.Class.class == classEncode && len(v.Args) == 2 && v.Args[1] == "latin1":
			s, _ := v.Args[0].(string)
			b := make([]byte, 0, len(s))
			for _, r := range s {
				if r > 255 {
					return nil, false
				}
				b = append(b, byte(r))
			}
			return b, true
		case v.Class.class == classBytes && len(v.Args) == 0:
			return nil, true
		}
	}
	return nil, false
}

// word returns the bits of element i as an unsigned integer.
func (a *array) word(i int) uint64 {
	b := a.data[i*a.size : (i+1)*a.size]
	var order binary.ByteOrder = binary.LittleEndian
	if a.big {
		order = binary.BigEndian
	}
	switch a.size {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(order.Uint16(b))
	case 4:
		return uint64(order.Uint32(b))
	}
	return order.Uint64(b)
}

// signed returns element i of an integer type.
func (a *array) signed(i int) int64 {
	shift := 64 - 8*a.size
	return int64(a.word(i)<<shift) >> shift
}

// appendElement appends element i as JSON.
func (w *writer) appendElement(a *array, i, depth int) error {
	switch a.kind {
	case 'O':
		return w.value(a.items.At(i), depth+1)
	case 'b':
		w.out = strconv.AppendBool(w.out, a.data[i] != 0)
	case 'i':
		w.out = strconv.AppendInt(w.out, a.signed(i), 10)
	case 'u':
		w.out = strconv.AppendUint(w.out, a.word(i), 10)
	case 'f':
		if a.size == 4 {
			return w.float(float64(math.Float32frombits(uint32(a.word(i)))), 32)
		}
		return w.float(math.Float64frombits(a.word(i)), 64)
	case 'S':
		w.out = jsontext.AppendQuoted(w.out, strings.TrimRight(string(a.data[i*a.size:(i+1)*a.size]), "\x00"))
	case 'U':
		w.out = jsontext.AppendQuoted(w.out, a.wide(i))
	default:
		return refused("dates or times")
	}
	return nil
}

// wide returns element i of an array of texts, which numpy stores with four bytes per character.
func (a *array) wide(i int) string {
	chars := array{dtype: dtype{'u', 4, a.big}, data: a.data[i*a.size : (i+1)*a.size]}
	var out []byte
	for k := range a.size / 4 {
		out = utf8.AppendRune(out, rune(chars.word(k)))
	}
	return strings.TrimRight(string(out), "\x00")
}

// appendArray appends the part of an array from axis on as JSON: an element, or nested lists.
func (w *writer) appendArray(a *array, axis, at, depth int) error {
	if axis == len(a.shape) {
		return w.appendElement(a, at, depth)
	}
	return w.list(a.shape[axis], depth, func(i int) error {
		return w.appendArray(a, axis+1, at+i*a.strides[axis], depth+1)
	})
}

// scalar appends a numpy scalar.
func (w *writer) scalar(o *Object, depth int) error {
	if len(o.Args) != 2 {
		return damaged("an incomplete numpy scalar")
	}
	a, err := newArray(o.Args[0], Tuple(nil), false, o.Args[1])
	if err != nil {
		return fmt.Errorf("a numpy scalar: %w", err)
	}
	return w.appendElement(a, 0, depth)
}
