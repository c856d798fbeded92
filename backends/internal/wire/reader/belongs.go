// HOT PATH: belongs runs once for each event that is read, and not compared with the event before. No allocation.

package reader

import (
	"bytes"
	"fmt"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/internal/foreign"
)

// belongs reports whether an event is one of the answer to the request that was sent, by the model that was asked; else
// the answer has failed. An error of the server may name neither.
func (a *Answer) belongs(e *Event) bool {
	if e.IsError {
		return true
	}
	a.nameless = a.nameless || (e.Choices > 0 && len(e.ID) == 0)
	if len(e.ID) > 0 && a.want.ID != nil {
		// servers put a prefix before it, and a number behind it in a batch
		if !bytes.HasSuffix(e.ID, a.want.ID) && !bytes.Contains(e.ID, a.want.ID) {
			a.nameless = true
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
	if a.want.Model != "" && string(e.Model) != a.want.Model {
		a.fail(backends.FailWrongModel, fmt.Sprintf("the answer is by the model %q, and earlier answers of this endpoint "+
			"were by %q", foreign.Line(string(e.Model), 200), a.want.Model))
		return false
	}
	return true
}

// maxModelName is the longest name of a model, in bytes, that is remembered.
const maxModelName = 1 << 10

// identified reports whether every event carried the request's id.
func (a *Answer) identified() bool { return a.named && !a.nameless }

// unidentified is the detail of an answer that lacks the request's id.
const unidentified = "the answer lacks the id of its request, which this server sent back before the test: whose " +
	"answer it is can not be told"
