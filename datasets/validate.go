package datasets

import (
	"encoding/json"
	"fmt"
)

// maxSamples bounds the number of records of a data set.
const maxSamples = 4 << 20

// presence reports which fields a record has, including those that are not kept.
type presence struct{ ids, text, messages, id, mark bool }

// validator checks samples one by one, from a file or from memory.
type validator struct {
	o      Options
	prompt string // names of the columns that can contain the prompt
	fields presenceNames
	first  presence
	seen   map[string]int // number of the record with each id
	n      int
}

// presenceNames contains the fields' names for error messages.
type presenceNames struct{ ids, text, messages, id string }

func newValidator(o Options, prompt string, fields presenceNames) *validator {
	return &validator{o: o, prompt: prompt, fields: fields, seen: map[string]int{}}
}

// check checks the next sample.
func (v *validator) check(s *Sample, has presence) *fault {
	v.n++
	if v.n > maxSamples {
		return &fault{found: "too many records", expected: fmt.Sprintf("at most %d", maxSamples),
			try: "read the first records only, or split the file"}
	}
	if !has.ids && !has.text && !has.messages {
		return &fault{found: "no prompt", expected: "one of the fields " + v.prompt,
			try: "add the prompt, or name its column"}
	}
	if has.ids {
		if f := v.checkIDs(s.InputIDs); f != nil {
			f.field = v.fields.ids
			return f
		}
	}
	if f := v.checkSame(has); f != nil {
		return f
	}
	if has.id {
		if before, twice := v.seen[s.ID]; twice {
			return &fault{field: v.fields.id, found: fmt.Sprintf("the id %s of record %d again", shown([]byte(s.ID)),
				before),
				expected: "unique ids", try: "remove the duplicate"}
		}
		v.seen[s.ID] = v.n
	}
	return nil
}

func (v *validator) checkIDs(ids []int32) *fault {
	if len(ids) == 0 {
		return &fault{found: "no token ids", expected: "at least one",
			try: "remove the record or add a prompt"}
	}
	if v.o.MaxInputTokens > 0 && len(ids) > v.o.MaxInputTokens {
		return &fault{found: fmt.Sprintf("%d token ids", len(ids)), expected: fmt.Sprintf("at most %d", v.o.MaxInputTokens),
			try: "check that the file belongs to this benchmark; prompts must not be truncated"}
	}
	for i, id := range ids {
		if id < 0 {
			return &fault{found: fmt.Sprintf("the negative id %d at position %d", id, i), expected: "ids from 0 on",
				try: "write token ids as plain integers"}
		}
		if v.o.Vocabulary > 0 && int(id) >= v.o.Vocabulary {
			return &fault{found: fmt.Sprintf("the id %d at position %d", id, i),
				expected: fmt.Sprintf("ids below the vocabulary's size %d", v.o.Vocabulary),
				try:      "check that the file was made with this model's tokenizer"}
		}
	}
	return nil
}

// checkSame requires every record to have the same fields as the first one. If only some prompts had ids, the samples
// of one test would be sent in two ways.
func (v *validator) checkSame(has presence) *fault {
	if v.n == 1 {
		v.first = has
		return nil
	}
	for _, p := range []struct {
		name      string
		here, one bool
	}{{v.fields.ids, has.ids, v.first.ids}, {v.fields.text, has.text, v.first.text},
		{v.fields.messages, has.messages, v.first.messages}, {v.fields.id, has.id, v.first.id}} {
		if p.here == p.one {
			continue
		}
		if p.one {
			return &fault{field: p.name, found: "no such field", expected: "one, because record 1 has it",
				try: "use the field in every record or in none"}
		}
		return &fault{field: p.name, found: "the field", expected: "no such field, because record 1 has none",
			try: "use the field in every record or in none"}
	}
	return nil
}

// New returns a data set of samples made in memory after the same checks as Open. It keeps the slice and sets Index to
// the position, and InputLen to the number of ids if there are any. It applies Options.Limit and ignores the columns.
func New(samples []Sample, o Options) (*Dataset, error) {
	if o.Limit > 0 && o.Limit < len(samples) {
		samples = samples[:o.Limit]
	}
	names := presenceNames{ids: "InputIDs", text: "Input", messages: "Messages", id: "ID"}
	v := newValidator(o, "InputIDs, Input, Messages", names)
	for i := range samples {
		s := &samples[i]
		has := presence{ids: s.InputIDs != nil, text: s.Input != "", messages: s.Messages != nil, id: s.ID != ""}
		f := v.check(s, has)
		if f == nil && has.messages && !isArray(s.Messages) {
			f = &fault{field: names.messages, found: shown(s.Messages), expected: "a JSON array of chat messages",
				try: "encode the messages as JSON"}
		}
		if f != nil {
			return nil, &Error{Record: i + 1, Field: f.field, Found: f.found, Expected: f.expected, Try: f.try}
		}
		s.Index = i
		if has.ids {
			s.InputLen = len(s.InputIDs)
		}
	}
	if len(samples) == 0 {
		return nil, &Error{Found: "0 samples", Expected: "at least one", Try: "pass at least one sample"}
	}
	return &Dataset{Schema: o.Schema, Samples: samples}, nil
}

func isArray(m json.RawMessage) bool { return len(m) > 0 && m[0] == '[' && json.Valid(m) }
