package tokenizer

import (
	"encoding/binary"
	"math"
	"strings"
	"unicode/utf8"
)

// spNormal is how SentencePiece changes a text before it cuts it: characters are replaced as a compiled table says,
// runs of spaces become one, and a space is put before the text.
type spNormal struct {
	dummyPrefix bool
	noExtra     bool // spaces at either end and repeated ones are taken out
	escape      bool // spaces become marks
	table       charTable
}

// read takes NormalizerSpec.
func (n *spNormal) read(message []byte) error {
	return eachField(message, func(f field) error {
		switch f.number {
		case 2:
			return n.table.read(f.bytes)
		case 3:
			n.dummyPrefix = f.truth()
		case 4:
			n.noExtra = f.truth()
		case 5:
			n.escape = f.truth()
		}
		return nil
	})
}

// charTable is the compiled table: a double array whose keys are texts, and whose values say where in texts the
// replacement begins, which a zero byte ends (darts-clone's layout).
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

// offset is how far from a unit its children lie.
func offset(unit uint32) uint32 { return unit >> 10 << (unit & (1 << 9) >> 6) }

// mostMatches bounds how many keys that begin at one place are looked at, as SentencePiece does.
const mostMatches = 32

// longest returns the replacement of the longest key that a text begins with, and the key's length; 0: none.
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

// prefix normalizes the beginning of a text and tells how much of it that was. What the user defined stays as it is.
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

// normalized is the text that is cut into pieces.
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
