package accuracy

import (
	"regexp"
	"strings"
)

const (
	fence       = "```"
	pythonFence = "```python"
)

// pythonBlock returns the first fenced block marked as Python, stripped.
func pythonBlock(text string) (string, bool) {
	blocks := fenced(pyStrip(text), pythonFence)
	if len(blocks) == 0 {
		return "", false
	}
	return pyStrip(blocks[0]), true
}

// harmonyCode returns the program in text with harmony markers: the last block of the final section that is marked as
// Python, or else the section's last block. If the final section has no block, it searches the whole text the same way.
func harmonyCode(text string) (string, bool) {
	text = pyStrip(text)
	if final := finalSection(text); final != text {
		if code, ok := lastBlock(final); ok {
			return code, true
		}
	}
	return lastBlock(text)
}

// fenced returns each text between an opening fence and the next fence.
func fenced(text, opening string) []string {
	var out []string
	for {
		_, rest, ok := strings.Cut(text, opening)
		if !ok {
			return out
		}
		block, after, ok := strings.Cut(rest, fence)
		if !ok {
			return out
		}
		out = append(out, block)
		text = after
	}
}

// languageLine matches the language's name at the start of a block and the following line breaks.
var languageLine = regexp.MustCompile(`^(?i:python|py)` + spaceClass + `*\n`)

func lastBlock(text string) (string, bool) {
	if blocks := fenced(text, pythonFence); len(blocks) > 0 {
		return pyStrip(blocks[len(blocks)-1]), true
	}
	if blocks := fenced(text, fence); len(blocks) > 0 {
		return languageLine.ReplaceAllString(pyStrip(blocks[len(blocks)-1]), ""), true
	}
	return "", false
}
