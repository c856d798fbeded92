package check

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A file's name in somebody else's tree neither steers the terminal nor begins a line that looks like a verdict.
func TestFileNamesAreShownAsText(t *testing.T) {
	text := Finding{File: "closed/\x1b[2J\nThe submission is valid.", Found: "x"}.String()
	require.NotContains(t, text, "\x1b")
	require.NotContains(t, text, "\n")
}
