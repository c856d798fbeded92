package accuracy

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// Punkt splits text into sentences like NLTK's tokenizer with the same parameters
// (docs/reference/scoring-rules.md#sentences). It is immutable and safe for concurrent use.
type Punkt struct {
	abbreviations map[string]bool // lower-case abbreviations without the final period
	collocations  map[[2]string]bool
	starters      map[string]bool
	ortho         map[string]orthoFlags
}

// orthoFlags record where and in which case a word was seen.
type orthoFlags uint8

const (
	midUpper   orthoFlags = 4
	beginLower orthoFlags = 16
	anyUpper   orthoFlags = 14
	anyLower   orthoFlags = 112
)

// Joined returns the text that the ROUGE scorers compare: stripped, with one sentence per line.
func (p *Punkt) Joined(text string) string { return strings.Join(p.Sentences(pyStrip(text)), "\n") }

// Sentences splits the text without stripping it.
func (p *Punkt) Sentences(text string) []string {
	spans := p.spans(text)
	out := []string{}
	shift := 0
	for i, s := range spans {
		from := s.start + shift
		to := s.end
		shift = 0
		if i+1 < len(spans) {
			next := text[spans[i+1].start:spans[i+1].end]
			if n := closers(next); n > 0 {
				to = spans[i+1].start + len(pyRstrip(next[:n]))
				shift = n
				out = append(out, text[from:to])
				continue
			}
		}
		if from < to {
			out = append(out, text[from:to])
		}
	}
	return out
}

type textSpan struct{ start, end int }

// spans splits the text after every mark that ends a sentence.
func (p *Punkt) spans(text string) []textSpan {
	var out []textSpan
	begin := 0
	p.candidates(text, func(c candidate) {
		if p.breaksInside(text[c.start:c.after]) {
			out = append(out, textSpan{begin, c.mark + 1})
			begin = c.mark + 1
			if c.token > 0 {
				begin = c.token
			}
		}
	})
	end := len(pyRstrip(text))
	return append(out, textSpan{min(begin, end), end})
}

// candidate is a mark that may end a sentence. The text from the word before the mark to the token after it decides.
type candidate struct {
	start, mark, after int // byte offsets: start of the word, the mark, end of the text that follows
	token              int // byte offset of the token after white space; 0: another mark follows directly
}

// candidates calls fn for each mark that may end a sentence; of several marks in one word only the last counts.
func (p *Punkt) candidates(text string, fn func(candidate)) {
	var last candidate
	have := false
	start, stop := 0, 0 // offsets of the word before the last mark
	for at := 0; at < len(text); at++ {
		if c := text[at]; c != '.' && c != '?' && c != '!' {
			continue
		}
		next, ok := following(text, at)
		if !ok {
			continue
		}
		// The reference treats index 0 as "none", so white space there does not start a word.
		word := start
		if i := strings.LastIndexAny(text[stop:at], asciiSpace); i > 0 {
			word = stop + i + 1
		}
		if have && stop <= word {
			fn(last)
		}
		start, stop = word, at
		next.start = word
		last, have = next, true
	}
	if have {
		fn(last)
	}
}

const asciiSpace = " \t\n\r\v\f"

// following examines the text after a mark: a character that ends a word, or white space and a token.
func following(text string, mark int) (candidate, bool) {
	rest := text[mark+1:]
	if rest == "" {
		return candidate{}, false
	}
	if endsWord(rest[0]) {
		return candidate{mark: mark, after: mark + 2}, true
	}
	blank := len(rest) - len(strings.TrimLeftFunc(rest, pySpace))
	if blank == 0 || blank == len(rest) {
		return candidate{}, false
	}
	token := strings.IndexFunc(rest[blank:], pySpace)
	if token < 0 {
		token = len(rest) - blank
	}
	return candidate{mark: mark, token: mark + 1 + blank, after: mark + 1 + blank + token}, true
}

// endsWord reports whether a character never occurs inside a word.
func endsWord(c byte) bool { return strings.IndexByte(")\";}]*:@'({[!?", c) >= 0 }

// closers returns the length of the closing quotes and brackets at the start of s, including the white space after
// them. They belong to the previous sentence.
func closers(s string) int {
	for n := 0; n < len(s) && strings.IndexByte("\"')]}", s[n]) >= 0; {
		n++
		rest := s[n:]
		blank := len(rest) - len(strings.TrimLeftFunc(rest, pySpace))
		if blank > 0 || rest == "" || strings.HasPrefix(rest, "--") {
			return n + blank
		}
	}
	return 0
}

// punktToken is a token with the results of both passes.
type punktToken struct {
	text     string // lower case; numbers as ##number##
	kind     string // lower case, numbers as ##number##
	ends     bool   // a sentence ends here
	abbr     bool
	ellipsis bool
}

// breaksInside reports whether a token other than the last one ends a sentence.
func (p *Punkt) breaksInside(context string) bool {
	tokens := p.tokens(context)
	for i := 0; i+1 < len(tokens); i++ {
		if p.second(&tokens[i], &tokens[i+1]); tokens[i].ends {
			return true
		}
	}
	return false
}

