package accuracy

import "strings"

// rougeScore contains precision, recall and their harmonic mean, each from 0 to 1.
type rougeScore struct {
	P float64 `json:"p"`
	R float64 `json:"r"`
	F float64 `json:"f"`
}

// rougeScores contains the four ROUGE measures of one pair of texts.
type rougeScores struct {
	Rouge1    rougeScore `json:"rouge1"`
	Rouge2    rougeScore `json:"rouge2"`
	RougeL    rougeScore `json:"rougeL"`
	RougeLsum rougeScore `json:"rougeLsum"`
}

// maxStems is the maximum size of the table of known words; beyond it the table is cleared.
const maxStems = 1 << 20

// rougeScorer scores pairs of texts. It keeps tables between pairs and is not safe for concurrent use.
type rougeScorer struct {
	stem     bool
	ids      map[string]int32 // token to the number of its stem
	stems    map[string]int32
	word     []byte
	ref      tokens
	pred     tokens
	unigrams counter
	bigrams  map[uint64]int32
	lcs      lcsTable
}

// tokens are a text's tokens as numbers, and the ends of its sentences.
type tokens struct {
	ids  []int32
	ends []int // index after the last token of each non-empty sentence
}

// newRouge returns a scorer with or without the Porter stemmer. All references use the stemmer.
func newRouge(stem bool) *rougeScorer {
	return &rougeScorer{stem: stem, ids: map[string]int32{}, stems: map[string]int32{}, bigrams: map[uint64]int32{}}
}

// Score compares a prediction with its reference. Sentences are separated by newlines
// (docs/reference/scoring-rules.md#rouge).
func (r *rougeScorer) Score(reference, prediction string) rougeScores {
	r.load(reference, prediction)
	ref, pred := r.ref.ids, r.pred.ids
	return rougeScores{
		Rouge1:    ngramScore(r.commonUnigrams(ref, pred), len(ref), len(pred)),
		Rouge2:    ngramScore(r.commonBigrams(ref, pred), len(ref)-1, len(pred)-1),
		RougeL:    r.longest(ref, pred),
		RougeLsum: r.summary(),
	}
}

// Refused reports whether the last pair had sentences too long for ROUGE-Lsum. The value of ROUGE-Lsum is then invalid.
func (r *rougeScorer) Refused() bool { return r.lcs.refused }

// RougeL returns the ROUGE-L measure alone.
func (r *rougeScorer) RougeL(reference, prediction string) rougeScore {
	r.load(reference, prediction)
	return r.longest(r.ref.ids, r.pred.ids)
}

func (r *rougeScorer) load(reference, prediction string) {
	if len(r.ids) > maxStems {
		clear(r.ids)
		clear(r.stems)
	}
	r.tokenize(reference, &r.ref)
	r.tokenize(prediction, &r.pred)
}

// shortWord is the length of the longest words that are not stemmed.
const shortWord = 3

func stemmed(w string, stem bool) string {
	if stem && len(w) > shortWord {
		return porterStem(w)
	}
	return w
}

func (r *rougeScorer) tokenize(text string, t *tokens) {
	t.ids, t.ends = t.ids[:0], t.ends[:0]
	r.word = eachWord(text, r.word, func(w []byte) {
		id, known := r.ids[string(w)]
		if !known {
			s := stemmed(string(w), r.stem)
			if id, known = r.stems[s]; !known {
				id = int32(len(r.stems))
				r.stems[s] = id
			}
			r.ids[string(w)] = id
		}
		t.ids = append(t.ids, id)
	}, func() { t.ends = append(t.ends, len(t.ids)) })
}

// eachWord calls word for each run of letters and digits in the lower-cased text, and sentence at the end of each
// non-empty line. Two characters outside ASCII have an ASCII lower case: the dotted capital I and the Kelvin sign.
func eachWord(text string, buf []byte, word func([]byte), sentence func()) []byte {
	w, start := buf[:0], 0
	flush := func() {
		if len(w) > 0 {
			word(w)
			w = w[:0]
		}
	}
	line := func(end int) {
		flush()
		if sentence != nil && end > start {
			sentence()
		}
		start = end + 1
	}
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'):
			w = append(w, c)
		case c >= 'A' && c <= 'Z':
			w = append(w, c+'a'-'A')
		case c == '\n':
			line(i)
		case strings.HasPrefix(text[i:], "İ"):
			w = append(w, 'i')
			flush()
			i += len("İ") - 1
		case strings.HasPrefix(text[i:], "\u212a"):
			w = append(w, 'k')
			i += len("\u212a") - 1
		default:
			flush()
		}
	}
	line(len(text))
	return w
}

func fScore(p, r float64) rougeScore {
	s := rougeScore{P: p, R: r}
	if p+r > 0 {
		s.F = 2 * p * r / (p + r)
	}
	return s
}

func ngramScore(common, ref, pred int) rougeScore {
	return fScore(float64(common)/float64(max(pred, 1)), float64(common)/float64(max(ref, 1)))
}

// counter counts how often small numbers occur. A reset costs no more time than the counting did.
type counter []int32

func (c *counter) add(ids []int32) {
	for _, id := range ids {
		if int(id) >= len(*c) {
			*c = append(*c, make([]int32, int(id)+1024-len(*c))...)
		}
		(*c)[id]++
	}
}

func (c counter) reset(ids []int32) {
	for _, id := range ids {
		c[id] = 0
	}
}

// commonUnigrams returns the size of the multisets' intersection.
func (r *rougeScorer) commonUnigrams(ref, pred []int32) int {
	r.unigrams.add(ref)
	common := 0
	for _, id := range pred {
		if int(id) < len(r.unigrams) && r.unigrams[id] > 0 {
			r.unigrams[id]--
			common++
		}
	}
	r.unigrams.reset(ref)
	return common
}

func (r *rougeScorer) commonBigrams(ref, pred []int32) int {
	clear(r.bigrams)
	for i := 1; i < len(ref); i++ {
		r.bigrams[bigram(ref, i)]++
	}
	common := 0
	for i := 1; i < len(pred); i++ {
		if n := r.bigrams[bigram(pred, i)]; n > 0 {
			r.bigrams[bigram(pred, i)] = n - 1
			common++
		}
	}
	return common
}

func bigram(ids []int32, i int) uint64 { return uint64(uint32(ids[i-1]))<<32 | uint64(uint32(ids[i])) }
