package accuracy

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Two or more dashes or dots form one mark; so do three or more dots with white space between them.
func TestMarksOfSeveralCharacters(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "x": 0, ".": 0, "-": 0, "-.": 0, "..": 2, "--": 2, "---x": 3, "....": 4, "..x.": 2,
		". .": 0, ". . .": 5, ". . .x": 5, ". . . .": 7, ".  .": 0, ". .\n.": 5, ". .x": 0, ". . x": 0, ". ": 0,
	} {
		require.Equal(t, want, multiPunct(text), "%q", text)
	}
}
