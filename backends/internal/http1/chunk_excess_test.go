package http1

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// chunked reads pieces of a body and returns how many chunks had been read before it was refused, and why.
func chunked(c *chunks, piece string, n int) (read int, bad string) {
	for i := range n {
		for b := []byte(piece); len(b) > 0; {
			ev, _, rest := c.next(b)
			if ev == evBad {
				return i, c.bad
			}
			b = rest
		}
	}
	return n, ""
}

func piece(data, extension int) string {
	return fmt.Sprintf("%x;%s\r\n%s\r\n", data, strings.Repeat("x", extension), strings.Repeat("d", data))
}

// A body may consist of short chunks, but not of extensions; data pays for them.
func TestExtensionsOfChunksAreBounded(t *testing.T) {
	const perPiece = 1 + 1 + 100 + 2 - 16 - 2 // beyond what a chunk of one byte needs
	read, bad := chunked(&chunks{}, piece(1, 100), 1000)
	require.Equal(t, "the chunks carry more extensions than data", bad)
	require.Equal(t, maxExcess/perPiece, read)

	const perLarge = perPiece - 100 + 1038
	require.Zero(t, maxExcess%perLarge)
	read, _ = chunked(&chunks{}, piece(1, 1038), 1000)
	require.Equal(t, maxExcess/perLarge, read, "as much as is allowed")

	c := &chunks{}
	read, bad = chunked(c, piece(1, 10), 10_000)
	require.Equal(t, 10_000, read, bad)
	require.Zero(t, c.excess, "short chunks are no excess")
	read, bad = chunked(c, piece(100, 100), 10_000)
	require.Equal(t, 10_000, read, bad)

	half := maxExcess / perPiece / 2
	for range 10 {
		_, bad = chunked(c, piece(1, 100), half)
		require.Empty(t, bad)
		require.Equal(t, half*perPiece, c.excess)
		_, bad = chunked(c, piece(5000, 0), 1)
		require.Empty(t, bad)
		require.Zero(t, c.excess)
	}
}
