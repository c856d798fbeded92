package datasets

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/mlperf-go/mlperf-go/internal/config"
	"github.com/mlperf-go/mlperf-go/internal/foreign"
)

// idChunk is the number of ids per allocation, so that the ids of thousands of prompts share a few large blocks.
const idChunk = 1 << 20

// decoder converts the JSON text of records to samples.
type decoder struct {
	plan    *plan
	o       Options
	spans   []span       // positions of the current record's values, by column of the plan
	scratch []byte       // buffer for unquoted text
	ids     []int32      // prompt ids of the current record
	others  []int32      // token ids of columns that are checked but not kept
	arena   arena[int32] // memory of the kept token ids
	body    []byte       // messages of the current record
}

// span is the position of a column's value in the record.
type span struct {
	start, end int // byte offsets in the record; end 0: the column is absent
	rank       int
}

func newDecoder(p *plan, o Options) *decoder {
	return &decoder{plan: p, o: o, spans: make([]span, len(p.columns)), arena: arena[int32]{block: idChunk}}
}

// decode checks a record against the schema and returns the kept values, and which fields it has.
func (d *decoder) decode(record []byte) (Sample, presence, *fault) {
	if !utf8.Valid(record) {
		return Sample{}, presence{}, &fault{offset: invalidUTF8(record), found: "bytes that are not UTF-8",
			expected: "UTF-8 text", try: "write the file again in UTF-8"}
	}
	if f := d.locate(record); f != nil {
		return Sample{}, presence{}, f
	}
	for i := range d.plan.columns {
		if f := d.checkType(record, i); f != nil {
			return Sample{}, presence{}, f
		}
	}
	return d.sample(record)
}

// locate records the position of each column's value.
func (d *decoder) locate(record []byte) *fault {
	clear(d.spans)
	s := scanner{b: record}
	f := s.object(func(raw []byte, at int) *fault {
		start := s.pos
		if f := s.value(); f != nil {
			return f
		}
		key := raw
		if bytes.IndexByte(raw, '\\') >= 0 {
			key, _ = unquote(nil, raw)
		}
		ref, known := d.plan.byName[string(key)]
		if !known || (d.spans[ref.column].end > 0 && d.spans[ref.column].rank < ref.rank) {
			return nil
		}
		if old := d.spans[ref.column]; old.end > 0 && old.rank == ref.rank {
			return &fault{offset: at, field: string(key), found: "a duplicate field", expected: "each field once",
				try: "remove one of them"}
		}
		d.spans[ref.column] = span{start, s.pos, ref.rank}
		return nil
	})
	if f != nil {
		return f
	}
	if s.space(); s.pos < len(record) {
		return s.fail("nothing after the record")
	}
	return nil
}

// checkType checks that column i is present and has an accepted kind. An optional null counts as absent.
func (d *decoder) checkType(record []byte, i int) *fault {
	c, at := &d.plan.columns[i], &d.spans[i]
	if at.end == 0 {
		if c.Required {
			return d.missing(record, c)
		}
		return nil
	}
	value := record[at.start:at.end]
	if value[0] == 'n' && !c.Required {
		*at = span{}
		return nil
	}
	if c.kinds&kindsOf(value) == 0 {
		return &fault{offset: at.start, field: c.Name, found: kindName(value[0]) + ", " + shown(value), expected: c.expected,
			try: "correct the field, or name another column for it"}
	}
	return nil
}

// kindsOf returns the kinds that a valid JSON value counts as.
func kindsOf(value []byte) kind {
	switch value[0] {
	case '"':
		return kindText
	case '{':
		return kindObject
	case '[':
		return kindArray | kindIDs | kindMessages
	case 't', 'f':
		return kindBool
	case 'n':
		return 0
	}
	if bytes.ContainsAny(value, ".eE") {
		return kindNumber
	}
	return kindInt
}

// columnFlags maps the role of a column to the flag that sets its name.
var columnFlags = map[string]string{roleInput: "--input-column", roleIDs: "--input-ids-column",
	roleTarget: "--output-column", roleSession: "--session-column"}

func (d *decoder) missing(record []byte, c *column) *fault {
	var names []string
	s := scanner{b: record}
	s.object(func(raw []byte, _ int) *fault {
		names = append(names, foreign.Line(string(raw), 60))
		return s.value()
	})
	const most = 12
	found := "no such field (the record is empty)"
	if len(names) > most {
		found = "no such field (the record has " + strings.Join(names[:most], ", ") +
			fmt.Sprintf(" and %d more)", len(names)-most)
	} else if len(names) > 0 {
		found = "no such field (the record has " + strings.Join(names, ", ") + ")"
	}
	try := "rename a column of the file"
	if f, ok := columnFlags[c.Role]; ok {
		try += ", or pass the column's name with " + f
	}
	if near := config.Nearest(c.Name, names); len(near) > 0 {
		try += fmt.Sprintf(" (the nearest name is %s)", near[0])
	}
	if c.Role == roleIDs {
		try += "; prompts that are only text can be sent with --model generic"
	}
	return &fault{field: c.Name, found: found, expected: c.expected, try: try}
}

