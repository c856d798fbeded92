package sim

import "slices"

// Random answers use ids of [randomLow, randomLow+randomSpan): ordinary words of every vocabulary in use.
const (
	randomLow  = 1000
	randomSpan = 4096
)

// hashIDs is a 64-bit hash of a prompt that is the same in every process.
func hashIDs(ids []int32) uint64 {
	h := uint64(len(ids)) + 0x9e3779b97f4a7c15
	for _, id := range ids {
		h = mix(h ^ uint64(uint32(id)))
	}
	return h
}

// mix is the finalizer of SplitMix64 (Steele, Lea, Flood 2014).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// llm is the simulated language model: it reads prompts, and returns the answer to each.
type llm struct {
	cfg     *Config
	library *library
	speller *speller
}

// limits bounds the length of an answer, as requested.
type limits struct {
	maxTokens int
	minTokens int
	ignoreEOS bool
	stopIDs   []int32
}

// completion is a whole answer: every id, EOS included, and the reason for its end.
type completion struct {
	tokens []int32
	finish string // stop, length or abort
	stopID int32  // the stop id that ended it; -1: none
}

// complete returns the answer to a prompt. It depends only on the configuration, the prompt and the limits.
func (m *llm) complete(prompt []int32, row int32, l limits) completion {
	rng := mix(m.cfg.Seed) ^ hashIDs(prompt)
	next := func() int32 {
		rng += 0x9e3779b97f4a7c15
		return randomLow + int32(mix(rng)%randomSpan)
	}
	body := m.naturalAnswer(prompt, row, next)
	out := make([]int32, 0, min(l.maxTokens, max(len(body), l.minTokens)+1))
	for _, id := range body {
		if len(out) == l.maxTokens {
			break
		}
		out = append(out, id)
		if len(out) > l.minTokens && slices.Contains(l.stopIDs, id) {
			return completion{out, finishStop, id}
		}
	}
	// The model would end here. A larger minimum suppresses EOS until it is reached; ignore_eos treats EOS as any other
	// id.
	for len(out) < min(l.minTokens, l.maxTokens) {
		out = append(out, next())
	}
	if len(out) < l.maxTokens {
		out = append(out, m.cfg.EOS)
		if !l.ignoreEOS {
			return completion{out, finishStop, -1}
		}
	}
	for len(out) < l.maxTokens {
		out = append(out, next())
		if slices.Contains(l.stopIDs, out[len(out)-1]) {
			return completion{out, finishStop, out[len(out)-1]}
		}
	}
	return completion{out, finishLength, -1}
}

// naturalAnswer returns the model's answer without EOS.
func (m *llm) naturalAnswer(prompt []int32, row int32, next func() int32) []int32 {
	switch {
	case m.cfg.Answers == AnswerEcho:
		return prompt
	case m.cfg.Answers == AnswerReference && row >= 0:
		return m.library.reference(row)
	}
	body := make([]int32, m.cfg.OutputTokens-1)
	for i := range body {
		body[i] = next()
	}
	return body
}
