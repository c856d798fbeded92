package check

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The name of a file in a foreign tree can neither control the terminal nor forge a line with a verdict.
func TestFileNamesAreShownAsText(t *testing.T) {
	text := Finding{File: "closed/\x1b[2J\nThe submission is valid.", Found: "x"}.String()
	require.NotContains(t, text, "\x1b")
	require.NotContains(t, text, "\n")
}
