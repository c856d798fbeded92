package accuracy

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A tool call in a server's answer may lack the name or the arguments, and its arguments may be a string.
func TestCallsOfAServersAnswer(t *testing.T) {
	for text, want := range map[string][2]any{
		`{"function": {"name": "f", "arguments": "x"}}`: {"f", "x"},
		`{"function": {"arguments": "x"}}`:              {"", "x"},
		`{"function": {"name": "f", "arguments": "7"}}`: {"f", nil},
		`{"function": {"name": "f"}}`:                   {"f", nil},
	} {
		v, err := parseJSON(text)
		require.NoError(t, err)
		call, ok := toolCall(v.(*object))
		require.True(t, ok)
		require.Equal(t, want[0], call.values["name"], text)
		if want[1] != nil {
			require.Equal(t, want[1], call.values["arguments"], text)
		} else {
			require.NotNil(t, call.values["arguments"], text)
			require.NotEqual(t, "7", call.values["arguments"], "a text of JSON is read")
		}
	}
	v, err := parseJSON(`{"function": 7}`)
	require.NoError(t, err)
	_, ok := toolCall(v.(*object))
	require.False(t, ok)
}
