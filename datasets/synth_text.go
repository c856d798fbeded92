package datasets

import "strings"

// generator generates one record with splitmix64, so that no change in a library changes the set of a seed.
type generator struct {
	state   uint64
	bos     int32 // first token id of every prompt
	longest int   // maximum length of a prompt in tokens
	least   int   // minimum length of a reference output in tokens: the benchmark's minimum answer length
	topic   [topicWords]int
}

const (
	topicWords  = 48  // number of words in one article's topic
	commonWords = 200 // number of words common to all articles
)

func (g *generator) next() uint64 {
	g.state += 0x9e3779b97f4a7c15
	z := g.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// between returns a number from low to high, inclusive.
func (g *generator) between(low, high int) int { return low + int(g.next()%uint64(high-low+1)) }

func (g *generator) record(template string) SynthRecord {
	for i := range g.topic {
		g.topic[i] = g.between(commonWords, SynthWords-1)
	}
	v := SynthVocabulary()
	frame := 1 + len(v.Encode(prompt(template, ""))) // number of tokens of the beginning-of-text id and the template
	sentences := g.article(max(g.promptLength()-frame, 16))
	r := SynthRecord{Template: template, Input: layout(sentences), Output: g.summary(sentences)}
	r.Fields = map[string]string{}
	text := prompt(template, r.Input)
	r.InputIDs = v.AppendIDs(append(make([]int32, 0, len(text)/5), g.bos), text)
	return r
}

func (g *generator) promptLength() int {
	i := g.between(0, len(promptQuantiles)-2)
	return min(g.between(promptQuantiles[i], promptQuantiles[i+1]), g.longest)
}

// article returns sentences with at most tokens tokens in total. Each word and each full stop is one token.
func (g *generator) article(tokens int) [][]int {
	var sentences [][]int
	for tokens > 4 {
		s := make([]int, min(g.between(12, 22), tokens-1))
		for i := range s {
			s[i] = g.word()
		}
		tokens -= len(s) + 1
		sentences = append(sentences, s)
	}
	return sentences
}

// word returns a common word or a word of the topic with equal probability; low numbers are more frequent.
func (g *generator) word() int {
	if g.next()&1 == 0 {
		return g.between(0, g.between(0, commonWords-1))
	}
	return g.topic[g.between(0, g.between(0, topicWords-1))]
}

// summary returns lines that each repeat most words of a sentence of the article, 20 to 100 words in total. Every word
// is one token, so there are at least as many tokens as words.
func (g *generator) summary(article [][]int) string {
	var lines []string
	tokens, want := 0, max(g.between(20, 96), g.least)
	for words := 0; words < want; {
		source := article[g.between(0, len(article)-1)]
		keep := min(g.between(10, 16), max(want-words, 5))
		var line []int
		for i := range keep {
			// Keeping the order of the sentence and dropping few words keeps common subsequences long.
			if at := i + i/5; at < len(source) {
				line = append(line, source[at])
			} else {
				line = append(line, g.word())
			}
		}
		words += len(line)
		if tokens += len(line) + 2; tokens > synthLongestOutput { // a full stop and a line break
			break
		}
		lines = append(lines, sentence(line))
	}
	return strings.Join(lines, "\n")
}

// layout joins sentences to a text.
func layout(sentences [][]int) string {
	texts := make([]string, len(sentences))
	for i, s := range sentences {
		texts[i] = sentence(s)
	}
	return strings.Join(texts, " ")
}

func sentence(words []int) string { return joinWords(words) + "." }

func joinWords(words []int) string {
	texts := make([]string, len(words))
	for i, k := range words {
		texts[i] = word(k)
	}
	return strings.Join(texts, " ")
}
