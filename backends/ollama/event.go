package ollama

import "github.com/mlperf-go/mlperf-go/backends/internal/wire/reader"

// decoder reads the documents of an answer with encoding/json. An Ollama server sends so few tokens that it needs no
// walk without allocations.
type decoder struct{ keepText bool }

// Forget does nothing: no document depends on another.
func (d decoder) Forget() {}

// Decode reads one document. It ignores the ids under "context": they are those of prompt and answer together, for the
// next request.
func (d decoder) Decode(doc []byte, e *reader.Event) error {
	parts := []string{"response", "message", "done"}
	o := reader.ParseObject(doc, e, parts...)
	if o.Has(parts...) {
		e.Choices = 1
	}
	e.Model = o.Name("model")
	e.Prompt = o.Count("prompt_eval_count")
	e.Produced = o.Count("eval_count")
	o.Text("response", d.keepText, e)
	o.Aside("thinking", e)
	message := o.Object("message")
	message.Text("content", d.keepText, e)
	message.Aside("thinking", e)
	message.Calls(e)
	done, reason := o.Bool("done"), o.String("done_reason")
	if done && !e.IsError {
		if e.Finish, e.Last = reason, true; len(reason) == 0 {
			e.Finish = []byte("stop") // servers before 0.1.40 send no reason
		}
	}
	return o.Err()
}
