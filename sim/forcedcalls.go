package sim

import "encoding/json"

// wireTool is a function that a request offers to the model.
type wireTool struct {
	Function struct {
		Name       string          `json:"name"`
		Parameters json.RawMessage `json:"parameters"` // JSON schema of the arguments
	} `json:"function"`
}

// forcedTools returns the functions of which the answer must call one; none if the model may answer with text.
func forcedTools(q *wireRequest) ([]wireTool, *apiError) {
	switch string(q.ToolChoice) {
	case "", "null", `"none"`, `"auto"`:
		return nil, nil
	}
	var tools []wireTool
	if len(q.Tools) > 0 && json.Unmarshal(q.Tools, &tools) != nil {
		return nil, malformed(&fieldError{"tools", "a list of functions is needed"})
	}
	if len(tools) == 0 {
		return nil, badRequest("tool_choice", "tool_choice needs tools to choose from.")
	}
	for _, t := range tools {
		if t.Function.Name == "" {
			return nil, malformed(&fieldError{"tools", "every function needs a name"})
		}
	}
	if string(q.ToolChoice) == `"required"` {
		return tools, nil
	}
	var named wireTool
	if json.Unmarshal(q.ToolChoice, &named) != nil {
		return nil, malformed(&fieldError{"tool_choice", "none, auto, required or a function is needed"})
	}
	for i, t := range tools {
		if t.Function.Name == named.Function.Name {
			return tools[i : i+1], nil
		}
	}
	return nil, badRequest("tool_choice", "tool_choice names %q, which is not one of the tools.", named.Function.Name)
}

// callsOf returns the calls of an answer; nil: it is text.
func (r *request) callsOf(q *sequence) *wireCalls {
	switch {
	case len(q.tokens) <= q.reasoning:
		return nil
	case len(r.forced) > 0 && (q.finish == finishStop || q.finish == finishLength):
		f := r.forced[hashIDs(q.prompt)%uint64(len(r.forced))].Function
		arguments, _ := json.Marshal(sampleOf(f.Parameters, "object", 0)) // plain values
		return newCalls([]toolCall{{ID: "call_a", Type: "function", Function: functionCall{f.Name, string(arguments)}}})
	case r.tools && q.finish == finishStop:
		visible := spelling{text: q.spelling.between(q.reasoning, len(q.tokens))}
		return visible.callsIn()
	}
	return nil
}

// deepestSample bounds the depth of an argument's value.
const deepestSample = 8

// samples holds a value of each JSON type; every other type is a text.
var samples = map[string]any{"integer": 1, "number": 1.5, "boolean": true, "null": nil, "array": []any{}}

// sampleOf returns a value of a JSON schema: its first allowed value, or a value of its type with the required
// properties. Other rules of a schema are ignored.
func sampleOf(schema json.RawMessage, otherwise string, depth int) any {
	var s struct {
		Type       string
		Enum       []any
		Properties map[string]json.RawMessage
		Required   []string
	}
	if json.Unmarshal(schema, &s) != nil || s.Type == "" {
		s.Type = otherwise
	}
	if len(s.Enum) > 0 {
		return s.Enum[0]
	}
	if s.Type != "object" {
		if v, known := samples[s.Type]; known {
			return v
		}
		return "text"
	}
	out := map[string]any{}
	for _, name := range s.Required {
		if depth < deepestSample {
			out[name] = sampleOf(s.Properties[name], "string", depth+1)
		}
	}
	return out
}
