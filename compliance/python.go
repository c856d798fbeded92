package compliance

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// pyFloat is a number as Python prints it: the shortest digits that read back the same, always with a point or an exponent.
func pyFloat(f float64) string {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	}
	if a := math.Abs(f); a != 0 && (a < 1e-4 || a >= 1e16) {
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

func pyBool(b bool) string {
	if b {
		return "True"
	}
	return "False"
}

var errNoNumber = errors.New("is no number")

// parsePyFloat reads what Python's float() does, underscores between digits left out.
func parsePyFloat(text string) (float64, error) {
	text = strings.TrimSpace(text)
	if strings.ContainsAny(text, "xXpP_") {
		return 0, fmt.Errorf("%.40q %w", text, errNoNumber)
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, fmt.Errorf("%.40q %w", text, errNoNumber)
	}
	return f, nil
}

// pyHex reads hex as Python's bytes.fromhex does: blanks may stand between bytes, not inside one.
func pyHex(text string) ([]byte, error) {
	var out []byte
	for _, part := range strings.Fields(text) {
		b, err := hex.DecodeString(part)
		if err != nil {
			return nil, err
		}
		out = append(out, b...)
	}
	return out, nil
}
