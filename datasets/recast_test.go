package datasets

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const madeQuestions = `{"id": "simple_python_0", "question": [[{"role": "user", "content": "how far is the mill"}]], "function": [{"name": "map.way", "description": "a way", "parameters": {"type": "dict", "properties": {"to": {"type": "string"}, "stops": {"type": "array", "items": {"type": "tuple"}}, "speed": {"type": "float"}, "odd": {"type": "any"}, "type": {"type": "Boolean"}}, "required": ["to"]}}]}
{"id": "simple_python_1", "question": [[{"role": "system", "content": null}, {"role": "user", "content": "and back"}]], "function": []}
`

const madeAnswers = `{"id": "simple_python_1", "ground_truth": []}
{"id": "simple_python_0", "ground_truth": [{"map.way": {"to": ["mill"]}}]}
`

func recast(t testing.TB, form, answers, name, content string) (string, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
	if answers != "" {
		answers = writeFile(t, "answers.json", []byte(answers))
	}
	var out bytes.Buffer
	n, err := Recast(&out, form, []string{path}, answers)
	if err == nil {
		require.Equal(t, n, strings.Count(out.String(), "\n"))
	}
	return out.String(), err
}

func TestRecastCalls(t *testing.T) {
	out, err := recast(t, FormCalls, madeAnswers, "BFCL_v4_simple_python.json", madeQuestions)
	require.NoError(t, err)
	require.Equal(t, `{"sample_id":"simple_python_0","messages":[{"role":"user","content":"how far is the mill"}],`+
		`"tools":[{"type":"function","function":{"name":"map_way","description":"a way","parameters":{"type":"object","properties":{"to":{"type":"string"},`+
		`"stops":{"type":"array","items":{"type":"array"}},"speed":{"type":"number"},"odd":{"type":"string"},"type":{"type":"boolean"}},"required":["to"]}}}],"tool_choice":"auto",`+
		`"ground_truth":[{"map.way":{"to":["mill"]}}],"func_description":[{"name":"map.way","description":"a way","parameters":{"type":"dict","properties":{"to":{"type":"string"},`+
		`"stops":{"type":"array","items":{"type":"tuple"}},"speed":{"type":"float"},"odd":{"type":"any"},"type":{"type":"Boolean"}},"required":["to"]}}],"subset":"simple_python"}
{"sample_id":"simple_python_1","messages":[{"role":"system","content":""},{"role":"user","content":"and back"}],"tools":[],"tool_choice":"auto","ground_truth":[],"func_description":[],"subset":"simple_python"}
`, out)
	out, err = recast(t, FormCalls, "", "BFCL_v4_irrelevance.json", madeQuestions)
	require.NoError(t, err)
	require.Equal(t, 2, strings.Count(out, `"ground_truth":[],`))
	require.Equal(t, 2, strings.Count(out, `"subset":"irrelevance"`))
}

// A question may come with several functions.
func TestRecastOfTwoFunctions(t *testing.T) {
	const f = `{"name": "f", "description": "", "parameters": {"type": "dict", "properties": {}}}`
	out, err := recast(t, FormCalls, "", "BFCL_v4_irrelevance.json",
		`{"id": "a", "question": [[{"role": "user", "content": "x"}]], "function": [`+f+`,`+f+`]}`)
	require.NoError(t, err)
	var row struct {
		Tools     []struct{ Function struct{ Name string } } `json:"tools"`
		Functions []struct{ Name string }                    `json:"func_description"`
	}
	require.NoError(t, json.Unmarshal([]byte(out), &row), out)
	require.Len(t, row.Tools, 2)
	require.Equal(t, "f", row.Tools[1].Function.Name)
	require.Len(t, row.Functions, 2)
}

const madeTurns = `{"conversation_id": "a", "turn": 1, "role": "user", "content": "begin", "system": "be brief", "tools": [{"type": "function", "function": {"name": "f"}}]}
{"conversation_id": "a", "turn": 2, "role": "assistant", "reasoning_content": "hm", "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}
{"conversation_id": "a", "turn": 3, "role": "tool", "tool_results": [{"tool_call_id": "c1", "content": "done"}], "delay_seconds": 0.1}
{"conversation_id": "a", "turn": 4, "role": "assistant", "content": "end"}
{"conversation_id": "b", "turn": 1, "role": "user", "content": "other"}
{"conversation_id": "b", "turn": 2, "role": "assistant", "content": "yes"}
`

func TestRecastTurns(t *testing.T) {
	out, err := recast(t, FormTurns, "", "x.jsonl", madeTurns)
	require.NoError(t, err)
	const begin = `{"role":"system","content":"be brief"},{"role":"user","content":"begin"}`
	const tools = `"tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":"auto"`
	require.Equal(t, `{"sample_id":"a/2","session":"a","messages":[`+begin+`],`+tools+`,"output":""}
{"sample_id":"a/4","session":"a","messages":[`+begin+`,{"role":"assistant","content":"","reasoning_content":"hm","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]},`+
		`{"role":"tool","tool_call_id":"c1","content":"done"}],`+tools+`,"output":"end"}
{"sample_id":"b/2","session":"b","messages":[{"role":"user","content":"other"}],"tools":[],"tool_choice":"auto","output":"yes"}
`, out)
}

