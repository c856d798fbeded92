package datasets

import (
	"strings"
	"unicode"
)

// looksAt is how many samples Synthetic looks at; one real prompt is enough to tell.
const looksAt = 64

// looksAtBytes is how much of a chat prompt it looks at: an image may follow.
const looksAtBytes = 2 << 10

// Synthetic says whether the prompts are those of a synthetic set: every id is a byte, a word of the synthetic vocabulary or SynthBOS,
// or, where there are no ids, most words of the text are invented ones. A text that a real tokenizer made has ids between these.
func Synthetic(d *Dataset) bool {
	seen := false
	for i := range d.Samples[:min(looksAt, len(d.Samples))] {
		s := &d.Samples[i]
		if len(s.InputIDs) == 0 && !synthText(s.Input+string(s.Messages[:min(len(s.Messages), looksAtBytes)])) {
			return false
		}
		seen = seen || len(s.InputIDs) == 0
		for _, id := range s.InputIDs {
			if !synthID(id) {
				return false
			}
			seen = true
		}
	}
	return seen
}

func synthID(id int32) bool {
	return id == SynthBOS || id >= 0 && id < 256 ||
		id >= synthSpacedWord && id < synthSpacedWord+SynthWords || id >= synthBareWord && id < synthBareWord+SynthWords
}

// synthText says whether at least half of a text's words are invented ones.
func synthText(text string) bool {
	v := SynthVocabulary()
	text, _, _ = strings.Cut(text, ";base64,") // an image has no words
	words := strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) })
	known := 0
	for _, w := range words {
		if _, ok := v.numbers[w]; ok {
			known++
		}
	}
	return known > 4 && 2*known >= len(words)-16 // the words of the form around it
}