func (p *Punkt) tokens(context string) []punktToken {
	var out []punktToken
	for line := range strings.SplitSeq(context, "\n") {
		punktWords(line, func(word string) { out = append(out, p.first(word)) })
	}
	return out
}

// number matches words that count as numbers.
var number = regexp.MustCompile(`^-?[.,]?\p{Nd}[\p{Nd},.\-]*\.?$`)

const numberKind = "##number##"

// first classifies a token by itself.
func (p *Punkt) first(word string) punktToken {
	t := punktToken{text: word, kind: pyLower(word)}
	if number.MatchString(t.kind) {
		t.kind = numberKind
	}
	switch {
	case word == "." || word == "?" || word == "!":
		t.ends = true
	case strings.HasPrefix(word, "..") && strings.Trim(word, ".") == "":
		t.ellipsis = true
	case strings.HasSuffix(word, ".") && !strings.HasSuffix(word, ".."):
		stem := pyLower(word[:len(word)-1])
		t.abbr = p.abbreviations[stem] || p.abbreviations[stem[strings.LastIndexByte(stem, '-')+1:]]
		t.ends = !t.abbr
	}
	return t
}

// bare returns the kind without its final period.
func (t *punktToken) bare() string {
	if len(t.kind) > 1 {
		return strings.TrimSuffix(t.kind, ".")
	}
	return t.kind
}

// inSentence returns the kind without a period that ends the sentence.
func (t *punktToken) inSentence() string {
	if t.ends {
		return t.bare()
	}
	return t.kind
}

func (t *punktToken) upper() bool {
	r, _ := utf8.DecodeRuneInString(t.text)
	return pyUpperRune(r)
}

func (t *punktToken) lower() bool {
	r, _ := utf8.DecodeRuneInString(t.text)
	return pyLowerRune(r)
}

// initial reports whether the token is one letter and a period.
func (t *punktToken) initial() bool {
	r, n := utf8.DecodeRuneInString(t.text)
	return pyWord(r) && !pyDigit(r) && t.text[n:] == "."
}

// second classifies a token by its neighbour.
func (p *Punkt) second(t, next *punktToken) {
	if !strings.HasSuffix(t.text, ".") {
		return
	}
	kind, nextKind := t.bare(), next.inSentence()
	if p.collocations[[2]string{kind, nextKind}] {
		t.ends, t.abbr = false, true
		return
	}
	initial := t.initial()
	if (t.abbr || t.ellipsis) && !initial {
		if p.starts(next) == yes || (next.upper() && p.starters[nextKind]) {
			t.ends = true
			return
		}
	}
	if !initial && kind != numberKind {
		return
	}
	switch p.starts(next) {
	case no:
		t.ends, t.abbr = false, true
	case unknown:
		if initial && next.upper() && p.ortho[nextKind]&anyLower == 0 {
			t.ends, t.abbr = false, true
		}
	}
}

// guess is true, false or unknown.
type guess int8

const (
	unknown guess = iota
	yes
	no
)

// starts guesses whether a word starts a sentence, from its case here and its case elsewhere in the training text.
func (p *Punkt) starts(t *punktToken) guess {
	if len(t.text) == 1 && strings.Contains(";:,.!?", t.text) {
		return no
	}
	seen := p.ortho[t.inSentence()]
	switch {
	case t.upper() && seen&anyLower != 0 && seen&midUpper == 0:
		return yes
	case t.lower() && (seen&anyUpper != 0 || seen&beginLower == 0):
		return no
	}
	return unknown
}

// punktWords splits a line into words and punctuation.
func punktWords(line string, fn func(word string)) {
	for at := 0; at < len(line); {
		r, size := utf8.DecodeRuneInString(line[at:])
		if pySpace(r) {
			at += size
			continue
		}
		n := multiPunct(line[at:])
		if n == 0 && !strings.ContainsRune("(\"`{[:;&#*@)}]-,", r) {
			n = wordLength(line[at:])
		}
		if n == 0 {
			n = size
		}
		fn(line[at : at+n])
		at += n
	}
}

// wordLength returns the length of the shortest run of characters after which a word may end, or 0.
func wordLength(s string) int {
	_, n := utf8.DecodeRuneInString(s)
	for n < len(s) {
		if wordEnds(s[n:]) || (s[n] == ',' && (n+1 == len(s) || wordEnds(s[n+1:]))) {
			return n
		}
		_, size := utf8.DecodeRuneInString(s[n:])
		n += size
	}
	return n
}

func wordEnds(rest string) bool {
	r, _ := utf8.DecodeRuneInString(rest)
	return pySpace(r) || endsWord(rest[0]) || multiPunct(rest) > 0
}

// multiPunct returns the length of dashes, dots, or dots separated by white space at the start of s.
func multiPunct(s string) int {
	for _, c := range [...]byte{'-', '.'} {
		n := 0
		for n < len(s) && s[n] == c {
			n++
		}
		if n >= 2 {
			return n
		}
	}
	if s == "" || s[0] != '.' {
		return 0
	}
	end, groups := 0, 0
	for at := 0; at < len(s) && s[at] == '.'; {
		if groups >= 2 {
			end = at + 1
		}
		r, size := utf8.DecodeRuneInString(s[at+1:])
		if !pySpace(r) {
			break
		}
		groups++
		at += 1 + size
	}
	return end
}
