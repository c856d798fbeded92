package datasets

// IsPlain reports that a text is its own JSON: ASCII without quotes, backslashes and control characters. It looks at
// many bytes at a time.
func IsPlain(text string) bool {
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
