package backends_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestEveryToleranceHasItsTest compares the table of docs/how-to/real-servers.md with the tests in it.
func TestEveryToleranceHasItsTest(t *testing.T) {
	page, err := os.ReadFile("../docs/how-to/real-servers.md")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(page), "## What servers do differently, and the test of each")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n## ")
	rows := 0
	for line := range strings.Lines(table) {
		columns := strings.Split(line, " | ")
		if len(columns) < 2 || !strings.Contains(columns[1], "`") {
			continue
		}
		rows++
		named := regexp.MustCompile("`([a-z0-9./]+): (Test\\w+)(?:/([^`]+))?`").FindAllStringSubmatch(columns[1], -1)
		require.Len(t, named, strings.Count(columns[1], "`")/2, "names of tests in: %s", line)
		for _, m := range named {
			text := testsOf(t, m[1])
			require.Contains(t, text, "func "+m[2]+"(", line)
			require.Contains(t, text, m[3], "the row of %s", m[0])
		}
	}
	require.Greater(t, rows, 30)
}

// testsOf returns the text of a package's tests.
func testsOf(t *testing.T, folder string) string {
	files, err := filepath.Glob(filepath.Join(filepath.FromSlash(folder), "*_test.go"))
	require.NoError(t, err)
	require.NotEmpty(t, files, folder)
	var all strings.Builder
	for _, f := range files {
		text, err := os.ReadFile(f)
		require.NoError(t, err)
		all.Write(text)
	}
	return all.String()
}
