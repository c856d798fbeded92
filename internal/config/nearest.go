package config

import (
	"cmp"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf-go/internal/ordering"
)

// longestWord is the maximum length of a word that Nearest compares, in bytes, because the comparison takes quadratic
// time. Every name in this program is shorter.
const longestWord = 96

// Nearest returns at most three candidates that word may be a misspelling of, best first.
//
// Letter case and "-", "_" and "." are ignored. Close spellings (edit distance up to a third of the word) precede
// candidates that begin with the word. Among equally close candidates, those with the length of the word come first.
func Nearest(word string, candidates []string) []string {
	w := fold(word)
	if w == "" || len(w) > longestWord {
		return nil
	}
	type hit struct {
		name          string
		distance, off int
	}
	var hits []hit
	limit := max(1, len(w)/3)
	for _, c := range candidates {
		f := fold(c)
		if len(f) > longestWord {
			continue
		}
		off := max(len(w)-len(f), len(f)-len(w))
		switch d := editDistance(w, f); {
		case d <= limit:
			hits = append(hits, hit{c, d, off})
		case len(w) >= 3 && strings.HasPrefix(f, w):
			hits = append(hits, hit{c, longestWord + d, off})
		}
	}
	ordering.Sort(hits, func(a, b hit) int {
		return cmp.Or(a.distance-b.distance, a.off-b.off)
	})
	var names []string
	for _, h := range hits {
		if len(names) < 3 && !slices.Contains(names, h.name) {
			names = append(names, h.name)
		}
	}
	return names
}

var foldSeparators = strings.NewReplacer("_", "", "-", "", ".", "", " ", "")

func fold(s string) string {
	if len(s) > 4*longestWord {
		s = s[:4*longestWord]
	}
	return foldSeparators.Replace(strings.ToLower(s))
}

// editDistance counts the insertions, deletions, replacements and swaps of adjacent bytes that turn a into b.
func editDistance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

// NotOneOf returns the end of an error about an unknown word. It lists the known ones, and suggests similar ones.
func NotOneOf(word string, known []string) string {
	return "is not one of " + strings.Join(known, ", ") + DidYouMean(word, known)
}

// DidYouMean returns the end of an error message about an unknown word, or "" if no candidate is similar.
func DidYouMean(word string, candidates []string) string {
	near := Nearest(word, candidates)
	if len(near) == 0 {
		return ""
	}
	return "; did you mean " + strings.Join(near, " or ") + "?"
}
