package tokenizer

import (
	"math"
	"slices"
	"unicode/utf8"
)

// Hot path: appendPieces runs per encoded text.

// spModel is the encoding model of a tokenizer.model.
type spModel struct {
	file  *spFile
	user  matcher     // user-defined pieces, matched in the unchanged text
	bytes *[256]int32 // ids of single-byte pieces; nil: no byte fallback
	cut   bool        // whether no piece has a mark after another character, so that a text can be cut before each mark

	// Only in a unigram model:
	trie     pairs // (node, byte) to the next node (rank) and the piece that ends there (id)
	scores   []float32
	unkScore float32
}

// unkPenalty is the difference between the score of the worst piece and that of an unknown character (SentencePiece's
// unigram model).
const unkPenalty = 10

func (sp *spModel) loadUnigram() {
	lowest, highest := float32(math.MaxFloat32), float32(-math.MaxFloat32)
	texts := make([]string, 0, len(sp.file.pieces))
	for _, p := range sp.file.pieces {
		texts = append(texts, p.text)
		if p.kind == pieceNormal {
			lowest, highest = min(lowest, p.score), max(highest, p.score)
		}
	}
	sp.unkScore = lowest - unkPenalty
	sp.trie = newPairs(trieEdges(texts))
	sp.scores = make([]float32, len(sp.file.pieces))
	nodes := int32(1)
	for id, p := range sp.file.pieces {
		switch p.kind {
		case pieceNormal:
			sp.scores[id] = p.score
		case pieceUser: // scores higher than any other segmentation
			sp.scores[id] = float32(float64(float32(len(p.text))*highest) - 0.1)
		default:
			continue
		}
		node := int32(0)
		for i := range len(p.text) {
			next, ok := sp.trie.get(node, int32(p.text[i]))
			if !ok {
				next = merge{rank: nodes, id: none}
				nodes++
			}
			if i == len(p.text)-1 {
				next.id = int32(id)
			}
			sp.trie.put(node, int32(p.text[i]), next)
			node = next.rank
		}
	}
}

// trieEdges returns the number of edges in a trie of the texts. It sorts texts.
func trieEdges(texts []string) (edges int) {
	slices.Sort(texts)
	before := ""
	for _, text := range texts {
		shared := 0
		for shared < min(len(text), len(before)) && text[shared] == before[shared] {
			shared++
		}
		edges, before = edges+len(text)-shared, text
	}
	return edges
}

// way is the best segmentation found so far up to a position in the text.
type way struct {
	score float32
	from  int32 // start of the last piece; none: the position was not reached yet
	id    int32
}

// appendPieces encodes text with a tokenizer.model and appends the ids to e.dst.
func (t *Tokenizer) appendPieces(e *encoder, text string) {
	sp := t.sp
	e.normal = sp.normalized(e.normal[:0], text)
	rest := string(e.normal)
	join := e.emitBPE
	if sp.file.kind == kindUnigram {
		join = e.emitUnigram
	} else if len(sp.user.tokens) > 0 {
		// In BPE a user-defined piece is encoded separately. The unigram model compares its score with those of the
		// alternatives.
		e.unknown = false
		sp.user.split(rest, func(from, to int) { e.inParts(rest[from:to], join) }, func(id int32) {
			e.unknown = false
			e.dst = append(e.dst, id)
		})
		return
	}
	e.unknown = false
	e.inParts(rest, join)
}

// inParts splits a text into parts that can be encoded independently, and calls join for each.
func (e *encoder) inParts(text string, join func(string)) {
	for text != "" {
		n := len(text)
		if e.sp.cut {
			n = untilMark(text)
		}
		join(text[:n])
		text = text[n:]
	}
}

// emitBPE merges the symbols of one part. fuse then joins adjacent unknown tokens, even across parts.
func (e *encoder) emitBPE(text string) {
	from := len(e.dst)
	e.dst = e.model.appendIDs(e.dst, text, &e.scratch)
	e.fuse(from)
}

// fuse replaces each run of unknown tokens by one, including a run that began in an earlier part.
func (e *encoder) fuse(from int) {
	unk := e.sp.file.unk
	to := from
	for _, id := range e.dst[from:] {
		if id == unk && e.unknown {
			continue
		}
		e.unknown = id == unk
		e.dst[to] = id
		to++
	}
	e.dst = e.dst[:to]
}

// emitUnigram finds the segmentation with the highest score. It computes in float32 like the reference, because
// rounding decides ties.
func (e *encoder) emitUnigram(text string) {
	sp := e.sp
	if cap(e.ways) < len(text)+1 {
		e.ways = make([]way, len(text)+1)
	}
	ways := e.ways[:len(text)+1]
	for i := range ways {
		ways[i] = way{from: none}
	}
	for at := 0; at < len(text); {
		here := ways[at].score
		_, size := utf8.DecodeRuneInString(text[at:])
		single := false
		for node, end := int32(0), at; end < len(text); {
			next, ok := sp.trie.get(node, int32(text[end]))
			if !ok {
				break
			}
			node, end = next.rank, end+1
			if next.id == none {
				continue
			}
			if score := sp.scores[next.id] + here; ways[end].from == none || score > ways[end].score {
				ways[end] = way{score, int32(at), next.id}
			}
			single = single || end-at == size
		}
		if !single {
			if score := sp.unkScore + here; ways[at+size].from == none || score > ways[at+size].score {
				ways[at+size] = way{score, int32(at), sp.file.unk}
			}
		}
		at += size
	}
	e.back = e.back[:0]
	for end := int32(len(text)); end > 0; end = ways[end].from {
		e.back = append(e.back, end)
	}
	from := len(e.dst)
	for i := len(e.back) - 1; i >= 0; i-- {
		w := ways[e.back[i]]
		if w.id != sp.file.unk || sp.bytes == nil {
			e.dst = append(e.dst, w.id)
			continue
		}
		for _, b := range []byte(text[w.from:e.back[i]]) {
			e.dst = append(e.dst, sp.bytes[b])
		}
	}
	e.fuse(from)
}