func TestRecastRefuses(t *testing.T) {
	for _, c := range []struct{ name, form, answers, content, says string }{
		{"form", "odd", "", "{}", `unknown form "odd"; use one of calls, turns`},
		{"no JSON", FormTurns, "", "text", "an invalid record of this form"},
		{"wrong type", FormTurns, "", `{"conversation_id": 3}`, "an invalid record of this form"},
		{"cut", FormTurns, "", madeTurns[:len(madeTurns)/2], "the end of the file inside this record"},
		{"no conversation", FormTurns, "", `{"turn": 1, "role": "user"}`, `record 1, field "conversation_id": found nothing`},
		{"turns not in order", FormTurns, "", `{"conversation_id": "a", "turn": 2}{"conversation_id": "a", "turn": 2}`,
			`record 2, field "turn": found 2, expected more than 2`},
		{"conversations mixed", FormTurns, "", `{"conversation_id": "a", "turn": 2}{"conversation_id": "b", "turn": 2}{"conversation_id": "a", "turn": 3}`, `found "a" again`},
		{"several turns", FormCalls, "", `{"id": "x", "question": [[], []], "function": []}`,
			"a conversation of 2 turns, expected one turn"},
		{"no id", FormCalls, "", `{"question": [[]]}`, `field "id"`},
		{"no role", FormCalls, "", `{"id": "x", "question": [[{"content": "a"}]]}`, "messages with a role"},
		{"an empty function", FormCalls, "", `{"id": "x", "question": [[]], "function": [3]}`,
			"a function with name, description and parameters"},
		{"no answer", FormCalls, `{"id": "y", "ground_truth": []}`, `{"id": "x", "question": [[]]}`, `no answer to "x"`},
		{"too many answers", FormCalls, madeAnswers, `{"id": "simple_python_0", "question": [[]]}`,
			"1 answer that belongs to no question"},
		{"answers of no form", FormCalls, `{"id": "x"}`, madeQuestions, "no ground_truth"},
		{"a line without end", FormCalls, "", `{"id": "` + strings.Repeat("x", mostRecast), "more than 64 MiB"},
		{"a conversation without end", FormTurns, "", endless(), "rows in proportion to the size of the file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := recast(t, c.form, c.answers, "x.json", c.content)
			require.ErrorContains(t, err, c.says)
			require.NotContains(t, err.Error(), "\n")
			if c.form != "odd" {
				require.True(t, errors.As(err, new(*Error)))
			}
		})
	}
}

// endless returns one long conversation. Each row repeats all earlier messages, so its 5,000 lines of 100 bytes become
// 250 MB.
func endless() string {
	var b strings.Builder
	for i := range 5000 {
		text, _ := json.Marshal(map[string]any{"conversation_id": "a", "turn": i, "role": "assistant",
			"content": strings.Repeat("x", 100)})
		b.Write(text)
	}
	return b.String()
}

func FuzzRecast(f *testing.F) {
	f.Add(madeQuestions, madeAnswers)
	f.Add(madeTurns, "")
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, content, answers string) {
		path, key := filepath.Join(dir, "q"), filepath.Join(dir, "a")
		require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
		require.NoError(t, os.WriteFile(key, []byte(answers), 0o644))
		for _, form := range []string{FormCalls, FormTurns} {
			for _, known := range []string{"", key} {
				var out bytes.Buffer
				if n, err := Recast(&out, form, []string{path}, known); err == nil {
					lines := json.NewDecoder(&out)
					for range n {
						var row map[string]json.RawMessage
						require.NoError(t, lines.Decode(&row))
					}
				}
			}
		}
	})
}

func TestOnlyTheRecordsOfAList(t *testing.T) {
	set := writeFile(t, "set.csv", []byte("id,tok_input\nq1,1 2\nq2,3\nq3,4 5 6\n"))
	list := writeFile(t, "ids.txt", []byte("q3\r\n\nq1\n"))
	only, err := ReadOnly(list, "id")
	require.NoError(t, err)
	o := testOptions()
	o.Only = only
	for _, format := range []string{FormatJSONL, FormatCSV, FormatParquet} {
		var out bytes.Buffer
		done, err := Convert(&out, []string{set}, o, format)
		require.NoError(t, err)
		require.Equal(t, 2, done.Records)
		d, err := Open(writeFile(t, "out", out.Bytes()), testOptions())
		require.NoError(t, err)
		require.Equal(t, []string{"q1", "q3"}, []string{d.Samples[0].ID, d.Samples[1].ID}, "in the set's order")
	}
	o.Only, err = ReadOnly(writeFile(t, "ids.txt", []byte("q1\nq9\nq8")), "id")
	require.NoError(t, err)
	_, err = Convert(new(bytes.Buffer), []string{set}, o, FormatJSONL)
	require.ErrorContains(t, err, `found 2 of 3 ids without a record that has them in "id", such as "q8"`)
	for content, says := range map[string]string{"": "found no ids", strings.Repeat("x", mostOnlyLine+1): "token too long",
		strings.Repeat("x\n", mostOnlyBytes/2): "more than 64 MiB"} {
		_, err := ReadOnly(writeFile(t, "ids.txt", []byte(content)), "id")
		require.ErrorContains(t, err, says)
	}
	_, err = ReadOnly("nowhere.txt", "id")
	require.ErrorContains(t, err, "cannot read list of ids nowhere.txt")
}
