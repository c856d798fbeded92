package datasets

import (
	"encoding/binary"
	"errors"
)

// Limits for the structures of a Parquet file.
const (
	maxThriftDepth = 24
	maxThriftNodes = 2 << 20 // maximum number of fields and list elements in one footer
)

var (
	errThriftCut = errors.New("truncated structure")
	errThriftBad = errors.New("not a Thrift structure")
)

// thriftNode is a value in the Thrift compact protocol (version 1), the format of Parquet's footer and page headers: an
// integer or boolean, bytes, or the fields of a struct or elements of a list.
type thriftNode struct {
	field int16
	whole int64
	bytes []byte
	kids  []thriftNode
}

// get returns a field, or the zero node.
func (n *thriftNode) get(field int16) *thriftNode {
	if at := n.find(field); at != nil {
		return at
	}
	return &thriftNode{}
}

// find returns a field, or nil.
func (n *thriftNode) find(field int16) *thriftNode {
	for i := range n.kids {
		if n.kids[i].field == field {
			return &n.kids[i]
		}
	}
	return nil
}

// Types of the compact protocol.
const (
	thriftTrue, thriftFalse, thriftByte = 1, 2, 3
	thriftI16, thriftI64                = 4, 6
	thriftDouble, thriftBinary          = 7, 8
	thriftList, thriftSet, thriftMap    = 9, 10, 11
	thriftStruct                        = 12
)

// thriftReader reads one struct. It never allocates memory for more elements than the remaining bytes can contain.
type thriftReader struct {
	b     []byte
	pos   int
	nodes int
	err   error
}

// readThrift returns the struct at the start of b and its length.
func readThrift(b []byte) (thriftNode, int, error) {
	r := thriftReader{b: b}
	n := thriftNode{kids: r.fields(0)}
	return n, r.pos, r.err
}

func (r *thriftReader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

func (r *thriftReader) octet() byte {
	if r.pos >= len(r.b) {
		r.fail(errThriftCut)
		return 0
	}
	r.pos++
	return r.b[r.pos-1]
}

func (r *thriftReader) varint() uint64 {
	v, n := binary.Uvarint(r.b[min(r.pos, len(r.b)):])
	switch {
	case n == 0:
		r.fail(errThriftCut)
	case n < 0:
		r.fail(errThriftBad)
	default:
		r.pos += n
	}
	return v
}

func (r *thriftReader) zigzag() int64 {
	v := r.varint()
	return int64(v>>1) ^ -int64(v&1)
}

func (r *thriftReader) fields(depth int) (fields []thriftNode) {
	for field := int16(0); r.err == nil; {
		head := r.octet()
		if head == 0 {
			return fields
		}
		if delta := head >> 4; delta != 0 {
			field += int16(delta)
		} else {
			field = int16(r.zigzag())
		}
		n := r.value(head&15, depth+1)
		n.field = field
		fields = append(fields, n)
	}
	return nil
}

func (r *thriftReader) value(kind byte, depth int) (n thriftNode) {
	if r.nodes++; r.nodes > maxThriftNodes || depth > maxThriftDepth {
		r.fail(errThriftBad)
		return n
	}
	switch kind {
	case thriftTrue, thriftFalse:
		n.whole = int64(2 - kind)
	case thriftByte:
		n.whole = int64(int8(r.octet()))
	case thriftI16, thriftI16 + 1, thriftI64:
		n.whole = r.zigzag()
	case thriftDouble:
		n.bytes = r.take(8)
	case thriftBinary:
		n.bytes = r.take(r.varint())
	case thriftList, thriftSet:
		n.kids = r.list(depth)
	case thriftMap:
		r.mapping(depth)
	case thriftStruct:
		n.kids = r.fields(depth)
	default:
		r.fail(errThriftBad)
	}
	return n
}

func (r *thriftReader) take(n uint64) []byte {
	if n > uint64(len(r.b)-r.pos) {
		r.fail(errThriftCut)
		return nil
	}
	r.pos += int(n)
	return r.b[r.pos-int(n) : r.pos]
}

func (r *thriftReader) list(depth int) (elements []thriftNode) {
	head := r.octet()
	size, kind := uint64(head>>4), head&15
	if size == 15 {
		size = r.varint()
	}
	for ; size > 0 && r.err == nil; size-- {
		elements = append(elements, r.element(kind, depth+1))
	}
	return elements
}

// mapping skips a map, since no map in Parquet's structures is needed.
func (r *thriftReader) mapping(depth int) {
	size := r.varint()
	if size == 0 {
		return
	}
	kinds := r.octet()
	for ; size > 0 && r.err == nil; size-- {
		r.element(kinds>>4, depth+1)
		r.element(kinds&15, depth+1)
	}
}

// element reads an element of a list or a map, where a boolean takes one byte.
func (r *thriftReader) element(kind byte, depth int) thriftNode {
	if kind == thriftTrue || kind == thriftFalse {
		kind = thriftByte
	}
	return r.value(kind, depth)
}
