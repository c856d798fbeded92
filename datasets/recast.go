package datasets

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf-go/datasets/internal/jsontext"
)

// Public files whose lines are no rows of a data set have a form, by which Recast makes rows of them
// (docs/reference/datasets.md#small-public-files).
const (
	FormCalls = "calls" // BFCL's: questions in one file, the calls that answer them in another
	FormTurns = "turns" // one message of a conversation on each line
)

// mostRecast bounds a file of such a form, unpacked, in bytes: the public ones have some MiB.
const mostRecast = 64 << 20

// recaster makes rows of a file's lines.
type recaster struct {
	path  string
	line  int // 1-based record of the file
	grown growth
	w     *bufio.Writer
	rows  int
}

// forms are the ways of Recast.
var forms = map[string]func(r *recaster, lines *json.Decoder, answers string) error{
	FormCalls: (*recaster).calls,
	FormTurns: (*recaster).turns,
}

// Recast writes the files at paths, which have a form of their own, to w as JSON Lines in the schema of chats with
// tools, and gives the number of rows. answers names the file of the right answers, where the form has one. The first
// thing wrong is returned.
func Recast(w io.Writer, form string, paths []string, answers string) (int, error) {
	read := forms[form]
	if read == nil {
		return 0, fmt.Errorf("%w: the form %q is unknown; use one of %s", ErrOption, form,
			strings.Join(slices.Sorted(maps.Keys(forms)), ", "))
	}
	r := &recaster{w: bufio.NewWriterSize(w, 1<<20)}
	for _, path := range paths {
		if err := r.file(path, func(lines *json.Decoder) error { return read(r, lines, answers) }); err != nil {
			return 0, err
		}
	}
	return r.rows, r.w.Flush()
}

// file reads one file of JSON values.
func (r *recaster) file(path string, read func(lines *json.Decoder) error) error {
	src, err := openSource(path)
	if err != nil {
		return err
	}
	defer src.Close()
	content := &io.LimitedReader{R: src.content, N: mostRecast}
	info, err := src.file.Stat()
	if err != nil {
		return readFailed(path, err)
	}
	r.path, r.line, r.grown = path, 0, growth{size: info.Size()}
	err = read(json.NewDecoder(content))
	if err != nil && content.N <= 0 {
		err = r.wrong("", fmt.Sprintf("more than %d MiB", mostRecast>>20), "a smaller file", "split it")
	}
	return err
}

// next reads the next line's object; false at the end.
func (r *recaster) next(lines *json.Decoder, v any) (bool, error) {
	r.line++
	switch err := lines.Decode(v); {
	case errors.Is(err, io.EOF):
		return false, nil
	case errors.Is(err, io.ErrUnexpectedEOF):
		return false, r.wrong("", "the end of the file inside this record", "a complete file",
			"get the file again: it was cut off")
	case err != nil:
		return false, r.wrong("", fmt.Sprintf("what is no record of this form (%v)", err), "one JSON object per line",
			"check that the file is what --form says")
	}
	return true, nil
}

func (r *recaster) wrong(field, found, expected, try string) error {
	return &Error{Path: r.path, Record: r.line, Field: field, Found: found, Expected: expected, Try: try}
}

// row writes one row: names and JSON values in turn.
func (r *recaster) row(columns ...any) error {
	var line []byte
	for i := 0; i < len(columns); i += 2 {
		mark := byte(',')
		if i == 0 {
			mark = '{'
		}
		value := columns[i+1]
		if text, ok := value.(string); ok {
			value = json.RawMessage(jsontext.AppendQuoted(nil, text))
		}
		line = append(append(append(line, mark), jsontext.AppendQuoted(nil, columns[i].(string))...), ':')
		line = append(line, value.(json.RawMessage)...)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, append(line, '}')); err != nil {
		return r.wrong("", err.Error(), "JSON", "check the file")
	}
	compact.WriteByte('\n')
	if compact.Len() > maxRecord || r.grown.add(compact.Len()) {
		return r.wrong("", fmt.Sprintf("rows of %d MiB so far", r.grown.made>>20),
			"a file that does not grow out of all proportion", "check that the file is what --form says")
	}
	r.rows++
	_, err := r.w.Write(compact.Bytes())
	return err
}

