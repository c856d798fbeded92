package datasets

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/mlperf-go/mlperf-go/datasets/internal/jsontext"
	"github.com/mlperf-go/mlperf-go/internal/plural"
)

// question is a line of a file of questions. Its functions keep their original text, because the scorer checks calls
// against that text.
type question struct {
	ID        string              `json:"id"`
	Turns     [][]json.RawMessage `json:"question"`
	Functions []json.RawMessage   `json:"function"`
}

// callTypes maps BFCL's types to JSON Schema's (docs/reference/benchmarks.md#data-sets). Types in neither this table
// nor schemaTypes become strings.
var callTypes = map[string]string{
	"dict": "object", "HashMap": "object", "Hashtable": "object", "object": "object",
	"float": "number", "double": "number", "number": "number",
	"tuple": "array", "list": "array", "Array": "array", "ArrayList": "array", "array": "array",
	"int": "integer", "long": "integer", "short": "integer", "byte": "integer", "Bigint": "integer", "integer": "integer",
	"bool": "boolean", "Boolean": "boolean", "boolean": "boolean",
}

// calls joins questions with the calls that answer them. A question without an answer, such as those of the subset
// irrelevance, expects no call.
func (r *recaster) calls(lines *json.Decoder, answers string) error {
	subset := strings.TrimSuffix(filepath.Base(r.path), ".gz")
	subset = strings.TrimSuffix(strings.TrimSuffix(subset, ".jsonl"), ".json")
	for _, prefix := range []string{"BFCL_v4_", "BFCL_v3_"} {
		subset = strings.TrimPrefix(subset, prefix)
	}
	known, err := readAnswers(answers)
	if err != nil {
		return err
	}
	found := 0
	for {
		var q question
		more, err := r.next(lines, &q)
		switch {
		case err != nil:
			return err
		case !more && found < len(known):
			return &Error{Path: answers, What: "answers",
				Found: fmt.Sprintf("%s to no question of %s",
					plural.Count(len(known)-found, "answer that belongs", "answers that belong"), r.path),
				Expected: "the answers to these questions", Try: "name the file of the same name in possible_answer"}
		case !more:
			return nil
		case q.ID == "":
			return r.wrong("id", "nothing", "the question's name", "check that the file has the form given by --form")
		case len(q.Turns) != 1:
			return r.wrong("question", fmt.Sprintf("a conversation of %d turns", len(q.Turns)), "one turn",
				"use a file of single-turn questions; the benchmark has no others")
		}
		answer, ok := known[q.ID]
		if ok {
			found++
		} else {
			if answers != "" {
				return &Error{Path: answers, What: "answers", Found: fmt.Sprintf("no answer to %.60q", q.ID),
					Expected: "one per question", Try: "name the file of the same name in possible_answer; omit --answers " +
						"if the questions have no answers"}
			}
			answer = json.RawMessage("[]")
		}
		if err := r.callRow(&q, subset, answer); err != nil {
			return err
		}
	}
}

func (r *recaster) callRow(q *question, subset string, answer json.RawMessage) error {
	var messages, tools, functions json.RawMessage
	for _, m := range q.Turns[0] {
		var parts []any
		role := ""
		err := members(m, func(name string, value []byte) error {
			if name == "role" {
				return json.Unmarshal(value, &role)
			}
			parts = append(parts, name, orEmpty(value))
			return nil
		})
		if err != nil || role == "" {
			return r.wrong("question", shown(m), "messages with a role", "check the file")
		}
		messages = addMessage(messages, role, parts...)
	}
	for i, f := range q.Functions {
		if i > 0 {
			tools, functions = append(tools, ','), append(functions, ',')
		}
		functions = append(functions, f...)
		tool, err := toolOf(f)
		if err != nil {
			return r.wrong("function", shown(f), "a function with name, description and parameters", "check the file")
		}
		tools = append(tools, tool...)
	}
	list := func(of json.RawMessage) json.RawMessage { return append(append(json.RawMessage("["), of...), ']') }
	return r.row("sample_id", q.ID, "messages", list(messages), "tools", list(tools), "tool_choice", "auto",
		"ground_truth", answer, "func_description", list(functions), "subset", subset)
}

// readAnswers returns the calls that answer the questions, by question id. path may be empty.
func readAnswers(path string) (map[string]json.RawMessage, error) {
	known := map[string]json.RawMessage{}
	if path == "" {
		return known, nil
	}
	r := &recaster{}
	return known, r.file(path, func(lines *json.Decoder) error {
		for {
			var a struct {
				ID    string          `json:"id"`
				Calls json.RawMessage `json:"ground_truth"`
			}
			more, err := r.next(lines, &a)
			if err != nil || !more {
				return err
			}
			if _, double := known[a.ID]; double || a.ID == "" || !given(a.Calls) {
				return r.wrong("", "a missing or duplicate id, or no ground_truth", "one answer per question",
					"check that the file is from possible_answer")
			}
			known[a.ID] = a.Calls
		}
	})
}

// toolOf converts a function to a tool of a chat request: no dots in its name, parameters as JSON Schema. The order of
// fields is kept.
func toolOf(function json.RawMessage) (json.RawMessage, error) {
	out := json.RawMessage(`{"type":"function","function":{`)
	err := members(function, func(name string, value []byte) error {
		switch name {
		case "name":
			var text string
			if err := json.Unmarshal(value, &text); err != nil {
				return err
			}
			value = jsontext.AppendQuoted(nil, strings.ReplaceAll(text, ".", "_"))
		case "parameters":
			value = schemaOf(value, true)
		}
		out = append(jsontext.AppendKey(out, name), value...)
		return nil
	})
	if err == nil && out[len(out)-1] == '{' {
		err = errors.New("an empty function")
	}
	if err != nil {
		return nil, err
	}
	return append(out, "}}"...), nil
}

// schemaOf translates the type names in a schema. top marks the schema of all parameters, which is always an object.
func schemaOf(schema []byte, top bool) []byte {
	if len(schema) == 0 || schema[0] != '{' {
		return schema
	}
	out := []byte{'{'}
	_ = members(schema, func(name string, value []byte) error { // already parsed as JSON
		switch name {
		case "type":
			var text string
			if json.Unmarshal(value, &text) == nil {
				t, ok := callTypes[text]
				if !ok {
					t = "string"
				}
				if top {
					t = "object"
				}
				value = jsontext.AppendQuoted(nil, t)
			}
		case "properties":
			value = propertiesOf(value)
		case "items", "additionalProperties":
			value = schemaOf(value, false)
		}
		out = append(jsontext.AppendKey(out, name), value...)
		return nil
	})
	return append(out, '}')
}

func propertiesOf(properties []byte) []byte {
	if len(properties) == 0 || properties[0] != '{' {
		return properties
	}
	out := []byte{'{'}
	_ = members(properties, func(name string, value []byte) error {
		out = append(jsontext.AppendKey(out, name), schemaOf(value, false)...)
		return nil
	})
	return append(out, '}')
}
