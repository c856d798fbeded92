// HOT PATH: checkIdentity and checkNumber run once for each event that does not repeat the previous one. No allocation.

package reader

import (
	"bytes"
	"fmt"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/internal/foreign"
)

// checkIdentity reports whether an event belongs to the request and comes from the expected model, and fails the answer
// if not. Errors of the server need neither an id nor a model.
func (a *Answer) checkIdentity(e *Event) bool {
	if e.IsError {
		return true
	}
	a.lacksName = a.lacksName || (e.Choices > 0 && len(e.ID) == 0)
	if len(e.ID) > 0 && a.want.ID != nil {
		// servers add a prefix, and in a batch the number of the prompt
		if !bytes.HasSuffix(e.ID, a.want.ID) && !bytes.Contains(e.ID, a.want.ID) {
			a.lacksName = true
			if a.want.Must {
				a.fail(backends.FailWrongAnswer, fmt.Sprintf("the answer belongs to another request: its id is %q, and the "+
					"request had the id %q", foreign.Line(string(e.ID), 100), a.want.ID))
				return false
			}
		}
		a.named = true
	}
	if len(e.Model) == 0 {
		return true
	}
	if a.want.Learn && a.modelName == "" {
		a.modelName = foreign.Line(string(e.Model), maxModelName)
	}
	if a.want.Served != "" && a.want.Served != a.want.Asked && string(e.Model) == a.want.Served {
		a.fail(backends.FailWrongModel, fmt.Sprintf("the request named the model %q, and the answer is from %q: the server "+
			"ignores the name", foreign.Line(a.want.Asked, 200), foreign.Line(a.want.Served, 200)))
		return false
	}
	if a.want.Model != "" && string(e.Model) != a.want.Model {
		a.fail(backends.FailWrongModel, fmt.Sprintf("the answer is from the model %q, and earlier answers of this endpoint "+
			"were from %q", foreign.Line(string(e.Model), 200), a.want.Model))
		return false
	}
	return true
}

// checkNumber reports whether an event of a batch belongs to the prompt with its index, and fails the answer if not.
// SGLang puts "_" and the number of the prompt behind the request's id
// (docs/reference/wire-protocols.md#sglang-generate-route). Ids without a number identify nothing.
func (a *Answer) checkNumber(e *Event) bool {
	if len(e.ID) == 0 || len(a.want.ID) == 0 {
		return true
	}
	_, digits, ok := bytes.Cut(e.ID, a.want.ID)
	if !ok || len(digits) < 2 || len(digits) > 10 || digits[0] != '_' {
		return true
	}
	number := int64(0)
	for _, d := range digits[1:] {
		if d < '0' || d > '9' {
			return true
		}
		number = 10*number + int64(d-'0')
	}
	if number == e.Index {
		return true
	}
	a.lacksName = true
	if !a.want.Must {
		return true
	}
	a.fail(backends.FailWrongAnswer, fmt.Sprintf("the answers of a batch are swapped: the one with index %d has the id %q",
		e.Index, foreign.Line(string(e.ID), 100)))
	return false
}

// maxModelName is the length in bytes to which names of models are cut.
const maxModelName = 1 << 10

// identified reports whether every event carried the request's id.
func (a *Answer) identified() bool { return a.named && !a.lacksName }

// unidentified is the detail of an answer that lacks the request's id.
const unidentified = "the answer lacks the id of its request, which this server returned before the test: it cannot " +
	"be matched to its request"
