package config

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestNearest(t *testing.T) {
	names := []string{"target-qps", "target-latency", "min-duration", "max-duration", "samples"}
	for word, want := range map[string][]string{
		"target_qsp":  {"target-qps"},
		"MinDuration": {"min-duration", "max-duration"},
		"target":      {"target-qps", "target-latency"},
		"sample":      {"samples"},
		"xyz":         nil,
		"sam":         {"samples"}, // a beginning needs three letters
		"sa":          nil,
		"Min":         {"min-duration"},
		"mi":          nil,
		"":            nil,
		"-":           nil,
	} {
		require.Equal(t, want, Nearest(word, names), word)
	}
	require.Equal(t, []string{"MODEL", "MODE"}, Nearest("MODLE", []string{"MODE", "MODEL", "OUT"}),
		"a swap and a letter too many are one edit each: the length decides")
	require.Nil(t, Nearest(strings.Repeat("a", 1<<20), names))
	require.Equal(t, []string{"a1", "a2", "a3"}, Nearest("a", []string{"a1", "a2", "a3", "a4", "a1"}))
}

func TestEditDistance(t *testing.T) {
	require.Equal(t, 1, editDistance("qsp", "qps"), "neighbours swapped")
	require.Equal(t, 3, editDistance("", "abc"))
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.StringMatching(`[a-c]{0,8}`).Draw(t, "a"), rapid.StringMatching(`[a-c]{0,8}`).Draw(t, "b")
		d := editDistance(a, b)
		if d != editDistance(b, a) || (d == 0) != (a == b) || d > max(len(a), len(b)) || d < len(a)-len(b) {
			t.Fatalf("distance %d of %q and %q", d, a, b)
		}
	})
}
