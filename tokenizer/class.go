package tokenizer

import (
	"unicode"
	"unicode/utf8"
)

// Hot path: this file runs per character of an encoded text.

// class is a set of the character classes used in split patterns, one bit each.
type class uint16

const (
	classUpper    class = 1 << iota // \p{Lu}, \p{Lt}
	classLower                      // \p{Ll}
	classCaseless                   // \p{Lm}, \p{Lo}
	classMark                       // \p{M}
	classNumber                     // \p{N}
	classPunct                      // \p{P}
	classSymbol                     // \p{S}
	classSpace                      // \s
	classBreak                      // \r and \n
	classCJK                        // the ranges of DeepSeek's second pattern

	classLetter = classUpper | classLower | classCaseless // \p{L}
)

var classTables = []struct {
	bits  class
	table *unicode.RangeTable
}{
	{classUpper, unicode.Lu}, {classUpper, unicode.Lt}, {classLower, unicode.Ll}, {classCaseless, unicode.Lm},
	{classCaseless, unicode.Lo},
	{classMark, unicode.M}, {classNumber, unicode.N}, {classPunct, unicode.P}, {classSymbol, unicode.S},
	{classSpace, unicode.White_Space},
	{classBreak, &unicode.RangeTable{R16: []unicode.Range16{{Lo: '\n', Hi: '\n', Stride: 1},
		{Lo: '\r', Hi: '\r', Stride: 1}}}},
	{classCJK, &unicode.RangeTable{R16: []unicode.Range16{{Lo: 0x3040, Hi: 0x30ff, Stride: 1},
		{Lo: 0x4e00, Hi: 0x9fa5, Stride: 1}}}},
}

// classes holds the class of every character of the Basic Multilingual Plane: a single load, instead of a search
// through range tables.
var classes = func() *[1 << 16]class {
	all := new([1 << 16]class)
	for _, c := range classTables {
		for _, r := range c.table.R16 {
			for at := uint32(r.Lo); at <= uint32(r.Hi); at += uint32(r.Stride) {
				all[at] |= c.bits
			}
		}
	}
	return all
}()

// classAt returns the class and the size in bytes of the character at text[i].
func classAt(text string, i int) (class, int) {
	if b := text[i]; b < utf8.RuneSelf {
		return classes[b], 1
	}
	r, size := utf8.DecodeRuneInString(text[i:])
	if int(r) < len(classes) {
		return classes[r], size
	}
	var found class
	for _, c := range classTables {
		if unicode.Is(c.table, r) {
			found |= c.bits
		}
	}
	return found, size
}

// while returns the end of the run of characters in a class that starts at from.
func while(text string, from int, in class) int {
	for from < len(text) {
		c, size := classAt(text, from)
		if c&in == 0 {
			break
		}
		from += size
	}
	return from
}

// until returns the end of the run of characters outside a class that starts at from.
func until(text string, from int, out class) int {
	for from < len(text) {
		c, size := classAt(text, from)
		if c&out != 0 {
			break
		}
		from += size
	}
	return from
}
