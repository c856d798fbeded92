package tokenizer

import (
	"errors"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// field is one field of a protobuf message. Only the member of its wire type is set.
type field struct {
	number protowire.Number
	varint uint64
	bytes  []byte
	bits   uint32 // value of a 32-bit field
}

func (f field) float() float32 { return math.Float32frombits(f.bits) }
func (f field) bool() bool     { return f.varint != 0 }

var errMessage = errors.New("truncated or not a protobuf message")

// eachField calls fn with each field of a message in order and stops at its first error. It returns errMessage for
// truncated bytes and for groups, which tokenizer.model files do not use.
func eachField(message []byte, fn func(f field) error) error {
	for len(message) > 0 {
		number, wire, n := protowire.ConsumeTag(message)
		if n < 0 {
			return errMessage
		}
		message = message[n:]
		f := field{number: number}
		switch wire {
		case protowire.VarintType:
			f.varint, n = protowire.ConsumeVarint(message)
		case protowire.Fixed64Type:
			_, n = protowire.ConsumeFixed64(message)
		case protowire.BytesType:
			f.bytes, n = protowire.ConsumeBytes(message)
		case protowire.Fixed32Type:
			f.bits, n = protowire.ConsumeFixed32(message)
		default:
			return errMessage
		}
		if n < 0 {
			return errMessage
		}
		message = message[n:]
		if err := fn(f); err != nil {
			return err
		}
	}
	return nil
}
