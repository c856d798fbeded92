package datasets

import (
	"strings"
	"unicode"
)

// synthMark is the column by which a synthetic set is known: every record that is made here has it, and every format
// that keeps columns keeps it. One record with it makes a set synthetic.
const synthMark = "mlperf_go_synthetic"

// roleMark is that of its column, which is read beside the columns of every schema.
const roleMark = "synthetic"

// isMark reports whether a record's value of the column marks it.
func isMark(value []byte) bool { return string(value) != "false" && string(value) != `"false"` }

// Synthetic reports whether the set was made here: a record carries the mark, or, where a file can not carry it (a .npy
// file has token ids alone), every prompt that is looked at is made of invented words.
func Synthetic(d *Dataset) bool { return d.marked || invented(d) }

// looksAt is how many samples are looked at; one real prompt is enough to tell.
const looksAt = 64

// looksAtBytes is how much of a chat prompt is looked at: an image may follow.
const looksAtBytes = 2 << 10

// invented reports whether the prompts are those of a synthetic set by their words.
func invented(d *Dataset) bool {
	seen := d.Samples[:min(looksAt, len(d.Samples))]
	for i := range seen {
		s := &seen[i]
		if len(s.InputIDs) > 0 && !synthIDs(s.InputIDs) ||
			len(s.InputIDs) == 0 && !synthText(s.Input+string(s.Messages[:min(len(s.Messages), looksAtBytes)])) {
			return false
		}
	}
	return len(seen) > 0
}

// synthIDs reports whether a prompt is written in the synthetic vocabulary: no id is of another one, and half of them
// are invented words. Bytes alone prove nothing: they are the first ids of most vocabularies.
func synthIDs(ids []int32) bool {
	words := 0
	for _, id := range ids {
		switch {
		case id >= synthSpacedWord && id < synthSpacedWord+SynthWords || id >= synthBareWord && id < synthBareWord+SynthWords:
			words++
		case id != SynthBOS && (id < 0 || id >= 256):
			return false
		}
	}
	return 2*words >= len(ids)
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
