package compliance

import (
	"encoding/binary"
	"fmt"
	"math"
)

// DType is the encoding of answers, under the name of the official scripts' option. All encodings are little-endian.
type DType string

// The encodings.
const (
	Byte    DType = "byte"
	Int16   DType = "int16"
	Int32   DType = "int32"
	Int64   DType = "int64"
	Float32 DType = "float32"
)

var sizes = map[DType]int{Byte: 1, Int16: 2, Int32: 4, Int64: 8, Float32: 4}

// size returns the number of bytes of one element. An empty encoding becomes def.
func (d *DType) size(def DType) (int, error) {
	if *d == "" {
		*d = def
	}
	n, ok := sizes[*d]
	if !ok {
		return 0, fmt.Errorf("unknown encoding %q of answers: use byte, int16, int32, int64 or float32", *d)
	}
	return n, nil
}

// value returns the element at the start of b.
func (d DType) value(b []byte) float64 {
	switch d {
	case Byte:
		return float64(int8(b[0]))
	case Int16:
		return float64(int16(binary.LittleEndian.Uint16(b)))
	case Int32:
		return float64(int32(binary.LittleEndian.Uint32(b)))
	case Int64:
		return float64(int64(binary.LittleEndian.Uint64(b)))
	}
	return float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
}

// equal compares two elements of the same size as numbers. In float32, NaN differs from itself.
func (d DType) equal(a, b []byte) bool {
	if d == Int64 { // float64 cannot represent every int64
		return binary.LittleEndian.Uint64(a) == binary.LittleEndian.Uint64(b)
	}
	return d.value(a) == d.value(b)
}
