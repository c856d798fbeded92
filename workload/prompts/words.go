package prompts

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"

	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/tokenizer"
)

// Bounds of a vocabulary's words and of a corpus.
const (
	mostWords    = 8192
	largestText  = 64 << 20
	longestWord  = 12
	shortestWord = 4 // a space and three letters
	mostTries    = 64
)

// writer writes texts with an exact number of tokens.
type writer struct {
	words    []string // each one token with the space before it
	count    func(text string) int
	additive bool    // whether n words in a row have n + extra tokens
	extra    int     // tokens that a tokenizer adds to a text of words
	corpus   []int32 // ids of a file's text; nil: words are drawn at random
	decode   func(ids []int32) string
}

// newWriter returns the writer of a tokenizer; nil: the simulator's. corpus is a text file; "": random words.
func newWriter(t *tokenizer.Tokenizer, corpus string) (*writer, error) {
	w := &writer{}
	if t == nil {
		v := datasets.SynthVocabulary()
		w.count, w.decode = func(text string) int { return len(v.Encode(text)) }, v.Decode
		const firstSpaced = 1000 // datasets: word k behind a space has the id 1000+k
		for k := range datasets.SynthWords {
			w.words = append(w.words, v.Decode([]int32{int32(firstSpaced + k)}))
		}
	} else {
		w.count = func(text string) int { return len(t.Encode(text, false)) }
		w.decode = func(ids []int32) string { return t.Decode(ids, true) }
		w.words = wordsOf(t)
		if len(w.words) == 0 {
			return nil, fmt.Errorf("data: the tokenizer has no tokens that are words of plain letters")
		}
	}
	if corpus != "" {
		if err := w.load(corpus, t); err != nil {
			return nil, err
		}
	}
	w.extra, w.additive = w.probe()
	return w, nil
}

// wordsOf returns tokens that are a space and small letters, in the order of their ids.
func wordsOf(t *tokenizer.Tokenizer) (words []string) {
	for id := int32(0); int(id) < t.VocabSize() && len(words) < mostWords; id++ {
		if t.Special(id) {
			continue
		}
		text := string(t.Piece(id))
		if len(text) < shortestWord || len(text) > longestWord || text[0] != ' ' || strings.Trim(text[1:], letters) != "" {
			continue
		}
		words = append(words, text)
	}
	return words
}

const letters = "abcdefghijklmnopqrstuvwxyz"

// probe reports whether the numbers of words' tokens add up, by texts of several lengths.
func (w *writer) probe() (extra int, additive bool) {
	r := rand.New(rand.NewPCG(1, 2))
	extra = w.count(w.draw(r, 1)) - 1
	for _, n := range []int{2, 3, 7, 64, 500} {
		for range 8 {
			if w.count(w.draw(r, n)) != n+extra {
				return 0, false
			}
		}
	}
	return extra, true
}

// draw returns n random words.
func (w *writer) draw(r *rand.Rand, n int) string {
	var b strings.Builder
	b.Grow(n * longestWord / 2)
	for range n {
		b.WriteString(w.words[r.IntN(len(w.words))])
	}
	return b.String()
}

func (w *writer) load(path string, t *tokenizer.Tokenizer) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("data.corpus: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, largestText+1))
	if err != nil {
		return fmt.Errorf("data.corpus: %w", err)
	}
	if len(text) > largestText {
		return fmt.Errorf("data.corpus: %s is larger than %d bytes; cut it", path, largestText)
	}
	if t == nil {
		w.corpus = datasets.SynthVocabulary().Encode(string(text))
	} else {
		w.corpus = t.Encode(string(text), false)
	}
	if len(w.corpus) < 2 {
		return fmt.Errorf("data.corpus: %s has no text", path)
	}
	return nil
}

// text returns a text of exactly n tokens, or of the nearest number that the tokenizer can reach.
func (w *writer) text(r *rand.Rand, n int) string {
	if n <= 0 {
		return ""
	}
	if w.corpus == nil && w.additive && n > w.extra {
		return w.draw(r, n-w.extra)
	}
	text := w.draw(r, max(1, n-w.extra))
	if w.corpus != nil {
		text = w.cut(r, n)
	}
	return w.fit(r, text, n)
}

// cut returns about n tokens of the corpus, which starts again after its end.
func (w *writer) cut(r *rand.Rand, n int) string {
	start := r.IntN(len(w.corpus))
	ids := make([]int32, n)
	for i := range ids {
		ids[i] = w.corpus[(start+i)%len(w.corpus)]
	}
	return w.decode(ids)
}

// fit removes the end of a text, or appends words to it, until it has n tokens.
func (w *writer) fit(r *rand.Rand, text string, n int) string {
	for range mostTries {
		have := w.count(text)
		switch {
		case have == n:
			return text
		case have < n:
			text += w.draw(r, n-have)
			continue
		}
		// This removes at least as many characters as tokens; the next round appends the missing ones.
		cut := max(1, (have-n)*len(text)/have)
		end := max(0, len(text)-cut)
		for end > 0 && text[end]&0xC0 == 0x80 { // within a character
			end--
		}
		text = text[:end]
	}
	return text
}
