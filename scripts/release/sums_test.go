package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSums adds the hashes of go.sum to the modules of the same version.
func TestSums(t *testing.T) {
	file := filepath.Join(t.TempDir(), "go.sum")
	write := func(text string) { require.NoError(t, os.WriteFile(file, []byte(text), 0o644)) }
	write("example.org/a v1.0.0 h1:AQI=\nexample.org/a v1.0.0/go.mod h1:AwQ=\n" + changed + " v1.0.0 h1:BQY=\n")
	list := []object{{"name": "example.org/a", "version": "v1.0.0"}, {"name": "example.org/a", "version": "v2.0.0"},
		{"name": changed, "version": "v1.0.0"}}
	require.NoError(t, addSums(list, file))
	require.Equal(t, []object{{"alg": "SHA-256", "content": "0102"}}, list[0]["hashes"])
	require.NotContains(t, list[1], "hashes")
	require.NotContains(t, list[2], "hashes")
	write("example.org/a v1.0.0 h1:?\n")
	require.ErrorContains(t, addSums(list, file), "the hash of example.org/a")
	require.Error(t, addSums(list, file+"x"))
}
