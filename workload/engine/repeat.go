package engine

import (
	"bytes"

	"github.com/mlperf-go/mlperf-go/workload/prompts"
)

// content is all that the body of a simple request depends on.
type content struct {
	text, system, model, members string
	output                       int
}

// contentOf returns the content of a request without a history, ids, messages, functions and documents. Other requests
// hardly ever repeat each other.
func contentOf(r *prompts.Request, h *History) (c content, isSimple bool) {
	if h != nil || r.Text == "" || len(r.IDs)+len(r.Messages)+len(r.Tools)+len(r.Documents) > 0 {
		return content{}, false
	}
	return content{r.Text, r.System, r.Model, r.Members, r.Output}, true
}

// repeat keeps the body of equal requests that follow each other, as those of a fixed text do. They share it: neither
// the encoding nor the memory of a body each is needed (docs/reference/measurements.md#a-workload-and-a-run).
type repeat struct {
	last content
	row  int    // requests since then that were equal
	body []byte // of last, never changed; nil: too few were equal
}

// shareAfter is how many requests in a row must be equal before others share their body, so that two that alternate by
// chance do not cost a copy each.
const shareAfter = 8

// known returns the body of a request that others have had; nil: it is to be encoded, and passed to learn.
func (p *repeat) known(r *prompts.Request, h *History) []byte {
	c, isSimple := contentOf(r, h)
	if isSimple && c == p.last {
		p.row++
		return p.body
	}
	*p = repeat{last: c}
	return nil
}

// learn copies the body of the last request, if it is worth it.
func (p *repeat) learn(body []byte) {
	if p.row >= shareAfter {
		p.body = bytes.Clone(body)
	}
}
