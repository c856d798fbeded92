package pyrepr

import (
	"strings"
	"unicode"
)

// IsSpace is Python's str.isspace of one character, which is also \s in a pattern.
func IsSpace(r rune) bool { return unicode.IsSpace(r) || (r >= 0x1c && r <= 0x1f) }

// Strip is Python's str.strip.
func Strip(s string) string { return strings.TrimFunc(s, IsSpace) }
