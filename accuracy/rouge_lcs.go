package accuracy

import "math/bits"

// Hot path of the ROUGE scorers: quadratic in the length of the texts. BenchmarkRouge measures it.

// lcsTable is the working memory for longest common subsequences.
type lcsTable struct {
	masks   []uint64 // for each distinct token of the reference, a bit set of its positions
	slot    counter  // token to its index in masks, from 1
	row     []uint64
	cells   []uint16 // table of one pair of sentences, with a border of zeros
	refused bool     // a pair's table would have exceeded maxCells
	hits    []bool
	refLeft counter
	preLeft counter
}

// maxCells limits the table of one pair of sentences to 128 MiB. A reference and an answer of 1024 tokens need 1 M
// cells.
const maxCells = 1 << 26

// longest returns ROUGE-L over whole texts.
func (r *rougeScorer) longest(ref, pred []int32) rougeScore {
	if len(ref) == 0 || len(pred) == 0 {
		return rougeScore{}
	}
	l := float64(r.lcs.length(ref, pred))
	return fScore(l/float64(len(pred)), l/float64(len(ref)))
}

// length returns the length of the longest common subsequence. It computes 64 cells of a column at once: a bit in the
// row is 0 where the table steps up by one.
func (t *lcsTable) length(ref, pred []int32) int {
	words := (len(ref) + 63) / 64
	t.masks = t.masks[:0]
	t.slot.add(ref)
	t.slot.reset(ref)
	n := int32(0)
	for i, id := range ref {
		if t.slot[id] == 0 {
			n++
			t.slot[id] = n
			for range words {
				t.masks = append(t.masks, 0)
			}
		}
		t.masks[(int(t.slot[id])-1)*words+i/64] |= 1 << (i % 64)
	}
	t.row = t.row[:0]
	for range words {
		t.row = append(t.row, ^uint64(0))
	}
	for _, id := range pred {
		if int(id) >= len(t.slot) || t.slot[id] == 0 {
			continue
		}
		mask := t.masks[(int(t.slot[id])-1)*words:][:words]
		carry := uint64(0)
		for i, v := range t.row {
			u := v & mask[i]
			sum, c := bits.Add64(v, u, carry)
			t.row[i], carry = sum|(v&^mask[i]), c
		}
	}
	t.slot.reset(ref)
	zeros := 0
	for _, v := range t.row { // no mask has a bit behind the reference, so those of a row stay set
		zeros += bits.OnesCount64(^v)
	}
	return zeros
}

// summary returns ROUGE-Lsum: for each sentence of the reference the union of its common subsequences with each
// sentence of the prediction. A token counts as often as it occurs in both texts.
func (r *rougeScorer) summary() rougeScore {
	ref, pred := &r.ref, &r.pred
	if len(ref.ids) == 0 || len(pred.ids) == 0 {
		return rougeScore{}
	}
	t := &r.lcs
	t.refused = false
	t.refLeft.add(ref.ids)
	t.preLeft.add(ref.ids)
	t.preLeft.reset(ref.ids)
	t.preLeft.add(pred.ids)
	hits, start := 0, 0
	for _, end := range ref.ends {
		sentence := ref.ids[start:end]
		start = end
		t.hits = append(t.hits[:0], make([]bool, len(sentence))...)
		from := 0
		for _, to := range pred.ends {
			t.mark(sentence, pred.ids[from:to])
			from = to
		}
		for i, hit := range t.hits {
			if id := sentence[i]; hit && t.refLeft[id] > 0 && t.preLeft[id] > 0 {
				t.refLeft[id]--
				t.preLeft[id]--
				hits++
			}
		}
	}
	t.refLeft.reset(ref.ids)
	t.preLeft.reset(pred.ids)
	return fScore(float64(hits)/float64(len(pred.ids)), float64(hits)/float64(len(ref.ids)))
}

// mark adds to hits the positions in ref of one longest common subsequence. The choice affects the score: equal tokens
// come first, then a strictly better left neighbour, then the one above.
func (t *lcsTable) mark(ref, pred []int32) {
	width := len(pred) + 1
	need := (len(ref) + 1) * width
	if need > maxCells {
		t.refused = true
		return
	}
	if cap(t.cells) < need {
		t.cells = make([]uint16, need)
	}
	cells := t.cells[:need]
	clear(cells[:width])
	for i, id := range ref {
		above, row := cells[i*width:(i+1)*width], cells[(i+1)*width:(i+2)*width]
		row[0] = 0
		left := uint16(0)
		for j, other := range pred {
			if id == other {
				left = above[j] + 1
			} else {
				left = max(left, above[j+1])
			}
			row[j+1] = left
		}
	}
	for i, j := len(ref), len(pred); i > 0 && j > 0; {
		switch {
		case ref[i-1] == pred[j-1]:
			t.hits[i-1] = true
			i--
			j--
		case cells[i*width+j-1] > cells[(i-1)*width+j]:
			j--
		default:
			i--
		}
	}
}
