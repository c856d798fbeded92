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
	reference  = regexp.MustCompile(`\$(?:(\w+)|\{(\w+)(?:(:?-)([^}$]*))?\})`)
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
		for text != "" {
			m := assignment.FindStringSubmatch(text)
			if m == nil {
				notes = append(notes, fmt.Sprintf("scenario %s line %d: not an assignment, ignored: %.60q", name, n, text))
				break
			}
			value, next, why := shellValue(m[2], lookup)
			switch {
			case inside.depth > 0:
				next, why = "", "whether it is set depends on commands"
			case why == openQuote:
				inside.quote = m[2][0]
			case len(value) > longestLine:
				why = "it is too long"
			}
			if text = next; why == "" {
				values[m[1]] = value
				continue
			}
			notes = append(notes, fmt.Sprintf("scenario %s line %d: %s is left out: %s", name, n, m[1], why))
		}
	}
	if err := lines.Err(); err != nil {
		return nil, nil, fmt.Errorf("scenario %s: %w", name, err)
	}
	if inside.until != "" {
		notes = append(notes, fmt.Sprintf("scenario %s: the here-document has no line %q, so that all lines below it are "+
			"left out", name, inside.until))
	}
	return values, notes, nil
}

// block is the part of a shell file that a line belongs to.
type block struct {
	depth int    // conditions, loops and functions around the line
	until string // last line of the here-document
	quote byte   // of a value that ends on a later line; 0: none
}

var (
	heredoc = regexp.MustCompile(`(?:^|[^<])<<-?\s*["']?(\w+)`)
	opens   = regexp.MustCompile(`^(?:if|for|while|until|case|select|function)\b|^[\w-]+\s*\(\)|^[{(]`)
	closes  = regexp.MustCompile(`(?:^|[;\s])(?:fi|done|esac|[})])\s*(?:[;|&<>].*)?$`)
)

// skips moves on to a line and reports whether it is part of a here-document, or of a value of several lines.
func (b *block) skips(line string) bool {
	switch {
	case b.quote != 0:
		if strings.IndexByte(line, b.quote) >= 0 {
			b.quote = 0
		}
		return true
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

// openQuote is why a value is left out that goes on in the lines below.
const openQuote = "its quote does not end on the line"

// shellValue returns the text of a shell word, or why it has none. next is what follows its semicolon. Without one,
// only a comment may follow, because other text is a second assignment, or a command that alone gets the value.
func shellValue(text string, lookup Lookup) (value, next, why string) {
	quote := firstByte(text)
	rest := ""
	switch quote {
	case '"', '\'':
		end := strings.IndexByte(text[1:], quote)
		if end < 0 {
			return "", "", openQuote
		}
		text, rest = text[1:end+1], text[end+2:]
	default:
		if end := strings.IndexAny(text, " \t;"); end >= 0 {
			text, rest = text[:end], text[end:]
		}
	}
	if rest = strings.TrimSpace(rest); firstByte(rest) == ';' {
		next = strings.TrimLeft(rest, "; \t")
	} else if rest != "" && rest[0] != '#' {
		return "", "", "text follows its value"
	}
	if firstByte(next) == '#' {
		next = ""
	}
	value, why = expanded(text, quote, lookup)
	return value, next, why
}

// expanded replaces the variables in a word with the given quote, or returns why it has no value.
func expanded(text string, quote byte, lookup Lookup) (value, why string) {
	switch {
	case quote == '\'':
		return text, ""
	case strings.Contains(text, "$(") || strings.Contains(text, "`") || quote != '"' && strings.ContainsAny(text, "&|<>"):
		return "", "it would run a command"
	case strings.ContainsRune(text, '\\'):
		return "", "it contains a backslash; write it in single quotes"
	case quote != '"' && strings.ContainsAny(text, `"'`):
		return "", "only a part of it has quotes"
	case strings.ContainsRune(reference.ReplaceAllString(text, ""), '$'):
		return "", "of the shell's expansions only $NAME, ${NAME} and ${NAME:-DEFAULT} are read"
	}
	return reference.ReplaceAllStringFunc(text, func(found string) string {
		m := reference.FindStringSubmatch(found)
		if v, ok := lookup(m[1] + m[2]); ok && (v != "" || m[3] != ":-") {
			return v
		}
		return m[4]
	}), ""
}

func firstByte(s string) byte {
	if s == "" {
		return 0
	}
	return s[0]
}
