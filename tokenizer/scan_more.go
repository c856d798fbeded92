package tokenizer

import "strings"

// scanO200k is the pattern of o200k: words that end where lower case turns to upper, with a contraction at the end.
func scanO200k(text string) int {
	first, size := classAt(text, 0)
	prefixed := first&(classBreak|classLetter|classNumber) == 0
	// The pattern prefers any word with a lower part to one without, and with each a character before it to none.
	for _, word := range [...]func(string, int) int{mixedWord, upperWord} {
		for _, from := range [...]int{size, 0} {
			if from > 0 && !prefixed {
				continue
			}
			if end := word(text, from); end > from {
				return end + contraction(text[end:], true)
			}
		}
	}
	if first&classNumber != 0 {
		return numbers(text, 3)
	}
	if end := marks(text, classSpace|classLetter|classNumber); end > 0 {
		for end < len(text) && strings.IndexByte("\r\n/", text[end]) >= 0 {
			end++
		}
		return end
	}
	return spaces(text)
}

const (
	o200kUpper = classUpper | classCaseless | classMark
	o200kLower = classLower | classCaseless | classMark
)

// mixedWord returns the end of a run of upper characters, which may be empty, and lower ones, at least one. Where no
// lower one follows, the upper run gives back up to its last character that is in both classes.
func mixedWord(text string, from int) int {
	end, both := from, 0
	for end < len(text) {
		c, size := classAt(text, end)
		if c&o200kUpper == 0 {
			break
		}
		end += size
		if c&o200kLower != 0 {
			both = end
		}
	}
	if lower := while(text, end, o200kLower); lower > end {
		return lower
	}
	return both
}

// upperWord returns the end of a run of upper characters, at least one, that no lower one follows.
func upperWord(text string, from int) int { return while(text, from, o200kUpper) }

// scanDeepSeek is DeepSeek's third pattern. It passes numbers and control characters over.
func scanDeepSeek(text string) int {
	first, size := classAt(text, 0)
	switch {
	case first&(classLetter|classMark) != 0:
		return while(text, size, classLetter|classMark)
	case first&(classPunct|classSymbol) != 0:
		if end := asciiWord(text); end > 1 {
			return end
		}
	case first&classBreak == 0:
		if end := while(text, size, classLetter|classMark); end > size {
			return end
		}
	}
	from := 0
	if text[0] == ' ' {
		from = 1
	}
	if end := while(text, from, classPunct|classSymbol); end > from {
		return while(text, end, classBreak)
	}
	return spaces(text)
}

// asciiWord returns the end of ASCII letters after an ASCII mark; at most 1: there are none.
func asciiWord(text string) int {
	if text[0] >= 0x80 {
		return 0
	}
	end := 1
	for end < len(text) && (text[end]|0x20 >= 'a' && text[end]|0x20 <= 'z') {
		end++
	}
	return end
}

// scanGPT2 is the pattern that ByteLevel has built in.
func scanGPT2(text string) int {
	if n := contraction(text, false); n > 0 {
		return n
	}
	from := 0
	if text[0] == ' ' {
		from = 1
	}
	for _, in := range [...]class{classLetter, classNumber} {
		if end := while(text, from, in); end > from {
			return end
		}
	}
	if n := marks(text, classSpace|classLetter|classNumber); n > 0 {
		return n
	}
	return lookAhead(text, while(text, 0, classSpace))
}
