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

// Forms of public files whose lines are not rows of a data set, for Recast
// (docs/reference/datasets.md#small-public-files).
const (
	FormCalls = "calls" // BFCL's form: questions in one file, the calls that answer them in another
	FormTurns = "turns" // one message of a conversation on each line
)

// mostRecast is the maximum unpacked size of such a file in bytes; the public files have a few MiB.
const mostRecast = 64 << 20

// recaster converts lines of a file to rows.
type recaster struct {
	path  string
	line  int // 1-based number of the record in the file
	grown growth
	w     *bufio.Writer
	rows  int
}

// forms maps each form to its reader.
var forms = map[string]func(r *recaster, lines *json.Decoder, answers string) error{
	FormCalls: (*recaster).calls,
	FormTurns: (*recaster).turns,
}

// Recast converts the files at paths from their form to JSON Lines in the schema of chats with tools, writes them to w,
// and returns the number of rows. answers is the file of correct answers if the form has one. Recast returns the first
// fault.
func Recast(w io.Writer, form string, paths []string, answers string) (int, error) {
	read := forms[form]
	if read == nil {
		return 0, fmt.Errorf("%w: unknown form %q; use one of %s", ErrOption, form,
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

// next decodes the next line's object and returns false at the end.
func (r *recaster) next(lines *json.Decoder, v any) (bool, error) {
	r.line++
	switch err := lines.Decode(v); {
	case errors.Is(err, io.EOF):
		return false, nil
	case errors.Is(err, io.ErrUnexpectedEOF):
		return false, r.wrong("", "the end of the file inside this record", "a complete file",
			"the file is truncated: get it again")
	case err != nil:
		return false, r.wrong("", fmt.Sprintf("an invalid record of this form (%v)", err), "one JSON object per line",
			"check that the file has the form given by --form")
	}
	return true, nil
}

func (r *recaster) wrong(field, found, expected, try string) error {
	return &Error{Path: r.path, Record: r.line, Field: field, Found: found, Expected: expected, Try: try}
}

// row writes one row, given as alternating names and values. A value is a string, or JSON as json.RawMessage.
func (r *recaster) row(columns ...any) error {
	line := []byte{'{'}
	for i := 0; i < len(columns); i += 2 {
		value := columns[i+1]
		if text, ok := value.(string); ok {
			value = json.RawMessage(jsontext.AppendQuoted(nil, text))
		}
		line = append(jsontext.AppendKey(line, columns[i].(string)), value.(json.RawMessage)...)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, append(line, '}')); err != nil {
		return r.wrong("", err.Error(), "JSON", "check the file")
	}
	compact.WriteByte('\n')
	if compact.Len() > maxRecord || r.grown.add(compact.Len()) {
		return r.wrong("", fmt.Sprintf("rows of %d MiB so far", r.grown.made>>20),
			"rows in proportion to the size of the file", "check that the file has the form given by --form")
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

// turns writes a row for every answer in a conversation. The row contains the messages before the answer, and the
// answer as the reference output.
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
			return r.wrong("conversation_id", "nothing", "the name of a conversation",
				"check that the file has the form given by --form")
		case l.Conversation != id && seen[l.Conversation]:
			return r.wrong("conversation_id", fmt.Sprintf("%.40q again after another conversation", l.Conversation),
				"all messages of a conversation together", "sort the file by conversation and turn")
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

// appendTo appends the line's message, or one message per tool result.
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

// addMessage appends a chat message, given as alternating names and JSON values, to a comma-separated list.
func addMessage(messages json.RawMessage, role string, parts ...any) json.RawMessage {
	if len(messages) > 0 {
		messages = append(messages, ',')
	}
	messages = jsontext.AppendQuoted(append(messages, `{"role":`...), role)
	for i := 0; i < len(parts); i += 2 {
		messages = append(jsontext.AppendKey(messages, parts[i].(string)), parts[i+1].(json.RawMessage)...)
	}
	return append(messages, '}')
}

// given reports whether a value is present and not null.
func given(v json.RawMessage) bool { return len(v) > 0 && string(v) != "null" }

// orEmpty replaces missing content by an empty text (docs/reference/benchmarks.md#data-sets).
func orEmpty(v json.RawMessage) json.RawMessage {
	if given(v) {
		return v
	}
	return json.RawMessage(`""`)
}
