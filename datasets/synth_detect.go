package datasets

import (
	"strings"
	"unicode"
)

// synthMark is the column that marks a synthetic set. Every generated record has this column, and every format that
// keeps columns preserves it. A set with one such record is synthetic.
const synthMark = "mlperf_go_synthetic"

// roleMark is the role of that column, which is read in addition to every schema.
const roleMark = "synthetic"

// isMark reports whether a value of the column marks the record.
func isMark(value []byte) bool { return string(value) != "false" && string(value) != `"false"` }

// Synthetic reports whether the set was generated here: a record has the mark, or, for files that cannot contain it (a
// .npy file has only token ids), every inspected prompt consists of invented words.
func Synthetic(d *Dataset) bool { return d.marked || invented(d) }

// looksAt is the number of samples that invented inspects; one real prompt is conclusive.
const looksAt = 64

// looksAtBytes is the number of bytes of a chat prompt that invented inspects; an image may follow them.
const looksAtBytes = 2 << 10

// invented reports whether the prompts consist of invented words.
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

// synthIDs reports whether a prompt uses only ids of the synthetic vocabulary, and invented words for at least half of
// them. Ids of bytes alone prove nothing, since most vocabularies begin with them.
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

// synthText reports whether at least half of a text's words are invented.
func synthText(text string) bool {
	v := SynthVocabulary()
	text, _, _ = strings.Cut(text, ";base64,") // remove an image, which has no words
	words := strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) })
	known := 0
	for _, w := range words {
		if _, ok := v.numbers[w]; ok {
			known++
		}
	}
	return known > 4 && 2*known >= len(words)-16 // the template around the text has up to 16 other words
}
