package tokenizer

import (
	"encoding/binary"
	"math"
	"strings"
	"unicode/utf8"
)

// spNormal is SentencePiece's normalization: it replaces characters by a compiled table, collapses runs of spaces and
// puts a space before the text.
type spNormal struct {
	dummyPrefix bool
	noExtra     bool // whether leading, trailing and repeated spaces are removed
	escape      bool // whether spaces become marks
	table       charTable
}

// read parses a NormalizerSpec message.
func (n *spNormal) read(message []byte) error {
	return eachField(message, func(f field) error {
		switch f.number {
		case 2:
			return n.table.read(f.bytes)
		case 3:
			n.dummyPrefix = f.bool()
		case 4:
			n.noExtra = f.bool()
		case 5:
			n.escape = f.bool()
		}
		return nil
	})
}

// charTable is the compiled table: a double array (darts-clone's layout) that maps texts to offsets in texts, where the
// zero-terminated replacement begins.
type charTable struct {
	units []uint32
	texts string
}

const charTablePart = "tokenizer.model, precompiled_charsmap"

func (c *charTable) read(blob []byte) error {
	if len(blob) == 0 {
		return nil
	}
	if len(blob) < 4 {
		return broken(charTablePart, "it has %d bytes", len(blob))
	}
	size := binary.LittleEndian.Uint32(blob)
	if blob = blob[4:]; size%4 != 0 || uint64(size) > uint64(len(blob)) || size == 0 {
		return broken(charTablePart, "its array has %d of %d bytes", size, len(blob))
	}
	c.units = make([]uint32, size/4)
	for i := range c.units {
		c.units[i] = binary.LittleEndian.Uint32(blob[4*i:])
	}
	c.texts = string(blob[size:])
	longest := 0
	for _, text := range strings.Split(c.texts, "\x00") {
		longest = max(longest, len(text))
	}
	if longest > mostAddedBytes {
		return broken(charTablePart, "a replacement has %d bytes", longest)
	}
	return nil
}

// offset returns the distance from a unit of the double array to its children.
func offset(unit uint32) uint32 { return unit >> 10 << (unit & (1 << 9) >> 6) }

// mostMatches is the maximum number of keys that are tried at one position, as in SentencePiece.
const mostMatches = 32

// longest returns the replacement for the longest key that text starts with, and the key's length or 0.
func (c *charTable) longest(text string) (to string, length int) {
	if len(c.units) == 0 {
		return "", 0
	}
	at := offset(c.units[0])
	value := uint32(math.MaxUint32)
	for i, matches := 0, 0; i < len(text) && matches < mostMatches; i++ {
		at ^= uint32(text[i])
		if uint64(at) >= uint64(len(c.units)) {
			break
		}
		unit := c.units[at]
		if unit&(1<<31|0xff) != uint32(text[i]) {
			break
		}
		at ^= offset(unit)
		if unit>>8&1 == 1 {
			if uint64(at) >= uint64(len(c.units)) {
				break
			}
			value, length = c.units[at]&(1<<31-1), i+1
			matches++
		}
	}
	if uint64(value) >= uint64(len(c.texts)) {
		return "", length
	}
	to, _, _ = strings.Cut(c.texts[value:], "\x00")
	return to, length
}

// prefix normalizes the beginning of a text and returns how many bytes it consumed. User-defined pieces stay
// unchanged.
func (sp *spModel) prefix(text string) (to string, length int) {
	if _, end := sp.user.at(text, 0); end > 0 {
		return text[:end], end
	}
	if to, length = sp.file.normal.table.longest(text); length > 0 {
		return to, length
	}
	r, size := utf8.DecodeRuneInString(text)
	if r == utf8.RuneError && size <= 1 {
		return string(utf8.RuneError), 1
	}
	return text[:size], size
}

// normalized appends the normalized text to dst.
func (sp *spModel) normalized(dst []byte, text string) []byte {
	n := &sp.file.normal
	if n.noExtra {
		for text != "" {
			to, length := sp.prefix(text)
			if to != " " {
				break
			}
			text = text[length:]
		}
	}
	if text == "" {
		return dst
	}
	space := " "
	if n.escape {
		space = spaceMark
	}
	if n.dummyPrefix && !sp.file.suffix {
		dst = append(dst, space...)
	}
	spaceBefore := n.noExtra
	for text != "" {
		to, length := sp.prefix(text)
		text = text[length:]
		if spaceBefore {
			to = strings.TrimLeft(to, " ")
		}
		if to == "" {
			continue
		}
		for i := range len(to) {
			if to[i] == ' ' {
				dst = append(dst, space...)
			} else {
				dst = append(dst, to[i])
			}
		}
		spaceBefore = n.noExtra && to[len(to)-1] == ' '
	}
	if n.noExtra {
		for strings.HasSuffix(string(dst[max(0, len(dst)-len(space)):]), space) {
			dst = dst[:len(dst)-len(space)]
		}
	}
	if n.dummyPrefix && sp.file.suffix {
		dst = append(dst, space...)
	}
	return dst
}
