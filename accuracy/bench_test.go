package accuracy

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// sentencesOf returns a text that resembles a summary: sentences of a dozen words from a growing vocabulary.
func sentencesOf(r *rand.Rand, words int) string {
	var b strings.Builder
	for i := range words {
		fmt.Fprintf(&b, "%sing%d", []string{"work", "relat", "organiz", "hopp", "the", "of"}[r.IntN(6)],
			int(r.ExpFloat64()*300))
		if i%12 == 11 {
			b.WriteString(". The")
		}
		b.WriteByte(' ')
	}
	return b.String()
}

// BenchmarkRougeSample scores one pair of texts of 300 tokens. A set of 24576 pairs takes 24576 times as long, divided
// by the number of cores.
func BenchmarkRougeSample(b *testing.B) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var texts [64]string
	for i := range texts {
		texts[i] = sentencesOf(rnd, 300)
	}
	r, p := newRouge(true), plainPunkt()
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		r.Score(p.Joined(texts[i%64]), p.Joined(texts[(i+1)%64]))
		i++
	}
}

// BenchmarkScoreLog scores a log of 1024 answers of 300 tokens with the whole pipeline on all cores.
func BenchmarkScoreLog(b *testing.B) {
	const answers = 1024
	rnd := rand.New(rand.NewPCG(1, 2))
	var refs []Reference
	var list []answer
	var words wordList
	for i := range answers {
		refs = append(refs, Reference{Target: sentencesOf(rnd, 300)})
		var ids strings.Builder
		for range 300 {
			ids.WriteRune(rune(rnd.IntN(1 << 12)))
		}
		list = append(list, answer{i, ids.String()})
	}
	for range 1 << 12 {
		words.words = append(words.words, sentencesOf(rnd, 1))
	}
	in := Input{Benchmark: "llama2-70b-99", References: refs, Punkt: plainPunkt(), Decoder: words,
		Log: writeLog(b, true, list...)}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Score(context.Background(), in); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(24576/answers*b.Elapsed().Seconds()/float64(b.N), "s/24576-answers")
}
