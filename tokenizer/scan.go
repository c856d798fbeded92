package tokenizer

import (
	"strings"
	"unicode/utf8"
)

// Hot path: scanners run per piece of a text. A property test holds them against Go's regexp, which does the same
// slower and without the look-ahead.

// scanner returns the length in bytes of a pattern's match at the very beginning of a text that is not empty; 0: no
// match.
type scanner func(text string) int

// knownPatterns maps each split pattern that is known to its scanner (strings of the public tokenizer.json files,
// docs/reference/benchmarks.md#tokenizer-files).
var knownPatterns = map[string]scanner{
	patternLlama3:        wordPattern{letters: classLetter, digits: 3}.scan,
	patternQwen2:         wordPattern{letters: classLetter, digits: 1}.scan,
	patternQwen35:        wordPattern{letters: classLetter | classMark, digits: 1}.scan,
	patternO200k:         scanO200k,
	patternDeepSeekCJK:   func(text string) int { return while(text, 0, classCJK) },
	patternDeepSeekWords: scanDeepSeek,
	// The same set with a needless escape, as some exports of it have.
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

// Llama3Piece returns the length in bytes of the first piece that the split pattern of the Llama-3 family cuts off a
// text that is not empty.
func Llama3Piece(text string) int { return scanLlama3(text) }

var scanLlama3 = knownPatterns[patternLlama3]

// wordPattern is the shape that the patterns of Llama-3 and Qwen share.
type wordPattern struct {
	letters class // what words are made of
	digits  int   // longest run of numbers
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

// marks returns the length of a run outside a class, with the space before it; 0: none.
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

// numbers returns the length of a run of at most so many numbers.
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

// spaces cuts a run of white space: up to its last line break, else all but the last, which goes with what follows.
func spaces(text string) int {
	end := while(text, 0, classSpace)
	if at := strings.LastIndexAny(text[:end], "\r\n"); at >= 0 {
		return at + 1
	}
	return lookAhead(text, end)
}

// lookAhead is \s+(?!\S)|\s+ on a run of white space that ends at end.
func lookAhead(text string, end int) int {
	if end < len(text) {
		if _, last := utf8.DecodeLastRuneInString(text[:end]); end > last {
			return end - last
		}
	}
	return end
}

// contraction returns the length of an English contraction's second half with its apostrophe, or 0.
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