// turnLine is one message of a conversation.
type turnLine struct {
	Conversation string          `json:"conversation_id"`
	Turn         int             `json:"turn"`
	Role         string          `json:"role"`
	Content      json.RawMessage `json:"content"`
	Reasoning    json.RawMessage `json:"reasoning_content"`
	System       string          `json:"system"`
	Tools        json.RawMessage `json:"tools"`
	Calls        json.RawMessage `json:"tool_calls"`
	Results      []struct {
		Call    string          `json:"tool_call_id"`
		Content json.RawMessage `json:"content"`
	} `json:"tool_results"`
}

// turns makes a row of every answer of a conversation: what the model had seen before it, with the answer as the
// reference.
func (r *recaster) turns(lines *json.Decoder, _ string) error {
	var id string
	var tools, messages json.RawMessage
	seen, last := map[string]bool{}, 0
	for {
		var l turnLine
		if more, err := r.next(lines, &l); err != nil || !more {
			return err
		}
		switch {
		case l.Conversation == "":
			return r.wrong("conversation_id", "nothing", "the name of a conversation", "check that the file is what --form says")
		case l.Conversation != id && seen[l.Conversation]:
			return r.wrong("conversation_id", fmt.Sprintf("%.40q again, with another conversation between", l.Conversation),
				"conversations one after the other", "sort the file by conversation and turn")
		case l.Conversation == id && l.Turn <= last:
			return r.wrong("turn", fmt.Sprint(l.Turn), fmt.Sprintf("more than %d", last),
				"sort the file by conversation and turn")
		case l.Conversation != id:
			id, tools, messages, seen[l.Conversation] = l.Conversation, json.RawMessage("[]"), nil, true
		}
		last = l.Turn
		if given(l.Tools) {
			tools = l.Tools
		}
		if l.System != "" {
			messages = addMessage(messages, "system", "content", json.RawMessage(jsontext.AppendQuoted(nil, l.System)))
		}
		if l.Role == "assistant" && messages != nil {
			err := r.row("sample_id", fmt.Sprintf("%s/%d", id, l.Turn), "session", id, "messages",
				append(append(json.RawMessage("["), messages...), ']'),
				"tools", tools, "tool_choice", "auto", "output", orEmpty(l.Content))
			if err != nil {
				return err
			}
		}
		messages = l.appendTo(messages)
	}
}

// appendTo appends the line's message, or one message for each of its tool results.
func (l *turnLine) appendTo(messages json.RawMessage) json.RawMessage {
	if len(l.Results) > 0 {
		for _, res := range l.Results {
			messages = addMessage(messages, "tool", "tool_call_id", json.RawMessage(jsontext.AppendQuoted(nil, res.Call)),
				"content", orEmpty(res.Content))
		}
		return messages
	}
	parts := []any{"content", orEmpty(l.Content)}
	if given(l.Reasoning) {
		parts = append(parts, "reasoning_content", l.Reasoning)
	}
	if given(l.Calls) {
		parts = append(parts, "tool_calls", l.Calls)
	}
	return addMessage(messages, l.Role, parts...)
}

// addMessage appends a chat message to others, with a comma between.
func addMessage(messages json.RawMessage, role string, parts ...any) json.RawMessage {
	if len(messages) > 0 {
		messages = append(messages, ',')
	}
	messages = jsontext.AppendQuoted(append(messages, `{"role":`...), role)
	for i := 0; i < len(parts); i += 2 {
		messages = append(jsontext.AppendQuoted(append(messages, ','), parts[i].(string)), ':')
		messages = append(messages, parts[i+1].(json.RawMessage)...)
	}
	return append(messages, '}')
}

// given tells whether a value is there and not null.
func given(v json.RawMessage) bool { return len(v) > 0 && string(v) != "null" }

// orEmpty is an empty text in place of no content (docs/reference/benchmarks.md#data-sets).
func orEmpty(v json.RawMessage) json.RawMessage {
	if given(v) {
		return v
	}
	return json.RawMessage(`""`)
}
