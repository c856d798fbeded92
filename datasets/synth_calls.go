package datasets

import (
	"encoding/json"
	"fmt"
	"strings"
)

// synthCallSubsets lists the parts of the function-call set; records use them in turn
// (docs/reference/scoring-rules.md#function-calls).
var synthCallSubsets = []string{
	"simple_python", "simple_java", "simple_javascript", "multiple", "parallel", "parallel_multiple",
	"live_simple", "live_multiple", "live_parallel", "live_parallel_multiple", "irrelevance", "live_irrelevance",
}

// synthFunction describes a callable function in the set.
type synthFunction struct {
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Parameters  synthParameter `json:"parameters"`
}

type synthParameter struct {
	Type        string                    `json:"type"`
	Description string                    `json:"description,omitempty"`
	Properties  map[string]synthParameter `json:"properties,omitempty"`
	Required    []string                  `json:"required,omitempty"`
}

// functionCallRow generates a question that asks for calls of invented functions, or for no call.
func functionCallRow(g *generator, i int, s SynthSet, r *SynthRecord) {
	subset := synthCallSubsets[i%len(synthCallSubsets)]
	strict := strings.Contains(subset, "java")
	functions := []synthFunction{g.function(strict)}
	if strings.Contains(subset, "multiple") {
		functions = append(functions, g.function(strict), g.function(strict))
	}
	calls := []map[string]map[string][]any{}
	wanted := 1
	if strings.Contains(subset, "parallel") {
		wanted = 2
	}
	if strings.Contains(subset, "irrelevance") {
		wanted = 0
	}
	for k := range wanted {
		f := functions[k%len(functions)]
		count := any(g.between(1, 99))
		if strict {
			count = fmt.Sprint(count)
		}
		calls = append(calls, map[string]map[string][]any{f.Name: {"name": {g.words(1)}, "count": {count}}})
	}
	c := &s.Row.Scoring.Columns
	r.set(c.Subset, subset)
	r.set(c.ID, fmt.Sprintf("synth-%s-%d", subset, i))
	r.setJSON(c.Target, calls)
	r.setJSON(c.Function, functions)
	r.setJSON("messages", []map[string]string{{"role": "user", "content": r.Input}})
	r.setJSON("tools", toolsOf(functions))
	r.set("tool_choice", "auto")
	text, _ := json.Marshal(calls) // cannot fail: texts and numbers
	r.Output = string(text)
}

// setJSON sets a column to a value.
func (r *SynthRecord) setJSON(column string, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // unreachable: the values are texts, numbers and lists of them
	}
	r.Fields[column] = string(text)
}

// function invents a function with a name and a number as parameters. If strict is set every value is text, as for Java
// and JavaScript.
func (g *generator) function(strict bool) synthFunction {
	text, number := "string", "integer"
	if strict {
		text, number = "String", "String"
	}
	return synthFunction{
		Name: word(g.word()) + "." + word(g.word()), Description: g.words(6),
		Parameters: synthParameter{Type: "dict", Required: []string{"name", "count"},
			Properties: map[string]synthParameter{"name": {Type: text, Description: g.words(3)},
				"count": {Type: number, Description: g.words(3)}}},
	}
}

// toolsOf converts functions to the form of a chat request: names without dots, parameters as JSON Schema.
func toolsOf(functions []synthFunction) []any {
	var tools []any
	for _, f := range functions {
		f.Name = strings.ReplaceAll(f.Name, ".", "_")
		f.Parameters.Type = "object"
		properties := map[string]synthParameter{}
		for name, p := range f.Parameters.Properties {
			p.Type = strings.ToLower(p.Type)
			properties[name] = p
		}
		f.Parameters.Properties = properties
		tools = append(tools, map[string]any{"type": "function", "function": f})
	}
	return tools
}
