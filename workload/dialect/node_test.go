package dialect

import (
	"testing"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"
)

// Only maps have keys: a list of the key's name and a value has none.
func TestKeysOfNodes(t *testing.T) {
	node := func(text string) *yaml.Node {
		var n yaml.Node
		require.NoError(t, yaml.Unmarshal([]byte(text), &n))
		return n.Content[0]
	}
	for text, want := range map[string]bool{"{a: 1}": true, "{b: 2, a: 1}": true, "{b: a}": false, "[a, 1]": false,
		"a": false, "{}": false, "3": false} {
		n := node(text)
		require.Equal(t, want, has(n, "a"), text)
		before := len(n.Content)
		key, value := cut(n, "a")
		require.Equal(t, want, value != nil && value.Value == "1" && key.Value == "a", text)
		require.Equal(t, want, len(n.Content) == before-2, text)
		require.False(t, has(n, "a"), text)
	}
	require.False(t, has(nil, "a"))
	key, value := cut(nil, "a")
	require.Nil(t, key)
	require.Nil(t, value)
}
