package template

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// Bounds of a scenario file.
const (
	longestLine = 64 << 10
	mostLines   = 10_000
)

var (
	assignment = regexp.MustCompile(`^\s*(?:export\s+)?([A-Za-z_]\w*)=(.*)$`)
	reference  = regexp.MustCompile(`\$(?:(\w+)|\{(\w+)(?::?-([^}]*))?\})`)
)

// Scenario reads the assignments of a shell file, such as `export NAME="value"`. It never executes anything: a value
// may refer to variables, but one that would run a command is left out, and a note reports it. lookup returns variables
// that the file itself does not set.
func Scenario(name string, r io.Reader, lookup Lookup) (values map[string]string, notes []string, err error) {
	values = map[string]string{}
	lookup = First(Map(values), lookup)
	var inside block
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, longestLine)
	for n := 1; lines.Scan(); n++ {
		if n > mostLines {
			return nil, nil, fmt.Errorf("scenario %s has more than %d lines", name, mostLines)
		}
		text := strings.TrimSpace(lines.Text())
		if inside.skips(text) || text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		m := assignment.FindStringSubmatch(text)
		if m != nil && inside.depth > 0 {
			notes = append(notes, fmt.Sprintf("scenario %s line %d: %s is left out: whether it is set depends on commands",
				name, n, m[1]))
			continue
		}
		if m == nil {
			notes = append(notes, fmt.Sprintf("scenario %s line %d: not an assignment, ignored: %.60q", name, n, text))
			continue
		}
		value, why := shellValue(m[2], lookup)
		if len(value) > longestLine {
			why = "it is too long"
		}
		if why != "" {
			notes = append(notes, fmt.Sprintf("scenario %s line %d: %s is left out: %s", name, n, m[1], why))
			continue
		}
		values[m[1]] = value
	}
	if err := lines.Err(); err != nil {
		return nil, nil, fmt.Errorf("scenario %s: %w", name, err)
	}
	return values, notes, nil
}

// block is the part of a shell file that a line belongs to.
type block struct {
	depth int    // conditions, loops and functions around the line
	until string // last line of the here-document
}

var (
	heredoc = regexp.MustCompile(`(?:^|[^<])<<-?\s*["']?(\w+)`)
	opens   = regexp.MustCompile(`^(?:if|for|while|until|case|select|function)\b|^[\w-]+\s*\(\)|^[{(]`)
	closes  = regexp.MustCompile(`(?:^|[;\s])(?:fi|done|esac|[})])\s*(?:[;|&<>].*)?$`)
)

// skips moves on to a line and reports whether it is part of a here-document.
func (b *block) skips(line string) bool {
	switch {
	case b.until != "":
		if line == b.until {
			b.until = ""
		}
		return true
	case strings.HasPrefix(line, "#"):
		return false
	}
	if m := heredoc.FindStringSubmatch(line); m != nil {
		b.until = m[1]
	}
	if opens.MatchString(line) {
		b.depth++
	}
	if b.depth > 0 && closes.MatchString(line) {
		b.depth--
	}
	return false
}

// shellValue returns the text of a shell word, or why it has none.
func shellValue(text string, lookup Lookup) (value, why string) {
	expand := true
	switch quote := firstByte(text); quote {
	case '"', '\'':
		end := strings.IndexByte(text[1:], quote)
		if end < 0 {
			return "", "its quote does not end on the line"
		}
		if rest := strings.TrimSpace(text[end+2:]); rest != "" && rest[0] != '#' && rest[0] != ';' {
			return "", "text follows its quote"
		}
		text, expand = text[1:end+1], quote == '"'
	default:
		text, _, _ = strings.Cut(text, " ")
	}
	if !expand {
		return text, ""
	}
	if strings.Contains(text, "$(") || strings.ContainsAny(text, "`") {
		return "", "it would run a command"
	}
	return reference.ReplaceAllStringFunc(text, func(found string) string {
		m := reference.FindStringSubmatch(found)
		if v, ok := lookup(m[1] + m[2]); ok {
			return v
		}
		return m[3]
	}), ""
}

func firstByte(s string) byte {
	if s == "" {
		return 0
	}
	return s[0]
}
