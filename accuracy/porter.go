package accuracy

import "bytes"

// porterStem returns the stem of a lower-case word by the Porter stemmer in NLTK's default mode
// (docs/reference/scoring-rules.md#porter-stemmer).
func porterStem(word string) string {
	if s, ok := irregular[word]; ok {
		return s
	}
	if len(word) <= 2 {
		return word
	}
	var buf [64]byte
	w := append(buf[:0], word...)
	w = porterPlural(w)
	w = porterPast(w)
	w = porterY(w)
	w = porterDouble(w)
	w = applyRules(w, porterStep3)
	w = applyRules(w, porterStep4)
	return string(porterEnd(w))
}

// irregular maps words to stems that take precedence over the rules.
var irregular = map[string]string{
	"sky": "sky", "skies": "sky", "dying": "die", "lying": "lie", "tying": "tie", "news": "news", "innings": "inning",
	"inning": "inning", "outings": "outing", "outing": "outing", "cannings": "canning", "canning": "canning",
	"howe": "howe", "proceed": "proceed", "exceed": "exceed", "succeed": "succeed",
}

// condition reports whether a rule may apply, given the stem that would remain.
type condition func(stem []byte) bool

type porterRule struct {
	suffix, by string
	when       condition
}

func anyMeasure(m int) condition { return func(stem []byte) bool { return measure(stem) > m } }

func always([]byte) bool { return true }

// applyRules applies the first rule whose suffix matches the word. If the condition of that rule fails, the word stays
// unchanged.
func applyRules(w []byte, rules []porterRule) []byte {
	for _, r := range rules {
		if !hasSuffix(w, r.suffix) {
			continue
		}
		stem := w[:len(w)-len(r.suffix)]
		if !r.when(stem) {
			return w
		}
		return append(stem, r.by...)
	}
	return w
}

var porterStep1a = []porterRule{{"sses", "ss", always}, {"ies", "i", always}, {"ss", "ss", always}, {"s", "", always}}

var porterStep2 = withMeasure(0, [][2]string{
	{"ational", "ate"}, {"tional", "tion"}, {"enci", "ence"}, {"anci", "ance"}, {"izer", "ize"}, {"bli", "ble"},
	{"alli", "al"}, {"entli", "ent"}, {"eli", "e"}, {"ousli", "ous"}, {"ization", "ize"}, {"ation", "ate"},
	{"ator", "ate"}, {"alism", "al"}, {"iveness", "ive"}, {"fulness", "ful"}, {"ousness", "ous"}, {"aliti", "al"},
	{"iviti", "ive"}, {"biliti", "ble"}, {"fulli", "ful"},
})

var porterStep3 = withMeasure(0, [][2]string{
	{"icate", "ic"}, {"ative", ""}, {"alize", "al"}, {"iciti", "ic"}, {"ical", "ic"}, {"ful", ""}, {"ness", ""},
})

var porterStep4 = step4()

func step4() []porterRule {
	rules := withMeasure(1, [][2]string{
		{"al", ""}, {"ance", ""}, {"ence", ""}, {"er", ""}, {"ic", ""}, {"able", ""}, {"ible", ""}, {"ant", ""},
		{"ement", ""}, {"ment", ""}, {"ent", ""}, {"ion", ""}, {"ou", ""}, {"ism", ""}, {"ate", ""}, {"iti", ""},
		{"ous", ""}, {"ive", ""}, {"ize", ""},
	})
	for i := range rules {
		if rules[i].suffix == "ion" {
			rules[i].when = func(stem []byte) bool {
				return measure(stem) > 1 && (hasSuffix(stem, "s") || hasSuffix(stem, "t"))
			}
		}
	}
	return rules
}

func withMeasure(m int, pairs [][2]string) []porterRule {
	rules := make([]porterRule, len(pairs))
	for i, p := range pairs {
		rules[i] = porterRule{p[0], p[1], anyMeasure(m)}
	}
	return rules
}

