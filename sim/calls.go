package sim

import (
	"encoding/json"
	"slices"
	"strings"
)

// noCall lists the subsets in which the right answer contains no call (docs/reference/scoring-rules.md#function-calls).
var noCall = []string{"irrelevance", "live_irrelevance"}

// toolCall is a function call as OpenAI's interface has it.
type toolCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function functionCall `json:"function"`
}

type functionCall struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"` // JSON text
}

// functionCalls answers with the calls that the row expects, as a JSON list, or in words if no call is right.
func functionCalls(q *question, right bool) string {
	refuse := slices.Contains(noCall, q.Subset)
	if refuse == right {
		return "None of the functions can answer that."
	}
	if refuse {
		return callsJSON([]functionCall{{Name: "no_such_function", Arguments: "{}"}})
	}
	var expected []map[string]map[string][]any
	if json.Unmarshal([]byte(q.Target), &expected) != nil || len(expected) == 0 {
		return "None of the functions can answer that."
	}
	strict := strings.Contains(q.Subset, "java") // Java and JavaScript: every argument is a string
	var calls []functionCall
	for _, call := range expected {
		for name, parameters := range call {
			arguments := map[string]any{}
			for p, allowed := range parameters {
				if v, given := firstAllowed(allowed); given {
					arguments[p] = argument(v, strict)
				}
			}
			text, _ := json.Marshal(arguments) // it came from JSON
			calls = append(calls, functionCall{Name: strings.ReplaceAll(name, ".", "_"), Arguments: string(text)})
		}
	}
	return callsJSON(calls)
}

func callsJSON(calls []functionCall) string {
	list := make([]toolCall, len(calls))
	for i, c := range calls {
		list[i] = toolCall{ID: "call_" + string(rune('a'+i%26)), Type: "function", Function: c}
	}
	text, _ := json.Marshal(list) // strings
	return string(text)
}

// firstAllowed returns the first allowed value of a parameter; none if it is optional.
func firstAllowed(allowed []any) (any, bool) {
	if len(allowed) == 0 || slices.ContainsFunc(allowed, func(v any) bool { return v == "" }) {
		return nil, false
	}
	return unfold(allowed[0]), true
}

// unfold turns an expected dictionary, whose values are lists of allowed values, into one valid dictionary.
func unfold(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, allowed := range v {
			list, ok := allowed.([]any)
			if !ok {
				out[key] = allowed
			} else if first, given := firstAllowed(list); given {
				out[key] = first
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = unfold(v[i])
		}
		return out
	}
	return v
}

// argument returns a value, as a string if the language requires strings.
func argument(v any, strict bool) any {
	if _, isText := v.(string); isText || !strict {
		return v
	}
	text, _ := json.Marshal(v) // it came from JSON
	return string(text)
}
