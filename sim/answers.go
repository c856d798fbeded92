package sim

import (
	"bytes"
	"encoding/json"
	"slices"
	"sync/atomic"

	"github.com/mlperf-go/mlperf-go/datasets"
)

// Random answers use ids of [randomLow, randomLow+randomSpan): ordinary words of every vocabulary in use.
const (
	randomLow  = 1000
	randomSpan = 4096
)

// library finds the data set's row of a prompt and gives its reference answer.
type library struct {
	rows   []datasets.Sample
	byIDs  map[uint64]int32 // hash of the prompt ids -> row; the first of equal prompts wins
	byText map[string]int32 // prompt text -> row
	byChat map[string]int32 // messages, without blanks -> row
	answer []atomic.Pointer[[]int32]
	tok    Tokenizer
}

func newLibrary(d *datasets.Dataset, tok Tokenizer) *library {
	l := &library{tok: tok, byIDs: map[uint64]int32{}, byText: map[string]int32{}, byChat: map[string]int32{}}
	if d == nil {
		return l
	}
	l.rows = d.Samples
	l.answer = make([]atomic.Pointer[[]int32], len(l.rows))
	for i := range l.rows {
		r := &l.rows[i]
		if len(r.InputIDs) > 0 {
			putFirst(l.byIDs, hashIDs(r.InputIDs), int32(i))
		}
		if r.Input != "" {
			putFirst(l.byText, r.Input, int32(i))
		}
		if len(r.Messages) > 0 {
			putFirst(l.byChat, compactJSON(r.Messages), int32(i))
		}
	}
	return l
}

func putFirst[K comparable](m map[K]int32, k K, v int32) {
	if _, ok := m[k]; !ok {
		m[k] = v
	}
}

func compactJSON(raw []byte) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}

// rowOfIDs gives the row whose prompt is ids, or -1.
func (l *library) rowOfIDs(ids []int32) int32 {
	if i, ok := l.byIDs[hashIDs(ids)]; ok && slices.Equal(l.rows[i].InputIDs, ids) {
		return i
	}
	return -1
}

// rowOfText gives the row whose prompt text is s, or -1.
func (l *library) rowOfText(s string) int32 {
	if i, ok := l.byText[s]; ok {
		return i
	}
	return -1
}

// promptIDs gives the token ids of a text prompt: the row's own where the data set has them.
func (l *library) promptIDs(s string, row int32) []int32 {
	if row >= 0 && len(l.rows[row].InputIDs) > 0 {
		return l.rows[row].InputIDs
	}
	return l.tok.Encode(s)
}

// reference gives the encoded reference output of a row, without EOS. It is encoded once.
func (l *library) reference(row int32) []int32 {
	if p := l.answer[row].Load(); p != nil {
		return *p
	}
	ids := l.tok.Encode(l.rows[row].Target)
	l.answer[row].Store(&ids)
	return ids
}

// hashIDs is a 64-bit hash of a prompt that is the same in every process.
func hashIDs(ids []int32) uint64 {
	h := uint64(len(ids)) + 0x9e3779b97f4a7c15
	for _, id := range ids {
		h = mix(h ^ uint64(uint32(id)))
	}
	return h
}

// mix is the finaliser of SplitMix64 (Steele, Lea, Flood 2014).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// limits is what a request says about the length of its answer.
type limits struct {
	maxTokens int
	minTokens int
	ignoreEOS bool
	stopIDs   []int32
}

// completion is a whole answer: every id, EOS included, and why it ends.
type completion struct {
	tokens []int32
	finish string // stop, length or abort
	stopID int32  // the stop id that ended it; -1: none
}

// complete gives the answer to a prompt. It depends on the configuration, the prompt and the limits alone.
func (s *Server) complete(prompt []int32, row int32, l limits) completion {
	rng := mix(s.cfg.Seed) ^ hashIDs(prompt)
	next := func() int32 {
		rng += 0x9e3779b97f4a7c15
		return randomLow + int32(mix(rng)%randomSpan)
	}
	body := s.naturalAnswer(prompt, row, next)
	out := make([]int32, 0, min(l.maxTokens, max(len(body), l.minTokens)+1))
	for _, id := range body {
		if len(out) == l.maxTokens {
			break
		}
		out = append(out, id)
		if len(out) > l.minTokens && slices.Contains(l.stopIDs, id) {
			return completion{out, "stop", id}
		}
	}
	// The model would end here. A larger minimum bars EOS until it is reached; ignore_eos lets it pass as any other id.
	for len(out) < min(l.minTokens, l.maxTokens) {
		out = append(out, next())
	}
	if len(out) < l.maxTokens {
		out = append(out, s.cfg.EOS)
		if !l.ignoreEOS {
			return completion{out, "stop", -1}
		}
	}
	for len(out) < l.maxTokens {
		out = append(out, next())
		if slices.Contains(l.stopIDs, out[len(out)-1]) {
			return completion{out, "stop", out[len(out)-1]}
		}
	}
	return completion{out, "length", -1}
}

// naturalAnswer is what the model would say before its EOS.
func (s *Server) naturalAnswer(prompt []int32, row int32, next func() int32) []int32 {
	switch {
	case s.cfg.Answers == AnswerEcho:
		return prompt
	case s.cfg.Answers == AnswerReference && row >= 0:
		return s.library.reference(row)
	}
	body := make([]int32, s.cfg.OutputTokens-1)
	for i := range body {
		body[i] = next()
	}
	return body
}
