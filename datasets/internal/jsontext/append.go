package jsontext

import (
	"math"
	"strconv"
)

const hexDigits = "0123456789abcdef"

// AppendQuoted appends text as a JSON string.
func AppendQuoted[T string | []byte](dst []byte, text T) []byte {
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, text[from:i]...)
		from = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return append(append(dst, text[from:]...), '"')
}

// AppendKey appends an object's key and colon, preceded by a comma unless it is the first key.
func AppendKey(dst []byte, name string) []byte {
	if dst[len(dst)-1] != '{' {
		dst = append(dst, ',')
	}
	return append(AppendQuoted(dst, name), ':')
}

// AppendFloat appends a finite number with the fewest digits that identify it. The text always has a fraction or an
// exponent, so that readers parse it as a floating-point number. bits is 32 or 64.
func AppendFloat(dst []byte, v float64, bits int) []byte {
	if v == math.Trunc(v) && math.Abs(v) < 1e15 {
		return strconv.AppendFloat(dst, v, 'f', 1, bits)
	}
	return strconv.AppendFloat(dst, v, 'g', -1, bits)
}
