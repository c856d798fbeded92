package arch

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// Limits of a page: columns of a line of prose, sentences in a paragraph, words in a table's cell.
const (
	widestProse   = 100
	mostSentences = 5
	mostWords     = 25
)

var (
	block    = regexp.MustCompile("(?ms)^ *```.*?^ *```")
	span     = regexp.MustCompile("`[^`]*`|\\([^)]*\\)")
	item     = regexp.MustCompile(`(?m)^ *(?:[-*]|\d+\.) `)
	sentence = regexp.MustCompile(`[.!?](?:\s+[A-Z*x\[]|\s*$)`)
	column   = regexp.MustCompile(`(?:^|[^\\])\|`)
)

// pageFaults returns the faults that make a page hard to read. Tables may be wide, and code blocks are not checked.
func pageFaults(text string) []string {
	var faults []string
	text = block.ReplaceAllString(text, "")
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") {
			if n := utf8.RuneCountInString(line); n > widestProse && strings.Contains(line, " ") {
				faults = append(faults, fmt.Sprintf("%d columns: %.60s", n, line))
			}
			continue
		}
		for _, cell := range column.Split(line, -1) {
			if n := len(strings.Fields(cell)); n > mostWords {
				faults = append(faults, fmt.Sprintf("%d words in a cell: %.60s", n, cell))
			}
		}
	}
	for _, paragraph := range strings.Split(item.ReplaceAllString(text, "\n\n"), "\n\n") {
		if strings.HasPrefix(paragraph, "|") {
			continue
		}
		if n := len(sentence.FindAllString(span.ReplaceAllString(paragraph, "x"), -1)); n > mostSentences {
			faults = append(faults, fmt.Sprintf("%d sentences: %.60s", n, paragraph))
		}
	}
	return faults
}

func TestPagesAreEasyToRead(t *testing.T) {
	pages := documents(t, ".md")
	require.Greater(t, len(pages), 20)
	for _, name := range slices.Sorted(maps.Keys(pages)) {
		for _, fault := range pageFaults(pages[name]) {
			t.Errorf("%s: %s", name, fault)
		}
	}
}

func TestPageFaults(t *testing.T) {
	wide := strings.Repeat("word ", 21)
	require.Empty(t, pageFaults("One. Two (a. B.). Three. Four. `Five. Six.`\n\n- One. Two. Three.\n- One. Two. Three.\n"))
	require.Empty(t, pageFaults("```\n"+wide+"\n```\n\n| "+wide+"| "+wide+"|\n"))
	require.Equal(t, []string{"104 columns: " + wide[:60]}, pageFaults(wide))
	require.Equal(t, []string{"26 words in a cell: " + wide[:60]}, pageFaults("|"+wide+"a b c d e | x |"))
	require.Equal(t, []string{"6 sentences: One. Two. Three. Four. Five. Six."},
		pageFaults("One. Two. Three. Four. Five. Six."))
}
