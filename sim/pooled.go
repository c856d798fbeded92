package sim

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
)

// embeddingFields and rerankFields are the fields of vLLM's routes for embeddings and rankings
// (docs/reference/wire-protocols.md#embeddings-and-ranking).
var (
	embeddingFields = fields{
		"model":           func(q *wireRequest) any { return &q.Model },
		"encoding_format": func(q *wireRequest) any { return &q.Encoding },
	}
	rerankFields = fields{
		"model":     func(q *wireRequest) any { return &q.Model },
		"query":     func(q *wireRequest) any { return &q.Query },
		"documents": func(q *wireRequest) any { return &q.Documents },
		"top_n":     func(q *wireRequest) any { return &q.TopN },
	}
)

// onePass limits a request to the reading of its prompts: the engine's time for it is that of a first token.
func onePass(q *wireRequest) {
	one, always := 1, true
	q.MaxTokens, q.IgnoreEOS = &one, &always
}

// adoptEmbedding prepares a request for embeddings: each text is a prompt.
func adoptEmbedding(q *wireRequest) *apiError {
	if e := q.Encoding; e != nil && *e != "float" {
		return badRequest("encoding_format", "This server sends embeddings of encoding_format float only, not %s.", *e)
	}
	onePass(q)
	return nil
}

// adoptRerank prepares a ranking: each passage is a prompt behind the query, as a cross-encoder reads them.
func adoptRerank(q *wireRequest) *apiError {
	switch {
	case q.Query == nil:
		return malformed(&fieldError{"query", "this field is required"})
	case len(q.Documents) == 0:
		return malformed(&fieldError{"documents", "a list of passages is needed"})
	}
	for _, text := range q.Documents {
		q.Prompts = append(q.Prompts, wirePrompt{Text: *q.Query + "\n" + text})
	}
	onePass(q)
	return nil
}

// dimensions is the length of the simulator's embeddings.
const dimensions = 64

// pooled writes the whole answers of embeddings and rankings. Neither is ever streamed.
type pooled struct {
	openAI
	head      string // up to the results
	write     func(b []byte, r *reply, e *pooled) []byte
	documents []string
	results   int
}

func newEmbedding(s *Server, r *request, p *plan, created int64) encoder {
	return &pooled{openAI: pooledFaults(p), write: appendEmbeddings,
		head: fmt.Sprintf(`{"id":"embd-%s","object":"list","created":%d,"model":"%s","data":[`, appendEscaped(nil, r.id),
			created, s.named(r))}
}

func newRerank(s *Server, r *request, p *plan, _ int64) encoder {
	e := &pooled{openAI: pooledFaults(p), write: appendRanking, documents: r.documents, results: len(r.documents),
		head: fmt.Sprintf(`{"id":"rerank-%s","model":"%s","results":[`, appendEscaped(nil, r.id),
			s.named(r))}
	if r.topN > 0 {
		e.results = min(e.results, r.topN)
	}
	return e
}

// pooledFaults returns what a fault does to an answer.
func pooledFaults(p *plan) openAI {
	return openAI{noUsage: p.hideUsage, usageError: p.usageError, garble: p.garble}
}

// body returns the answer. Its usage counts the prompts only.
func (e *pooled) body(r *reply) []byte {
	b := append(e.write([]byte(e.head), r, e), ']')
	if !e.noUsage {
		n := r.counts()
		n.tokens = 0
		b = e.appendUsage(append(b, ','), n)
	}
	b = append(b, '}')
	if e.garble != nil {
		b = e.garble(b)
	}
	return b
}

// appendEmbeddings appends a vector for each prompt, which depends on the prompt alone.
func appendEmbeddings(b []byte, r *reply, _ *pooled) []byte {
	for i, q := range r.seqs {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(strconv.AppendInt(append(b, `{"index":`...), int64(i), 10), `,"object":"embedding","embedding":[`...)
		state := hashIDs(q.prompt)
		for k := range dimensions {
			if k > 0 {
				b = append(b, ',')
			}
			state = mix(state)
			b = strconv.AppendFloat(b, unit(state)*2-1, 'g', 6, 64)
		}
		b = append(b, "]}"...)
	}
	return b
}

// appendRanking appends the scores of the passages, the best one first.
func appendRanking(b []byte, r *reply, e *pooled) []byte {
	order := slices.Clone(r.seqs)
	score := func(q *sequence) float64 { return unit(hashIDs(q.prompt)) }
	slices.SortStableFunc(order, func(x, y *sequence) int { return cmp.Compare(score(y), score(x)) })
	for i, q := range order[:e.results] {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(append(b, `{"index":`...), int64(q.index), 10)
		b = append(appendEscaped(append(b, `,"document":{"text":"`...), e.documents[q.index]), `"}`...)
		b = append(strconv.AppendFloat(append(b, `,"relevance_score":`...), score(q), 'g', 6, 64), '}')
	}
	return b
}

// unit returns a number of [0, 1) with 53 random bits.
func unit(h uint64) float64 { return float64(h>>11) / (1 << 53) }
