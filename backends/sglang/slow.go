package sglang

import (
	"encoding/json"

	"github.com/mlperf-go/mlperf-go/backends/internal/wire/reader"
)

// parts are the keys of an answer. A document without any of them is not one.
var parts = []string{"text", "output_ids", "meta_info"}

// decodeSlow reads a document with encoding/json. Its error is a *reader.ShapeError or encoding/json's own. A list,
// which is the answer to a batch, counts as its last element.
func (w *walker) decodeSlow(doc []byte, e *reader.Event) error {
	var list []json.RawMessage
	if len(doc) > 0 && doc[0] == '[' && json.Unmarshal(doc, &list) == nil && len(list) > 0 {
		doc = list[len(list)-1]
	}
	o := reader.ParseObject(doc, e, parts...)
	w.slowAnswer(o, e)
	e.Choices *= max(1, len(list))
	return o.Err()
}

func (w *walker) slowAnswer(o reader.Object, e *reader.Event) {
	e.MayRepeat = true
	if o.Has(parts...) {
		e.Choices = 1
	}
	e.Index = o.Whole("index", 0)
	o.Text("text", w.KeepText, e)
	o.IDs("output_ids", e)
	meta := o.Object("meta_info")
	e.ID = meta.Name("id")
	e.Prompt, e.Produced = meta.Count("prompt_tokens"), meta.Count("completion_tokens")
	e.Cached = meta.Cached("cached_tokens")
	if !meta.IsObject("finish_reason") { // null, or a word of old servers
		e.Finish = meta.String("finish_reason")
		return
	}
	reason := meta.Object("finish_reason")
	if e.Finish = reason.String("type"); e.Finish == nil {
		meta.Fail("a finish_reason has no type")
	}
	e.Why = reason.String("message")
}
