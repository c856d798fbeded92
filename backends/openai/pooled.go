package openai

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/wire"
	"github.com/mlperf-go/mlperf-go/backends/internal/wire/encode"
	"github.com/mlperf-go/mlperf-go/backends/internal/wire/reader"
	"github.com/mlperf-go/mlperf-go/datasets"
)

// The APIs whose answers are numbers and no tokens (docs/reference/wire-protocols.md#embeddings-and-ranking).
const (
	embeddings = "embeddings"
	rerank     = "rerank"
)

// IsPooled reports whether the answers of an API have no output tokens.
func IsPooled(api string) bool { return api == embeddings || api == rerank }

// appendPooled writes the body of a request for an embedding or a ranking.
func appendPooled(dst []byte, s *datasets.Sample, c *backends.Config) ([]byte, error) {
	dst = append(dst, '{')
	if c.ServedModel != "" {
		dst = append(encode.Text(append(dst, `"model":`...), c.ServedModel), ',')
	}
	if c.API == rerank {
		return appendRerank(dst, s)
	}
	dst = append(dst, `"input":`...)
	switch {
	case len(s.InputIDs) > 0:
		var err error
		if dst, err = encode.Prompt(dst, s, c.Vocabulary); err != nil {
			return dst, err
		}
	case s.Input != "":
		dst = encode.Input(dst, s)
	default:
		return dst, fmt.Errorf("sample %d has neither prompt ids nor text: an embedding needs one of them", s.Index)
	}
	return append(dst, `,"encoding_format":"float"}`...), nil
}

func appendRerank(dst []byte, s *datasets.Sample) ([]byte, error) {
	if s.Input == "" || len(s.Documents) == 0 {
		return dst, fmt.Errorf("sample %d lacks a query or passages: a rerank request needs both as text", s.Index)
	}
	dst = append(encode.Input(append(dst, `"query":`...), s), `,"documents":[`...)
	for i, text := range s.Documents {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = encode.Text(dst, text)
	}
	return append(dst, "]}"...), nil
}

var finished = []byte("stop")

// pooled reads the whole answer of an embedding or a ranking.
type pooled struct {
	part  string // member that contains the results
	count int    // of results; 0: any
}

// newPooled returns a reader of answers without tokens.
func newPooled(c *backends.Config) wire.Answer {
	own := *c
	own.Stream, own.NeedIDs, own.KeepText, own.CountText = false, false, false, nil
	p := pooled{part: "data", count: 1}
	if c.API == rerank {
		p = pooled{part: "results", count: c.Passages}
	}
	return reader.New(&own, reader.Options{Decoder: p, NoTokens: true, Terms: reader.Terms{Parts: p.part}})
}

func (pooled) Forget() {}

// Decode reads one answer. It has an unexpected form if it does not contain exactly one result, with a vector or a
// score, for each text of the request.
func (p pooled) Decode(doc []byte, e *reader.Event) error {
	o := reader.ParseObject(doc, e, p.part)
	e.ID, e.Model = o.Name("id"), o.Name("model")
	usage := o.Object("usage")
	if e.Prompt = usage.Count("prompt_tokens"); e.Prompt < 0 {
		e.Prompt = usage.Count("total_tokens") // all of them are input
	}
	results := o.Objects(p.part)
	if len(results) == 0 || o.Err() != nil {
		return o.Err()
	}
	if p.count > 0 && len(results) != p.count {
		return &reader.ShapeError{Text: fmt.Sprintf("%s has %d entries, and the request has %d texts", p.part, len(results),
			p.count)}
	}
	for i, one := range results {
		if !p.isResult(one) {
			return &reader.ShapeError{Text: fmt.Sprintf("entry %d of %s has no %s", i, p.part, p.value())}
		}
	}
	if err := p.checkIndexes(results); err != nil {
		return err
	}
	e.Choices, e.Finish = 1, finished // they are one answer
	return o.Err()
}

// checkIndexes requires one result for each text, in any order. The only result of an answer needs no index.
func (p pooled) checkIndexes(results []reader.Object) error {
	if p.count == 0 {
		return nil
	}
	absent := int64(-1)
	if p.count == 1 {
		absent = 0
	}
	seen := make([]bool, p.count)
	for i, one := range results {
		index := one.Whole("index", absent)
		if index < 0 || index >= int64(p.count) || seen[index] {
			return &reader.ShapeError{Text: fmt.Sprintf("entry %d of %s has the index %d: each of the request's %d texts "+
				"needs one entry", i, p.part, index, p.count)}
		}
		seen[index] = true
	}
	return nil
}

func (p pooled) value() string {
	if p.part == "data" {
		return "embedding"
	}
	return "relevance_score"
}

// isResult reports whether an entry has its vector, as numbers, or its score.
func (p pooled) isResult(o reader.Object) bool {
	raw := o.Raw(p.value())
	if p.part == "data" {
		var vector []float64 // encoding/json would read null as 0
		return json.Unmarshal(raw, &vector) == nil && len(vector) > 0 && !bytes.Contains(raw, []byte("null"))
	}
	var score *float64
	return json.Unmarshal(raw, &score) == nil && score != nil
}
