package sim

import (
	"strings"
	"unicode"
)

// mostFiller bounds the number of words for wrong answers.
const mostFiller = 4096

// filler holds words for wrong answers. It is read-only after newFiller.
type filler struct{ words []string }

// newFiller collects words of the references, which every tokenizer can encode, and adds its own if there are few.
func newFiller(texts func(yield func(string) bool)) *filler {
	f := &filler{}
	seen := map[string]bool{}
	for text := range texts {
		for w := range strings.FieldsFuncSeq(text, func(r rune) bool { return !unicode.IsLetter(r) }) {
			if len(w) < 5 || seen[w] || strings.IndexFunc(w, func(r rune) bool { return r < 'a' || r > 'z' }) >= 0 {
				continue
			}
			seen[w] = true
			if f.words = append(f.words, w); len(f.words) == mostFiller {
				return f
			}
		}
	}
	for _, w := range []string{"zuzka", "zyxel", "zopfen", "zwirn", "zamzam", "zebu", "zloty", "zydeco"} {
		if !seen[w] {
			f.words = append(f.words, w)
		}
	}
	return f
}

// stemLength is the number of leading letters that related words share: no stemmer cuts further.
const stemLength = 3

// unlike returns a text as long as another that shares no word and no stem with it.
func (f *filler) unlike(text string, seed uint64) string {
	taken := map[string]bool{}
	fields := strings.Fields(strings.ToLower(text))
	for _, w := range fields {
		for part := range strings.FieldsFuncSeq(w, func(r rune) bool { return !unicode.IsLetter(r) }) {
			taken[stem(part)] = true
		}
	}
	var free []string
	for i := range f.words {
		w := f.words[(int(mix(seed)%uint64(len(f.words)))+i)%len(f.words)]
		if !taken[stem(w)] {
			if free = append(free, w); len(free) == max(len(fields), 1) {
				break
			}
		}
	}
	if len(free) == 0 {
		return "."
	}
	var b strings.Builder
	for i := range max(len(fields), 1) {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(free[i%len(free)])
	}
	return b.String()
}

func stem(w string) string { return w[:min(len(w), stemLength)] }

// sentence returns n words.
func (f *filler) sentence(seed uint64, words int) string {
	list := make([]string, words)
	for i := range list {
		seed = mix(seed)
		list[i] = f.words[seed%uint64(len(f.words))]
	}
	return strings.Join(list, " ")
}
