package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The committed diagrams equal the program's output.
func TestDiagramsAreCurrent(t *testing.T) {
	root := filepath.Join("..", "..")
	files, err := draw(os.DirFS(root))
	require.NoError(t, err)
	require.Len(t, files, 2)
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(root, folder, name))
		require.NoError(t, err)
		require.Equal(t, want, string(got), "%s is out of date: run `go run ./scripts/diagrams`", name)
	}
}

func TestParseRejectsInvalidDiagrams(t *testing.T) {
	_, err := parse("node a 0 0")
	require.EqualError(t, err, `line 1: cannot read "node a 0 0"`)
	_, err = parse("\nnode a x 0 | A | B")
	require.ErrorContains(t, err, "line 2: node: ")
	d, err := parse("node a 0 0 | A | \nedge a b")
	require.NoError(t, err)
	_, err = d.svg(layout{10, 10, 20, 20})
	require.EqualError(t, err, `unknown node "b"`)
}
