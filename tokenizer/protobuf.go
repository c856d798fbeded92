package tokenizer

import (
	"encoding/binary"
	"errors"
	"math"
)

// field is one field of a protobuf message: what a tokenizer.model is made of.
type field struct {
	number int
	varint uint64 // of wire type 0
	bytes  []byte // of wire type 2
	bits   uint32 // of wire type 5
	wire   int
}

func (f field) float() float32 { return math.Float32frombits(f.bits) }

func (f field) truth() bool { return f.varint != 0 }

var errMessage = errors.New("it is cut off, or no protobuf message")

// eachField gives the fields of a message in order. Fields of wire types that the format does not use end it.
func eachField(message []byte, fn func(f field) error) error {
	for len(message) > 0 {
		key, n := binary.Uvarint(message)
		if n <= 0 || key>>3 == 0 || key>>3 > math.MaxInt32 {
			return errMessage
		}
		message = message[n:]
		f := field{number: int(key >> 3), wire: int(key & 7)}
		switch f.wire {
		case 0:
			if f.varint, n = binary.Uvarint(message); n <= 0 {
				return errMessage
			}
		case 1:
			n = 8
		case 2:
			size, sizeBytes := binary.Uvarint(message)
			if sizeBytes <= 0 || size > uint64(len(message)-sizeBytes) {
				return errMessage
			}
			n = sizeBytes + int(size)
			f.bytes = message[sizeBytes:n]
		case 5:
			if n = 4; len(message) >= n {
				f.bits = binary.LittleEndian.Uint32(message)
			}
		default:
			return errMessage
		}
		if n > len(message) {
			return errMessage
		}
		message = message[n:]
		if err := fn(f); err != nil {
			return err
		}
	}
	return nil
}
