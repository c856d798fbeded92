package compliance

import (
	"encoding/hex"
	"strings"
)

func pyBool(b bool) string {
	if b {
		return "True"
	}
	return "False"
}

// pyHex reads hexadecimal text as Python's bytes.fromhex does: spaces are allowed between bytes, not inside one.
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
