package datasets

import (
	"fmt"
	"os"
	"regexp"
	"strings"
)

// maxTemplate is the maximum size of a template file in bytes.
const maxTemplate = 1 << 20

// Template composes a prompt from a record's fields. It is immutable.
//
// {name} inserts the value of the field called name: a text unchanged, any other value in the format of Python's
// json.dumps; {name!r} inserts it in the format of Python's repr. {{name}} is the literal text {name}; other braces are
// literal. A line that consists of [system], [user] or [assistant] begins a message of that role. The line break before
// such a line and the last one of the file are not part of a text.
type Template struct {
	messages []templateMessage
	fields   []string
}

// templateMessage is one message; role is empty if the template is a single text.
type templateMessage struct {
	role  string
	parts []templatePart
}

// templatePart is a text and the field after it; field may be empty.
type templatePart struct {
	text, field string
	repr        bool
}

var (
	templateRole  = regexp.MustCompile(`(?m)^\[(system|user|assistant)\]\r?$\n?`)
	templateField = regexp.MustCompile(`\{\{[A-Za-z_][A-Za-z0-9_]*(?:!r)?\}\}|\{([A-Za-z_][A-Za-z0-9_]*)(!r)?\}`)
)

// ReadTemplate reads a template file.
func ReadTemplate(path string) (*Template, error) {
	failed := func(found string, err error) error {
		return &Error{Path: path, What: "prompt template", Found: found, Expected: "a text file with fields such as {input}",
			Try: "check the path and the file", Err: err}
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, failed(fmt.Sprintf("a read error (%v)", err), err)
	}
	if !info.Mode().IsRegular() || info.Size() > maxTemplate {
		return nil, failed(fmt.Sprintf("not a regular file of at most %d KiB", maxTemplate>>10), nil)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, failed(fmt.Sprintf("a read error (%v)", err), err)
	}
	t, f := parseTemplate(string(text))
	if f != nil {
		return nil, &Error{Path: path, What: "prompt template", Found: f.Found, Expected: f.Expected, Try: f.Try}
	}
	return t, nil
}

// parseTemplate parses the text of a template.
func parseTemplate(text string) (*Template, *Error) {
	t := &Template{}
	marks := templateRole.FindAllStringSubmatchIndex(text, -1)
	if marks == nil {
		t.add("", text)
	} else if strings.TrimSpace(text[:marks[0][0]]) != "" {
		return nil, &Error{Found: "text before the first message", Expected: "a line such as [user] first",
			Try: "move the text into a message"}
	}
	for i, m := range marks {
		end := len(text)
		if i+1 < len(marks) {
			end = marks[i+1][0]
		}
		t.add(text[m[2]:m[3]], text[m[1]:end])
	}
	if len(t.fields) == 0 {
		return nil, &Error{Found: "no field", Expected: "at least one, such as {input}: all prompts would be the same",
			Try: "name a column of the data set in braces"}
	}
	return t, nil
}

// add splits a text at its fields.
func (t *Template) add(role, text string) {
	text = strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r")
	m := templateMessage{role: role}
	from, literal := 0, ""
	for _, at := range templateField.FindAllStringSubmatchIndex(text, -1) {
		literal += text[from:at[0]]
		from = at[1]
		if at[2] < 0 { // doubled braces
			literal += text[at[0]+1 : at[1]-1]
			continue
		}
		name := text[at[2]:at[3]]
		m.parts = append(m.parts, templatePart{literal, name, at[4] >= 0})
		t.fields, literal = append(t.fields, name), ""
	}
	m.parts = append(m.parts, templatePart{text: literal + text[from:]})
	t.messages = append(t.messages, m)
}

// appendText appends a message's text. value returns a field's JSON text, or nil if the record has none.
func (m *templateMessage) appendText(dst []byte, value func(name string) []byte) ([]byte, *fault) {
	for _, p := range m.parts {
		dst = append(dst, p.text...)
		if p.field == "" {
			continue
		}
		v := value(p.field)
		if v == nil {
			return dst, &fault{field: p.field, found: "no such field", expected: "one, because the prompt template uses it",
				try: "correct the template, or write {{" + p.field + "}} for literal braces"}
		}
		var ok bool
		if dst, ok = appendPython(dst, v, p.repr, 0); !ok {
			return dst, &fault{field: p.field, found: "half of a surrogate pair", expected: "valid Unicode text",
				try: "write the file again from valid text"}
		}
	}
	return dst, nil
}
