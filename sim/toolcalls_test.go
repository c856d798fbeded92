package sim

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// spelled is an answer's text in its JSON form.
func spelled(text string) *spelling { return &spelling{text: appendEscaped(nil, text)} }

// An answer may be cut into events anywhere. The calls that are assembled by their index equal those of the whole
// answer, and the head of each comes first.
func TestCallsInParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var calls []functionCall
		for i := range rapid.IntRange(1, 3).Draw(t, "calls") {
			text, err := json.Marshal(map[string]string{"a": rapid.StringN(0, 20, 80).Draw(t, "argument")})
			require.NoError(t, err)
			calls = append(calls, functionCall{fmt.Sprintf("f%d", i), string(text)})
		}
		w := spelled(callsJSON(calls)).callsIn()
		require.NotNil(t, w)
		n := rapid.IntRange(1, 120).Draw(t, "tokens")
		got := map[int]functionCall{}
		for from := 0; from < n; {
			to := min(n, from+rapid.IntRange(1, 9).Draw(t, "event"))
			var delta struct {
				Calls []struct {
					Index    int          `json:"index"`
					ID       string       `json:"id"`
					Function functionCall `json:"function"`
				} `json:"tool_calls"`
			}
			doc := append(w.appendDelta([]byte("{"), from, to, n), '}')
			require.NoError(t, json.Unmarshal(doc, &delta), string(doc))
			require.NotEmpty(t, delta.Calls, "an event of tokens brings output")
			for _, c := range delta.Calls {
				f, begun := got[c.Index]
				require.NotEqual(t, begun, c.ID != "", string(doc))
				got[c.Index] = functionCall{f.Name + c.Function.Name, f.Arguments + c.Function.Arguments}
			}
			from = to
		}
		for i, c := range calls {
			require.Equal(t, c, got[i])
		}
		require.JSONEq(t, callsJSON(calls), string(w.text))
	})
}

func TestTextIsNoCall(t *testing.T) {
	for _, text := range []string{"", "[", "[{", "None of the functions can answer that.",
		`[{"function":{"arguments":"{}"}}]`, `[{"name":"f","arguments":{}}]`, "[]", "[{}] and more"} {
		require.Nil(t, spelled(text).callsIn(), text)
	}
}
