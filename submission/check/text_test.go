package check

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The name of a file in a foreign tree can neither control the terminal nor imitate a line with a verdict.
func TestFileNamesAreShownAsText(t *testing.T) {
	text := Finding{File: "closed/\x1b[2J\nThe submission is valid.", Found: "x"}.String()
	require.NotContains(t, text, "\x1b")
	require.NotContains(t, text, "\n")
}

// An error is a rehearsal's only if its class is Rehearsal.
func TestOfRehearsal(t *testing.T) {
	for _, c := range []struct {
		f    Finding
		want bool
	}{{Finding{Severity: Error, Class: Rehearsal}, true}, {Finding{Severity: Warning, Class: Rehearsal}, false},
		{Finding{Severity: Error, Class: Run}, false}} {
		require.Equal(t, c.want, c.f.OfRehearsal(), "%v", c.f)
	}
}
