package pickle

import (
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mlperf-go/mlperf-go/internal/foreign"
)

// Opcodes of protocol 0, whose arguments are lines of text.

func numberedLine(m *machine, use func(uint64) error) error {
	line, err := m.line(20)
	if err != nil {
		return err
	}
	i, err := strconv.ParseUint(string(line), 10, 32)
	if err != nil {
		return damaged("an invalid memo number")
	}
	return use(i)
}

func intLine(m *machine) error {
	line, err := m.line(maxDigits)
	if err != nil {
		return err
	}
	switch string(line) {
	case "00":
		return m.push(false, 0)
	case "01":
		return m.push(true, 0)
	}
	return m.decimal(string(line))
}

func longLine(m *machine) error {
	line, err := m.line(maxDigits)
	if err != nil {
		return err
	}
	return m.decimal(strings.TrimSuffix(string(line), "L"))
}

const maxDigits = 2000

func (m *machine) decimal(digits string) error {
	if n, err := strconv.ParseInt(digits, 10, 64); err == nil {
		return m.push(n, 0)
	}
	n, ok := new(big.Int).SetString(digits, 10)
	if !ok {
		return damaged("an invalid integer, " + strconv.Quote(foreign.Line(digits, 40)))
	}
	return m.push(n, len(digits))
}

func floatLine(m *machine) error {
	line, err := m.line(maxDigits)
	if err != nil {
		return err
	}
	v, err := strconv.ParseFloat(string(line), 64)
	if err != nil {
		return damaged("an invalid number, " + strconv.Quote(foreign.Line(string(line), 40)))
	}
	return m.push(v, 8)
}

// unicodeLine reads a text with \uXXXX and \UXXXXXXXX as escapes (raw-unicode-escape).
func unicodeLine(m *machine) error {
	line, err := m.line(maxLine)
	if err != nil {
		return err
	}
	return m.push(unescape(line, map[byte]int{'u': 4, 'U': 8}, nil), 16+4*len(line))
}

// stringLine reads a string literal of Python 2.
func stringLine(m *machine) error {
	line, err := m.line(maxLine)
	if err != nil {
		return err
	}
	n := len(line)
	if n < 2 || line[0] != line[n-1] || (line[0] != '\'' && line[0] != '"') {
		return damaged("a string without its quotes")
	}
	return m.push(unescape(line[1:n-1], map[byte]int{'x': 2},
		map[byte]byte{'n': '\n', 't': '\t', 'r': '\r', '\\': '\\', '\'': '\'', '"': '"'}), 16+4*n)
}

// unescape converts Latin-1 bytes with escapes to a text.
func unescape(b []byte, codes map[byte]int, single map[byte]byte) string {
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); i++ {
		if b[i] == '\\' && i+1 < len(b) {
			c := b[i+1]
			if plain, ok := single[c]; ok {
				out = append(out, plain)
				i++
				continue
			}
			if digits := codes[c]; digits > 0 && i+2+digits <= len(b) {
				if r, err := strconv.ParseUint(string(b[i+2:i+2+digits]), 16, 32); err == nil {
					out = utf8.AppendRune(out, rune(r))
					i += 1 + digits
					continue
				}
			}
		}
		out = utf8.AppendRune(out, rune(b[i]))
	}
	return string(out)
}
