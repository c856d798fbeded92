package tokenizer

import (
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// Hot path: appendPieces runs per text that is encoded.

// spModel is the model of a tokenizer.model.
type spModel struct {
	file  *spFile
	user  matcher     // pieces that the user defined: found in the text as it is
	bytes *[256]int32 // pieces of single bytes; nil: there is no fallback to them
	cut   bool        // no piece has a mark behind another character, so that a text can be cut before each mark

	// Of a unigram model:
	trie     pairs // node and byte to the next node (rank) and the piece that ends there (id)
	scores   []float32
	unkScore float32
}

// unkPenalty is how much less than the worst piece an unknown character is worth (SentencePiece's unigram model).
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
		case pieceUser: // worth more than any other way to write it
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

// trieEdges counts the edges of a trie of texts.
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

// way is the best way to come to a place of the text.
type way struct {
	score float32
	from  int32 // where the last piece begins; none: there is no way yet
	id    int32
}

// appendPieces appends the ids of a text.
func (t *Tokenizer) appendPieces(e *encoder, text string) {
	sp := t.sp
	e.normal = sp.normalized(e.normal[:0], text)
	rest := string(e.normal)
	join := e.emitBPE
	if sp.file.kind == kindUnigram {
		join = e.emitUnigram
	} else if len(sp.user.tokens) > 0 {
		// A piece that the user defined stands alone; only the unigram model weighs it against others.
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

// inParts cuts a text before each mark that follows another character, where no piece lies across.
func (e *encoder) inParts(text string, join func(string)) {
	for e.sp.cut {
		at := len(text) - len(strings.TrimLeft(text, spaceMark))
		next := strings.Index(text[at:], spaceMark)
		if next < 0 {
			break
		}
		join(text[:at+next])
		text = text[at+next:]
	}
	if text != "" {
		join(text)
	}
}

// emitBPE joins symbols. An unknown token beside one of the part before is the same one.
func (e *encoder) emitBPE(text string) {
	from := len(e.dst)
	e.dst = e.model.appendIDs(e.dst, text, &e.scratch)
	e.fuse(from)
}

// fuse makes unknown tokens that follow one another one, across parts too.
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

// emitUnigram finds the cut of the highest score, all in the precision of the reference, since equal scores decide.
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
