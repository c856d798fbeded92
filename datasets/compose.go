package datasets

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf-go/datasets/internal/jsontext"
)

// compose creates the prompt of a record from its raw fields: a system and a user message with an image, or the
// messages of the user's template. It runs after the columns were extracted.
func (d *decoder) compose(record []byte, s *Sample, has *presence) *fault {
	image := d.value(record, roleImage)
	template := d.o.Template
	if template == nil && (image == nil || has.messages) {
		return nil
	}
	if template != nil && image == nil && template.messages[0].role == "" {
		var f *fault
		if d.body, f = template.messages[0].appendText(d.body[:0], d.field(record)); f != nil {
			return f
		}
		*s, *has = Sample{ID: s.ID, Input: string(d.body)}, presence{text: true, id: has.id, mark: has.mark}
		return nil
	}
	d.body = append(d.body[:0], '[')
	messages, f := d.rolesOf(record)
	if f != nil {
		return f
	}
	for i, m := range messages {
		if i > 0 {
			d.body = append(d.body, ',')
		}
		d.body = append(append(d.body, `{"role":"`...), m.role...)
		d.body = append(d.body, `","content":`...)
		if m.role != "user" || image == nil || slices.ContainsFunc(messages[i+1:],
			func(m roleText) bool { return m.role == "user" }) {
			d.body = append(jsontext.AppendQuoted(d.body, m.text), '}')
			continue
		}
		d.body = append(jsontext.AppendQuoted(append(d.body, `[{"type":"text","text":`...), m.text), "},"...)
		if d.body, s.ImageBytes, f = d.appendImage(d.body, image); f != nil {
			f.field = d.fieldOf(roleImage)
			return f
		}
		d.body = append(d.body, "]}"...)
	}
	d.body = append(d.body, ']')
	s.InputIDs, s.InputLen, s.Input = nil, 0, ""
	s.Messages = d.body // the reader copies them if the record is good
	*has = presence{messages: true, id: has.id, mark: has.mark}
	return nil
}

// roleText is one message before it is encoded as JSON.
type roleText struct {
	role string
	text []byte
}

// rolesOf returns the texts of the messages. They come from the template, or else from the system message and the parts
// of the user's text, which it separates by blank lines.
func (d *decoder) rolesOf(record []byte) ([]roleText, *fault) {
	var messages []roleText
	if t := d.o.Template; t != nil && t.messages[0].role != "" {
		for _, m := range t.messages {
			text, f := m.appendText(nil, d.field(record))
			if f != nil {
				return nil, f
			}
			messages = append(messages, roleText{m.role, text})
		}
		return messages, nil
	}
	if system := d.value(record, roleSystem); system != nil {
		text, f := d.text(system)
		if f != nil {
			return nil, f
		}
		messages = append(messages, roleText{"system", []byte(text)})
	}
	user := roleText{role: "user"}
	if t := d.o.Template; t != nil {
		var f *fault
		if user.text, f = t.messages[0].appendText(nil, d.field(record)); f != nil {
			return nil, f
		}
		return append(messages, user), nil
	}
	for i, c := range d.plan.columns {
		if at := d.spans[i]; c.Role == rolePart && at.end > 0 {
			text, f := d.text(record[at.start:at.end])
			if f != nil {
				f.field = c.Name
				return nil, f
			}
			if len(user.text) > 0 {
				user.text = append(user.text, "\n\n"...)
			}
			user.text = append(user.text, text...)
		}
	}
	return append(messages, user), nil
}

// value returns the JSON text of the column with a role, or nil.
func (d *decoder) value(record []byte, role string) []byte {
	for i, c := range d.plan.columns {
		if at := d.spans[i]; c.Role == role && at.end > 0 {
			return record[at.start:at.end]
		}
	}
	return nil
}

// field returns a function that finds a field of the record for a template.
func (d *decoder) field(record []byte) func(name string) []byte {
	return func(name string) []byte {
		ref, known := d.plan.byName[name]
		if !known || d.spans[ref.column].end == 0 {
			return nil
		}
		at := d.spans[ref.column]
		return record[at.start:at.end]
	}
}

// wrapped inserts a prompt's text into the template of its record. A template is a text with {input} in it, or an
// object with one such text per model family, of which wrapped uses the first.
func (d *decoder) wrapped(record []byte, text string) (string, *fault) {
	value := d.value(record, roleTemplate)
	if value == nil {
		return text, nil
	}
	if value[0] == '{' {
		value = firstText(value)
	}
	if value == nil || value[0] != '"' {
		return text, nil
	}
	template, f := d.text(value)
	if f != nil || !strings.Contains(template, inputPlace) {
		return text, f
	}
	return prompt(template, text), nil
}

// firstText returns the first member of an object that is a text with {input} in it.
func firstText(object []byte) []byte {
	var found []byte
	s := scanner{b: object}
	s.object(func([]byte, int) *fault {
		start := s.pos
		f := s.value()
		if v := object[start:s.pos]; f == nil && found == nil && v[0] == '"' && bytes.Contains(v, []byte(inputPlace)) {
			found = v
		}
		return f
	})
	return found
}

// keepMessages copies messages to the store, or to the heap if there is no store.
func (r *reader) keepMessages(messages []byte) (json.RawMessage, func(), error) {
	switch {
	case len(messages) == 0:
		return nil, nil, nil
	case r.o.SizesOnly:
		return sizesOnly, nil, nil
	case r.o.Store == nil:
		return bytes.Clone(messages), nil, nil
	}
	r.stored = true
	return r.o.Store.Keep(messages)
}

// sizesOnly replaces messages that will not be sent.
var sizesOnly = json.RawMessage("[]")