// porterPlural is step 1a.
func porterPlural(w []byte) []byte {
	if len(w) == 4 && hasSuffix(w, "ies") {
		return w[:3]
	}
	return applyRules(w, porterStep1a)
}

// porterPast is step 1b.
func porterPast(w []byte) []byte {
	switch {
	case hasSuffix(w, "ied"):
		if len(w) == 4 {
			return w[:3]
		}
		return w[:len(w)-2]
	case hasSuffix(w, "eed"):
		if measure(w[:len(w)-3]) > 0 {
			return w[:len(w)-1]
		}
		return w
	}
	for _, suffix := range [...]string{"ed", "ing"} {
		if stem := w[:max(len(w)-len(suffix), 0)]; hasSuffix(w, suffix) && hasVowel(stem) {
			return porterRestore(stem)
		}
	}
	return w
}

// porterRestore mends a stem from which ed or ing was cut.
func porterRestore(w []byte) []byte {
	n := len(w)
	switch {
	case hasSuffix(w, "at"), hasSuffix(w, "bl"), hasSuffix(w, "iz"):
		return append(w, 'e')
	case n >= 2 && w[n-1] == w[n-2] && consonantAt(w, n-1):
		if bytes.IndexByte([]byte("lsz"), w[n-1]) < 0 {
			return w[:n-1]
		}
	case measure(w) == 1 && endsCVC(w):
		return append(w, 'e')
	}
	return w
}

// porterY is step 1c.
func porterY(w []byte) []byte {
	if n := len(w); n > 2 && w[n-1] == 'y' && consonantAt(w, n-2) {
		w[n-1] = 'i'
	}
	return w
}

// porterDouble is step 2.
func porterDouble(w []byte) []byte {
	for hasSuffix(w, "alli") && measure(w[:len(w)-4]) > 0 {
		w = w[:len(w)-2]
	}
	if hasSuffix(w, "logi") {
		if measure(w[:len(w)-len("ogi")]) > 0 {
			w = w[:len(w)-1]
		}
		return w
	}
	return applyRules(w, porterStep2)
}

// porterEnd is steps 5a and 5b.
func porterEnd(w []byte) []byte {
	if hasSuffix(w, "e") {
		stem := w[:len(w)-1]
		if m := measure(stem); m > 1 || (m == 1 && !endsCVC(stem)) {
			w = stem
		}
	}
	if hasSuffix(w, "ll") && measure(w[:len(w)-1]) > 1 {
		w = w[:len(w)-1]
	}
	return w
}

// consonantAt reports whether letter i is a consonant. The letter y is a consonant at the start of a word and after a
// vowel.
func consonantAt(w []byte, i int) bool {
	switch w[i] {
	case 'a', 'e', 'i', 'o', 'u':
		return false
	case 'y':
		return i == 0 || !consonantAt(w, i-1)
	}
	return true
}

func hasVowel(w []byte) bool {
	for i := range w {
		if !consonantAt(w, i) {
			return true
		}
	}
	return false
}

// measure counts the groups of vowels that are followed by consonants.
func measure(w []byte) int {
	m, consonant := 0, true
	for i, c := range w {
		was := consonant
		switch c {
		case 'a', 'e', 'i', 'o', 'u':
			consonant = false
		case 'y':
			consonant = i == 0 || !was
		default:
			consonant = true
		}
		if i > 0 && consonant && !was {
			m++
		}
	}
	return m
}

// endsCVC implements the condition *o, with NLTK's case of two letters.
func endsCVC(w []byte) bool {
	n := len(w)
	if n == 2 {
		return !consonantAt(w, 0) && consonantAt(w, 1)
	}
	return n >= 3 && consonantAt(w, n-3) && !consonantAt(w, n-2) && consonantAt(w, n-1) &&
		bytes.IndexByte([]byte("wxy"), w[n-1]) < 0
}

func hasSuffix(w []byte, suffix string) bool {
	return len(w) >= len(suffix) && string(w[len(w)-len(suffix):]) == suffix
}
