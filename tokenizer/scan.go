package tokenizer

import (
	"strings"
	"unicode/utf8"
)

// Hot path: scanners run per piece of a text. A property test compares them with Go's regexp, which is slower and lacks
// look-ahead.

// scanner returns the length in bytes of a pattern's match at the start of text, which must not be empty, or 0.
type scanner func(text string) int

// knownPatterns maps each known split pattern to its scanner (patterns of the public tokenizer.json files,
// docs/reference/benchmarks.md#tokenizer-files).
var knownPatterns = map[string]scanner{
	patternLlama3:        wordPattern{letters: classLetter, digits: 3}.scan,
	patternQwen2:         wordPattern{letters: classLetter, digits: 1}.scan,
	patternQwen35:        wordPattern{letters: classLetter | classMark, digits: 1}.scan,
	patternO200k:         scanO200k,
	patternDeepSeekCJK:   func(text string) int { return while(text, 0, classCJK) },
	patternDeepSeekWords: scanDeepSeek,
	// The same pattern with an unnecessary escape, as some exports write it.
	strings.Replace(patternDeepSeekWords, `[!"`, `[!\"`, 1): scanDeepSeek,
	patternThreeDigits: func(text string) int { return numbers(text, 3) },
	patternDigit:       func(text string) int { return numbers(text, 1) },
	patternGPT2:        scanGPT2,
}

const (
	contractions = `(?i:'s|'t|'re|'ve|'m|'ll|'d)`
	spaceTail    = `|\s*[\r\n]+|\s+(?!\S)|\s+`
	wordTail     = `| ?[^\s\p{L}\p{N}]+[\r\n]*` + spaceTail

	patternLlama3 = contractions + `|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}` + wordTail
	patternQwen2  = contractions + `|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}` + wordTail
	patternQwen35 = contractions + `|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*` + spaceTail
	patternO200k  = `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+` + contractions + `?|` +
		`[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*` + contractions + `?|` +
		`\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*` + spaceTail
	patternThreeDigits   = `\p{N}{1,3}`
	patternDigit         = `\p{N}`
	patternDeepSeekCJK   = "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+"
	patternDeepSeekWords = `[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_` + "`" +
		`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*` + spaceTail
	patternGPT2 = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`
)

// Llama3Piece returns the length in bytes of the first piece of text, which must not be empty, under the split pattern
// of the Llama-3 family.
func Llama3Piece(text string) int { return scanLlama3(text) }

var scanLlama3 = knownPatterns[patternLlama3]

// wordPattern is the common form of the patterns of Llama-3 and Qwen.
type wordPattern struct {
	letters class // characters of words
	digits  int   // maximum length of a run of numbers
}

func (w wordPattern) scan(text string) int {
	if n := contraction(text, true); n > 0 {
		return n
	}
	first, size := classAt(text, 0)
	switch {
	case first&w.letters != 0:
		return while(text, size, w.letters)
	case first&classNumber != 0:
		return numbers(text, w.digits)
	case first&classBreak == 0:
		if end := while(text, size, w.letters); end > size {
			return end
		}
	}
	if n := marks(text, classSpace|classNumber|w.letters); n > 0 {
		return while(text, n, classBreak)
	}
	return spaces(text)
}

// marks returns the length of a run of characters outside a class, with a space before it, or 0.
func marks(text string, out class) int {
	from := 0
	if text[0] == ' ' {
		from = 1
	}
	if end := until(text, from, out); end > from {
		return end
	}
	return 0
}

// numbers returns the length of a run of at most most numbers.
func numbers(text string, most int) int {
	end := 0
	for n := 0; n < most && end < len(text); n++ {
		c, size := classAt(text, end)
		if c&classNumber == 0 {
			break
		}
		end += size
	}
	return end
}

// spaces returns the length of the match in a run of white space: up to its last line break, or without a line break
// all but the last character, which belongs to the next piece.
func spaces(text string) int {
	end := while(text, 0, classSpace)
	if at := strings.LastIndexAny(text[:end], "\r\n"); at >= 0 {
		return at + 1
	}
	return lookAhead(text, end)
}

// lookAhead matches \s+(?!\S)|\s+ in a run of white space that ends at end.
func lookAhead(text string, end int) int {
	if end < len(text) {
		if _, last := utf8.DecodeLastRuneInString(text[:end]); end > last {
			return end - last
		}
	}
	return end
}

// contraction returns the length of an English contraction's ending with its apostrophe, or 0.
func contraction(text string, anyCase bool) int {
	if len(text) < 2 || text[0] != '\'' {
		return 0
	}
	for _, half := range [...]string{"s", "t", "re", "ve", "m", "ll", "d"} {
		rest, n := text[1:], 0
		for range len(half) {
			_, size := utf8.DecodeRuneInString(rest[n:])
			n += size
		}
		if rest[:n] == half || anyCase && strings.EqualFold(rest[:n], half) {
			return 1 + n
		}
	}
	return 0
}

// scanO200k matches the pattern of o200k: words end where lower case turns to upper, and include a contraction.
func scanO200k(text string) int {
	first, size := classAt(text, 0)
	prefixed := first&(classBreak|classLetter|classNumber) == 0
	// The pattern prefers a word with a lower-case part to one without, and then one with a character before it.
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

// mixedWord returns the end of a run of upper-case characters, which may be empty, and at least one lower-case
// character after it. If no lower-case character follows, the match ends after the last character that is in both
// classes.
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

// upperWord returns the end of a run of at least one upper-case character.
func upperWord(text string, from int) int { return while(text, from, o200kUpper) }

// scanDeepSeek matches DeepSeek's third pattern. It skips numbers and control characters.
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

// asciiWord returns the end of the ASCII letters after an ASCII punctuation mark. If no letter follows, the result is
// at most 1.
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

// scanGPT2 matches the built-in pattern of ByteLevel.
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
