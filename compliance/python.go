package compliance

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

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
