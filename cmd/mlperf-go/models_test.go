package main

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/models"
)

// The description of a benchmark fits on a screen. Its sources are the organisers' files and pages of this repository.
func TestDescribeText(t *testing.T) {
	for _, r := range models.Rows() {
		text := describeText(pageWidth, r.Describe())
		for line := range strings.Lines(text) {
			line = strings.TrimRight(line, "\n")
			if strings.Contains(strings.TrimSpace(line), " ") { // a JSON schema is one word
				require.LessOrEqual(t, utf8.RuneCountInString(line), pageWidth, "%s: %s", r.Name, line)
			}
			require.Equal(t, strings.TrimRight(line, " "), line)
		}
		require.Contains(t, text, "\n  [1] ", r.Name)
	}
	one := []models.Field{{Name: "a", Value: "x y", Source: "s"}, {Name: "longer", Value: "z", Source: "s"},
		{Name: "b", Value: "w", Source: "alone"}, {Name: "c", Value: "v"}}
	require.Equal(t, "a       x y [1]\nlonger  z [1]\nb       w (alone)\nc       v\n\nsources\n  [1] s\n",
		describeText(pageWidth, one))
}
