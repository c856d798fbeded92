package encode

import (
	"fmt"
	"math"
	"strconv"

	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/internal/quote"
)

// Text appends a JSON string, without escapes for HTML.
func Text(dst []byte, text string) []byte { return quote.Text(dst, text) }

// Input appends the text of a sample as a JSON string.
func Input(dst []byte, s *datasets.Sample) []byte {
	if s.Plain {
		return quote.Plain(dst, s.Input)
	}
	return quote.Text(dst, s.Input)
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
