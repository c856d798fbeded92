package encode

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/mlperf-go/mlperf-go/datasets"
)

// Text appends a JSON string, without escapes for HTML.
func Text(dst []byte, text string) []byte {
	if isPlain(text) {
		return append(append(append(dst, '"'), text...), '"')
	}
	buf := bytes.NewBuffer(dst)
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(text); err != nil {
		panic("encode: a string has no JSON: " + err.Error()) // encoding a string into memory cannot fail
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
}

// isPlain reports that a text is its own JSON: ASCII without quotes, backslashes and control characters. It looks at
// many bytes at a time.
func isPlain(text string) bool {
	const high = 0x8080808080808080
	for ; len(text) >= 32; text = text[32:] {
		if (odd(text[:8])|odd(text[8:16])|odd(text[16:24])|odd(text[24:32]))&high != 0 {
			return false
		}
	}
	for ; len(text) >= 8; text = text[8:] {
		if odd(text)&high != 0 {
			return false
		}
	}
	for i := range len(text) {
		if c := text[i]; c < ' ' || c >= 0x80 || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// odd has the high bit of a byte set if one of the first eight characters needs an escape or is not ASCII. It may also
// set those above such a byte.
func odd(text string) uint64 {
	const ones = 0x0101010101010101
	_ = text[7]
	x := uint64(text[0]) | uint64(text[1])<<8 | uint64(text[2])<<16 | uint64(text[3])<<24 |
		uint64(text[4])<<32 | uint64(text[5])<<40 | uint64(text[6])<<48 | uint64(text[7])<<56
	// a byte below a limit borrows from its high bit
	return x | (x - ' '*ones) | (x ^ '"'*ones - ones) | (x ^ '\\'*ones - ones)
}

// Prompt appends the prompt of a sample as an array of ids. An id outside the vocabulary is an error, because it kills
// some servers (docs/reference/wire-protocols.md#differences-between-servers). If vocabulary is 0, only negative ids
// are errors.
func Prompt(dst []byte, s *datasets.Sample, vocabulary int) ([]byte, error) {
	dst = append(dst, '[')
	for i, id := range s.InputIDs {
		if id < 0 || (vocabulary > 0 && int(id) >= vocabulary) {
			return dst, fmt.Errorf("sample %d: prompt id %d at position %d is outside the vocabulary of %d ids: it is not sent",
				s.Index, id, i, vocabulary)
		}
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = ID(dst, uint32(id))
	}
	return append(dst, ']'), nil
}

// Integer appends a comma, a key and a whole number.
func Integer(dst []byte, key string, v int64) []byte {
	return strconv.AppendInt(member(dst, key), v, 10)
}

// Number appends a comma, a key and a number, unless that is nil.
func Number(dst []byte, key string, v *float64) ([]byte, error) {
	if v == nil {
		return dst, nil
	}
	if math.IsNaN(*v) || math.IsInf(*v, 0) {
		return dst, fmt.Errorf("%s is %v: it has to be a finite number", key, *v)
	}
	return strconv.AppendFloat(member(dst, key), *v, 'g', -1, 64), nil
}

// Integers appends a comma, a key and an array of whole numbers, unless that is empty.
func Integers(dst []byte, key string, list []int32) []byte {
	if len(list) == 0 {
		return dst
	}
	dst = append(member(dst, key), '[')
	for i, v := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(dst, int64(v), 10)
	}
	return append(dst, ']')
}

func member(dst []byte, key string) []byte {
	return append(append(append(dst, `,"`...), key...), `":`...)
}

// triples are the numbers 000 to 999 with three digits each.
var triples = func() (t [1000][3]byte) {
	for i := range t {
		t[i] = [3]byte{byte('0' + i/100), byte('0' + i/10%10), byte('0' + i%10)}
	}
	return t
}()

// ID appends a token id three digits at a time: half the cost of strconv
// (docs/reference/measurements.md#writing-token-ids).
func ID(dst []byte, id uint32) []byte {
	if id < 1000 {
		return head(dst, id)
	}
	if id < 1000000 {
		return append(head(dst, id/1000), triples[id%1000][:]...)
	}
	return append(ID(dst, id/1000), triples[id%1000][:]...)
}

// head appends a number below 1000 without leading zeros.
func head(dst []byte, n uint32) []byte {
	t := &triples[n]
	switch {
	case n >= 100:
		return append(dst, t[:]...)
	case n >= 10:
		return append(dst, t[1:]...)
	}
	return append(dst, t[2])
}
