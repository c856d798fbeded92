package accuracy

import "strings"

// RougeScore is precision, recall and their harmonic mean, each from 0 to 1.
type RougeScore struct {
	P float64 `json:"p"`
	R float64 `json:"r"`
	F float64 `json:"f"`
}

// RougeScores are the four measures of one pair of texts.
type RougeScores struct {
	Rouge1    RougeScore `json:"rouge1"`
	Rouge2    RougeScore `json:"rouge2"`
	RougeL    RougeScore `json:"rougeL"`
	RougeLsum RougeScore `json:"rougeLsum"`
}

// maxStems bounds the table of known words of one Rouge. Beyond it the table starts anew.
const maxStems = 1 << 20

// Rouge scores pairs of texts. It keeps tables between pairs and serves one goroutine at a time.
type Rouge struct {
	stem     bool
	ids      map[string]int32 // token as it stands in the text, to the number of its stem
	stems    map[string]int32
	word     []byte
	ref      tokens
	pred     tokens
	unigrams counter
	bigrams  map[uint64]int32
	lcs      lcsTable
}

// tokens are a text's tokens as numbers, and where its sentences end.
type tokens struct {
	ids  []int32
	ends []int // of the sentences that are not empty strings
}

// NewRouge returns a scorer, with or without the Porter stemmer. All references use the stemmer.
func NewRouge(stem bool) *Rouge {
	return &Rouge{stem: stem, ids: map[string]int32{}, stems: map[string]int32{}, bigrams: map[uint64]int32{}}
}

// Score compares a prediction with its reference, both as given: sentences are separated by newlines
// (docs/reference/scoring-rules.md#rouge).
func (r *Rouge) Score(reference, prediction string) RougeScores {
	r.load(reference, prediction)
	ref, pred := r.ref.ids, r.pred.ids
	return RougeScores{
		Rouge1:    ngramScore(r.commonUnigrams(ref, pred), len(ref), len(pred)),
		Rouge2:    ngramScore(r.commonBigrams(ref, pred), len(ref)-1, len(pred)-1),
		RougeL:    r.longest(ref, pred),
		RougeLsum: r.summary(),
	}
}

// Refused tells whether the last pair had sentences too long for ROUGE-Lsum: its value is not to be used.
func (r *Rouge) Refused() bool { return r.lcs.refused }

// RougeL computes that measure alone.
func (r *Rouge) RougeL(reference, prediction string) RougeScore {
	r.load(reference, prediction)
	return r.longest(r.ref.ids, r.pred.ids)
}

func (r *Rouge) load(reference, prediction string) {
	if len(r.ids) > maxStems {
		clear(r.ids)
		clear(r.stems)
	}
	r.tokenize(reference, &r.ref)
	r.tokenize(prediction, &r.pred)
}

// RougeTokens are the tokens that ROUGE compares.
func RougeTokens(text string, stem bool) []string {
	var words []string
	eachWord(text, nil, func(w []byte) { words = append(words, stemmed(string(w), stem)) }, nil)
	return words
}

// shortWord is the longest word that is not stemmed.
const shortWord = 3

func stemmed(w string, stem bool) string {
	if stem && len(w) > shortWord {
		return Stem(w)
	}
	return w
}

func (r *Rouge) tokenize(text string, t *tokens) {
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

// eachWord calls word for each run of letters and digits of the lower-cased text, and sentence at the end of each line
// that is not empty. Two characters outside ASCII have a lower case inside it: the dotted capital I and the Kelvin
// sign.
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

func fScore(p, r float64) RougeScore {
	s := RougeScore{P: p, R: r}
	if p+r > 0 {
		s.F = 2 * p * r / (p + r)
	}
	return s
}

func ngramScore(common, ref, pred int) RougeScore {
	return fScore(float64(common)/float64(max(pred, 1)), float64(common)/float64(max(ref, 1)))
}

// counter counts small numbers and forgets them again in the time that counting took.
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

// commonUnigrams is the size of the multisets' intersection.
func (r *Rouge) commonUnigrams(ref, pred []int32) int {
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

func (r *Rouge) commonBigrams(ref, pred []int32) int {
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