// sample extracts the kept values from a record whose columns have the right types.
func (d *decoder) sample(record []byte) (Sample, presence, *fault) {
	var s Sample
	var has presence
	var input, target span
	for i, c := range d.plan.columns {
		at := d.spans[i]
		if at.end == 0 {
			continue
		}
		value := record[at.start:at.end]
		var f *fault
		switch c.Role {
		case roleIDs:
			has.ids = true
			d.ids, f = appendIDs(d.ids[:0], value)
			s.InputIDs, s.InputLen = d.ids, len(d.ids)
		case roleInput:
			input, has.text = at, true
			if len(value) == 2 {
				f = &fault{found: "an empty text", expected: "a prompt", try: "remove the record or add a prompt"}
			}
		case roleTarget:
			target = at
		case roleMessages:
			has.messages = true
			s.Messages, f = d.messages(value)
		case roleTools:
			s.Tools, f = d.embedded(value)
		case roleChoice:
			s.ToolChoice = bytes.Clone(value)
		case roleMark:
			has.mark = isMark(value)
		case roleID:
			has.id = true
			s.ID, f = d.text(value)
		case roleSession:
			s.Session, f = d.text(value)
		default:
			if c.kinds&kindIDs != 0 && value[0] == '[' {
				d.others, f = appendIDs(d.others[:0], value)
			}
		}
		if f != nil {
			f.field, f.offset = c.Name, f.offset+at.start
			return s, has, f
		}
	}
	if f := d.keepTexts(record, &s, has, input, target); f != nil {
		return s, has, f
	}
	if f := d.compose(record, &s, &has); f != nil {
		return s, has, f
	}
	s.MessageBytes = len(s.Messages)
	return s, has, d.keepColumns(record, &s)
}

// keepTexts copies the prompt and the reference output if the options ask for them.
func (d *decoder) keepTexts(record []byte, s *Sample, has presence, input, target span) *fault {
	var f *fault
	if has.text && (d.o.KeepText || !(has.ids || has.messages)) {
		if s.Input, f = d.text(record[input.start:input.end]); f != nil {
			f.field, f.offset = d.fieldOf(roleInput), input.start
			return f
		}
		if s.Input, f = d.wrapped(record, s.Input); f != nil {
			f.field = d.fieldOf(roleTemplate)
			return f
		}
	}
	if target.end > 0 && d.o.KeepTarget {
		if s.Target, f = d.text(record[target.start:target.end]); f != nil {
			f.field, f.offset = d.fieldOf(roleTarget), target.start
			return f
		}
	}
	return nil
}

// keepColumns copies the values of the columns in Options.Keep.
func (d *decoder) keepColumns(record []byte, s *Sample) *fault {
	if len(d.plan.keep) == 0 {
		return nil
	}
	s.Kept = make([]string, len(d.plan.keep))
	for i, column := range d.plan.keep {
		at := d.spans[column]
		if at.end == 0 {
			continue
		}
		var f *fault
		if s.Kept[i], f = d.text(record[at.start:at.end]); f != nil {
			f.field, f.offset = d.plan.columns[column].Name, at.start
			return f
		}
	}
	return nil
}

func (d *decoder) fieldOf(role string) string {
	for _, c := range d.plan.columns {
		if c.Role == role {
			return c.Name
		}
	}
	return role
}

// text returns a string's text, or another value's JSON text.
func (d *decoder) text(value []byte) (string, *fault) {
	if value[0] != '"' {
		return string(value), nil
	}
	var ok bool
	if d.scratch, ok = unquote(d.scratch[:0], value[1:len(value)-1]); !ok {
		return "", &fault{found: "half of a surrogate pair (\\ud800 to \\udfff alone)", expected: "valid Unicode text",
			try: "write the file again from valid text"}
	}
	return string(d.scratch), nil
}

// messages returns chat messages without white space after checking their kinds. The bytes are valid until the next
// record.
func (d *decoder) messages(value []byte) (json.RawMessage, *fault) {
	s := scanner{b: value}
	n := 0
	f := s.array(func() *fault {
		n++
		if c := s.peek(); c != '{' {
			return &fault{offset: s.pos, found: kindName(c) + " among the messages", expected: "objects with role and content",
				try: "write each message as an object"}
		}
		return s.value()
	})
	if f != nil {
		return nil, f
	}
	if n == 0 {
		return nil, &fault{found: "no messages", expected: "at least one", try: "remove the record or add a prompt"}
	}
	var b bytes.Buffer
	b.Grow(len(value))
	if err := json.Compact(&b, value); err != nil {
		return nil, &fault{found: err.Error(), expected: "JSON", try: "write the messages with a JSON encoder"}
	}
	return b.Bytes(), nil
}

// embedded returns a JSON value. It first decodes a value that is encoded in a string, as in files whose columns are
// all text.
func (d *decoder) embedded(value []byte) (json.RawMessage, *fault) {
	if value[0] != '"' {
		return bytes.Clone(value), nil
	}
	text, f := d.text(value)
	if f == nil && !validJSON([]byte(text)) {
		f = &fault{found: "text that is not JSON, " + shown([]byte(text)), expected: "a list of functions",
			try: "write the column as JSON"}
	}
	return json.RawMessage(text), f
}

func invalidUTF8(b []byte) int {
	for at := 0; at < len(b); {
		r, size := utf8.DecodeRune(b[at:])
		if r == utf8.RuneError && size == 1 {
			return at
		}
		at += size
	}
	return len(b)
}
