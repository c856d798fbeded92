package datasets

// looksAt is how many samples Synthetic looks at; one real prompt is enough to tell.
const looksAt = 64

// Synthetic says whether the prompts are those of a synthetic set: every id is a byte, a word of the synthetic vocabulary or SynthBOS.
// A text that a real tokenizer made has ids between these.
func Synthetic(d *Dataset) bool {
	seen := false
	for i := range d.Samples[:min(looksAt, len(d.Samples))] {
		for _, id := range d.Samples[i].InputIDs {
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
