package llamacpp

import "github.com/mlperf-go/mlperf-go/backends/internal/wire/reader"

// decoder reads the documents of an answer with encoding/json. A llama.cpp server sends so few tokens that it needs no
// walk without allocations.
type decoder struct{ keepText bool }

// parts are the keys of an answer. A document without any of them is not one.
var parts = []string{"content", "tokens", "stop"}

// Forget does nothing: no document depends on another.
func (d decoder) Forget() {}

// Decode reads one document.
func (d decoder) Decode(doc []byte, e *reader.Event) error {
	o := reader.ParseObject(doc, e, parts...)
	d.answer(o, e)
	return o.Err()
}

// DecodeBatch reads one document with the answers to several prompts: an array in the order of the prompts, or, where a
// list of one prompt was sent, its answer alone.
func (d decoder) DecodeBatch(doc []byte, e *reader.Event, clear func(), add func(*reader.Event)) error {
	clear()
	if doc[0] != '{' {
		return reader.DecodeList(doc, e, parts, d.answer, add)
	}
	err := d.Decode(doc, e)
	if err == nil && !e.IsError && e.Choices == 1 {
		add(e)
		e.Reset()
	}
	return err
}

// answer reads one answer. All members are decoded, used or not: one of a wrong type is an error.
func (d decoder) answer(o reader.Object, e *reader.Event) {
	if o.Has(parts...) {
		e.Choices = 1
	}
	e.Model = o.Name("model")
	last := end{stop: o.Bool("stop"), limit: o.Bool("stopped_limit"), truncated: o.Bool("truncated")}
	e.Index = o.Whole("index", 0)
	e.Produced, e.Prompt = o.Count("tokens_predicted"), o.Count("tokens_evaluated")
	o.Text("content", d.keepText, e)
	o.IDs("tokens", e)
	e.HasIDs = len(e.IDs) > 0 // the list is there and empty where no ids were asked for, too
	last.kind = o.String("stop_type")
	timings := o.Object("timings")
	produced, read, cached := timings.Count("predicted_n"), timings.Count("prompt_n"), timings.Count("cache_n")
	if e.Produced < 0 {
		e.Produced = produced
	}
	e.Cached = timings.Cached("cache_n")
	if e.Prompt < 0 && read >= 0 { // the tokens that the server had in its cache are counted apart
		e.Prompt = read + max(cached, 0)
	}
	if last.stop && !e.IsError {
		e.Last = true
		e.Finish, e.Why = last.reason()
	}
}

// end is the part of a document that describes the end of its answer.
type end struct {
	stop      bool
	kind      []byte // stop_type; nil: absent
	limit     bool   // stopped_limit, of servers before December 2024
	truncated bool
}

// whyTruncated explains the finish reason reader.Truncated.
const whyTruncated = "prompt and answer did not fit into the context of the server's slot; start it with a larger " +
	"-c, " +
	"or with fewer slots (-np)"

// reason returns the finish reason by its name in OpenAI's interface, which records and reports use, and an
// explanation.
func (l *end) reason() (reason, why []byte) {
	switch kind := string(l.kind); {
	case l.truncated:
		return []byte(reader.Truncated), []byte(whyTruncated)
	case l.limit || kind == "limit":
		return []byte("length"), nil
	case l.kind == nil || kind == "eos" || kind == "word":
		return []byte("stop"), nil
	}
	return l.kind, nil
}
