package tokenizer

import (
	"fmt"
	"math/bits"
	"unicode/utf8"
)

// Hot path: this file runs per piece of a text and allocates nothing once the scratch memory is large enough.

const none int32 = -1

// bpe is the BPE model. It merges neighbouring symbols, always the pair with the lowest rank, and the leftmost of
// several such pairs.
type bpe struct {
	byteLevel    bool             // whether symbols are bytes; else they are characters
	byteFallback bool             // whether an unknown character becomes its bytes
	fuseUnk      bool             // whether adjacent unknown characters become one token
	ids          map[string]int32 // ids by text; the texts are raw bytes if byteLevel is set
	symbols      [256]int32       // ids of single bytes: initial symbols if byteLevel, else byte-fallback tokens
	unk          int32
	whole        []uint64 // bit set of the ids that a piece becomes if it has exactly the id's text
	merges       pairs
}

// pairs maps a pair of ids to the rank and the result of their merge. It is a hash table with open addressing.
type pairs struct {
	keys   []uint64 // keys (left<<32 | right) + 1; 0: free slot
	values []merge
	shift  uint
}

type merge struct{ rank, id int32 }

func newPairs(n int) pairs {
	size := bits.Len(uint(2*n | 7))
	return pairs{make([]uint64, 1<<size), make([]merge, 1<<size), uint(64 - size)}
}

// slot returns the index of a key, or of the free slot where it belongs.
func (p *pairs) slot(key uint64) uint64 {
	at := key * 0x9e3779b97f4a7c15 >> p.shift
	for p.keys[at] != 0 && p.keys[at] != key {
		at = (at + 1) & uint64(len(p.keys)-1)
	}
	return at
}

func pairKey(left, right int32) uint64 { return uint64(uint32(left))<<32 | uint64(uint32(right)) + 1 }

func (p *pairs) put(left, right int32, m merge) {
	key := pairKey(left, right)
	at := p.slot(key)
	p.keys[at], p.values[at] = key, m
}

func (p *pairs) get(left, right int32) (merge, bool) {
	key := pairKey(left, right)
	at := p.slot(key)
	return p.values[at], p.keys[at] == key
}

// symbol is a part of the piece during merging, linked to its neighbours.
type symbol struct {
	id             int32 // none: the symbol was merged into the one before it
	previous, next int32
}

// candidate is a possible merge. Its order is rank<<32 | position; the smallest is merged next.
type candidate struct {
	order uint64
	id    int32 // id of the merged symbol
}

// scratch is the working memory of merging.
type scratch struct {
	symbols []symbol
	queue   []candidate
}

// appendIDs appends the ids of one piece to dst.
func (m *bpe) appendIDs(dst []int32, text string, s *scratch) []int32 {
	if id, ok := m.ids[text]; ok && m.whole[id>>6]>>(id&63)&1 == 1 {
		return append(dst, id)
	}
	return m.mergeAll(dst, text, s)
}

func (m *bpe) mergeAll(dst []int32, text string, s *scratch) []int32 {
	s.symbols, s.queue = s.symbols[:0], s.queue[:0]
	m.firstSymbols(text, s)
	for at := range s.symbols {
		m.consider(s, int32(at))
	}
	for len(s.queue) > 0 {
		next := s.pop()
		left := int32(uint32(next.order))
		a := &s.symbols[left]
		if a.id == none || a.next == none {
			continue
		}
		right := a.next
		b := &s.symbols[right]
		if now, ok := m.merges.get(a.id, b.id); !ok || now.id != next.id {
			continue // outdated: one of the two symbols was merged with another one in the meantime
		}
		a.id, a.next = next.id, b.next
		b.id = none
		if a.next != none {
			s.symbols[a.next].previous = left
			m.consider(s, left)
		}
		if a.previous != none {
			m.consider(s, a.previous)
		}
	}
	for at := int32(0); at != none && len(s.symbols) > 0; at = s.symbols[at].next {
		dst = append(dst, s.symbols[at].id)
	}
	return dst
}

// consider queues the merge of a symbol with the next one, if they form a pair.
func (m *bpe) consider(s *scratch, at int32) {
	a := s.symbols[at]
	if a.next == none {
		return
	}
	if found, ok := m.merges.get(a.id, s.symbols[a.next].id); ok {
		s.push(candidate{uint64(uint32(found.rank))<<32 | uint64(uint32(at)), found.id})
	}
}

// firstSymbols splits a piece into bytes or characters. A character outside the vocabulary becomes its bytes. If the
// model has no byte tokens it becomes the unknown token, and without an unknown token it is dropped.
func (m *bpe) firstSymbols(text string, s *scratch) {
	unknown := false // whether an unknown token is pending
	for i := 0; i < len(text); {
		size, id := 1, m.symbols[text[i]]
		if !m.byteLevel {
			_, size = utf8.DecodeRuneInString(text[i:])
			var ok bool
			if id, ok = m.ids[text[i:i+size]]; !ok {
				id = none
			}
		}
		if id == none && m.byteFallback && m.appendBytes(text[i:i+size], s) {
			i += size
			continue
		}
		i += size
		if unknown && (id != none || !m.fuseUnk) {
			s.add(m.unk)
		}
		unknown = id == none && m.unk != none
		if id != none {
			s.add(id)
		}
	}
	if unknown {
		s.add(m.unk)
	}
	if n := len(s.symbols); n > 0 {
		s.symbols[n-1].next = none
	}
}

// appendBytes adds the byte tokens of a character and returns true if the vocabulary has all of them.
func (m *bpe) appendBytes(char string, s *scratch) bool {
	if m.byteLevel {
		return false
	}
	for i := range len(char) {
		if m.symbols[char[i]] == none {
			return false
		}
	}
	for i := range len(char) {
		s.add(m.symbols[char[i]])
	}
	return true
}

func (s *scratch) add(id int32) {
	n := int32(len(s.symbols))
	s.symbols = append(s.symbols, symbol{id: id, previous: n - 1, next: n + 1})
}

func (s *scratch) push(c candidate) {
	q := append(s.queue, c)
	at := len(q) - 1
	for at > 0 {
		up := (at - 1) / 2
		if q[up].order <= c.order {
			break
		}
		q[at], at = q[up], up
	}
	q[at] = c
	s.queue = q
}

func (s *scratch) pop() candidate {
	q := s.queue
	top, last := q[0], q[len(q)-1]
	q = q[:len(q)-1]
	for at := 0; ; {
		down := 2*at + 1
		if down >= len(q) {
			if len(q) > 0 {
				q[at] = last
			}
			break
		}
		if down+1 < len(q) && q[down+1].order < q[down].order {
			down++
		}
		if last.order <= q[down].order {
			q[at] = last
			break
		}
		q[at], at = q[down], down
	}
	s.queue = q
	return top
}

// byteToken returns the name of a byte in a vocabulary with byte fallback, such as <0x0A>.
func byteToken(b int) string { return fmt.Sprintf("<0x%02X>", b) }
