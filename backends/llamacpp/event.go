// HOT PATH: the walk runs once an event. No allocation.

package llamacpp

import (
	"encoding/json"

	"github.com/mlperf-go/mlperf-go/backends/internal/wire/reader"
)

// walker reads documents of one answer. It goes over the JSON once, key by key, respects strings, and gives up (false)
// wherever it is not sure: then decodeSlow reads the document again.
type walker struct {
	reader.Scanner
	end end
}

// end is what a document says of the end of its answer.
type end struct {
	stop      bool
	kind      []byte // stop_type; nil: not there
	limit     bool   // stopped_limit, of servers before December 2024
	truncated bool
	timed     int64 // timings.predicted_n; -1: not there
	read      int64 // timings.prompt_n and cache_n; -1: not there
}

const (
	keyContent reader.Keys = 1 << iota
	keyTokens
	keyStop
	keyIndex
	keyKind
	keyLimit
	keyTruncated
	keyPredicted
	keyEvaluated
	keyTimings
	keyError
	keyObject
	keyCached
	keyErrors
	keyModel
)

// Forget drops nothing: each document is read by itself.
func (w *walker) Forget() {}

// Decode reads one document.
func (w *walker) Decode(doc []byte, e *reader.Event) error {
	if w.walk(doc, e) {
		return nil
	}
	return decodeSlow(doc, w.KeepText, e)
}

// DecodeBatch reads one document with the answers to several prompts: an array in the order of the prompts, or, where a
// list of one prompt was sent, its answer alone.
func (w *walker) DecodeBatch(doc []byte, e *reader.Event, clear func(), add func(*reader.Event)) error {
	l := list(w)
	clear()
	if doc[0] == '{' {
		err := w.Decode(doc, e)
		if err == nil && !e.IsError && e.Choices == 1 {
			add(e)
			e.Reset()
		}
		return err
	}
	if l.Walk(&w.Scanner, doc, e, add) {
		return nil
	}
	clear()
	return l.Decode(doc, e, func(doc []byte, e *reader.Event) error { return decodeSlow(doc, w.KeepText, e) }, add)
}

func list(w *walker) reader.List {
	return reader.List{
		Begin:   func(*reader.Event) {},
		Members: w.members,
		Slow:    func(top map[string]json.RawMessage, e *reader.Event) error { return slowAnswer(top, w.KeepText, e) },
	}
}

// walk reads one document into e; false: not sure.
func (w *walker) walk(doc []byte, e *reader.Event) bool {
	e.Reset()
	w.Start(doc)
	w.Blank()
	return w.Open('{') && w.members(e) && w.AtEnd()
}

// members reads the document. What has none of an answer's parts is none.
func (w *walker) members(e *reader.Event) bool {
	w.end = end{timed: -1, read: -1}
	d := &w.end
	var seen reader.Keys
	first := true
	for {
		key, more, ok := w.Member(&first)
		if !ok || !more {
			if seen&(keyContent|keyTokens|keyStop) != 0 {
				e.Choices = 1
			}
			d.judge(e)
			return ok && (e.Choices > 0 || e.IsError) // else encoding/json decides what the document is
		}
		var k reader.Keys
		switch string(key) {
		case "content":
			k, ok = keyContent, w.Text(e, true)
		case "tokens":
			k, ok = keyTokens, w.IDs(e)
		case "stop":
			k, ok = keyStop, w.Bool(&d.stop)
		case "index":
			k, ok = keyIndex, w.Integer(&e.Index, 0)
		case "tokens_predicted":
			k, ok = keyPredicted, w.Count(&e.Produced)
		case "tokens_evaluated":
			k, ok = keyEvaluated, w.Count(&e.Prompt)
		case "stop_type":
			k, ok = keyKind, w.Word(&d.kind)
		case "stopped_limit":
			k, ok = keyLimit, w.Bool(&d.limit)
		case "truncated":
			k, ok = keyTruncated, w.Bool(&d.truncated)
		case "timings":
			k, ok = keyTimings, w.timings(d)
		case "model":
			k, ok = keyModel, w.Name(&e.Model)
		case "error":
			k, ok = keyError, w.Error(e)
		case "errors":
			k, ok = keyErrors, w.Errors(e)
		case "object":
			k, ok = keyObject, w.Object(e)
		default:
			ok = w.Skip(0)
		}
		if !ok || seen&k != 0 {
			return false
		}
		seen |= k
	}
}

// timings reads how many tokens the server timed: of the prompt, some of which it may have had in its cache, and of the
// answer.
func (w *walker) timings(d *end) bool {
	if w.Null() {
		return true
	}
	if !w.Open('{') {
		return false
	}
	var seen reader.Keys
	first, prompt, cached := true, int64(-1), int64(0)
	for {
		key, more, ok := w.Member(&first)
		if !ok || !more {
			if prompt >= 0 {
				d.read = prompt + max(cached, 0)
			}
			return ok
		}
		var k reader.Keys
		switch string(key) {
		case "predicted_n":
			k, ok = keyPredicted, w.Count(&d.timed)
		case "prompt_n":
			k, ok = keyEvaluated, w.Count(&prompt)
		case "cache_n":
			k, ok = keyCached, w.Count(&cached)
		default:
			ok = w.Skip(0)
		}
		if !ok || seen&k != 0 {
			return false
		}
		seen |= k
	}
}

// The finish reasons of OpenAI's interface, which records and reports use.
var (
	finishStop      = []byte("stop")
	finishLength    = []byte("length")
	finishTruncated = []byte(reader.Truncated)
	whyTruncated    = []byte("prompt and answer did not fit into the context of the server's slot; start it with a " +
		"larger -c, or with fewer slots (-np)")
)

// judge puts what the end says into e. A list of ids that is empty says nothing: it is there where no ids were asked
// for, too.
func (d *end) judge(e *reader.Event) {
	e.HasIDs = len(e.IDs) > 0
	if e.Produced < 0 {
		e.Produced = d.timed
	}
	if e.Prompt < 0 {
		e.Prompt = d.read
	}
	if !d.stop || e.IsError {
		return
	}
	e.Last = true
	switch {
	case d.truncated:
		e.Finish, e.Why = finishTruncated, whyTruncated
	case d.limit || string(d.kind) == "limit":
		e.Finish = finishLength
	case d.kind == nil || string(d.kind) == "eos" || string(d.kind) == "word":
		e.Finish = finishStop
	default:
		e.Finish = d.kind
	}
}
