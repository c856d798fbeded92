package accuracy

import "strings"

// maxLatexDepth is the maximum nesting of groups and arguments.
const maxLatexDepth = 200

// latexText converts LaTeX to plain text: fractions with a slash, roots as sqrt(...), Greek letters as characters.
func latexText(source string) string {
	s := rewriteAll(source, []rewrite{{`\tfrac`, `\frac`}, {`\dfrac`, `\frac`}, {`\frac`, ` \frac`}})
	l := latex{s: s}
	var b strings.Builder
	for l.at < len(l.s) {
		l.node(&b, 0)
		if l.failed {
			return source
		}
	}
	return pyStrip(strings.NewReplacer("√", "sqrt", "π", "pi", "∞", "inf", "∪", "U", "·", "*", "×",
		"*").Replace(b.String()))
}

// latex walks LaTeX source.
type latex struct {
	s      string
	at     int
	failed bool // the reference's converter fails on this source
}

// node writes the next node: a group, a command with its arguments, or a character.
func (l *latex) node(b *strings.Builder, depth int) {
	if depth > maxLatexDepth {
		l.failed, l.at = true, len(l.s)
		return
	}
	switch c := l.s[l.at]; c {
	case '{':
		l.at++
		l.group(b, depth+1)
	case '}', '$':
		l.at++
	case '~':
		l.at++
		b.WriteRune('\u00a0')
	case '&':
		l.at++
		b.WriteByte(' ')
	case '\\':
		l.at++
		l.command(b, l.name(), depth+1)
	default:
		for _, mark := range typographic {
			if strings.HasPrefix(l.s[l.at:], mark.old) {
				l.at += len(mark.old)
				b.WriteString(mark.by)
				return
			}
		}
		l.at++
		b.WriteByte(c)
	}
}

// group writes nodes up to the closing brace.
func (l *latex) group(b *strings.Builder, depth int) {
	for l.at < len(l.s) {
		if l.s[l.at] == '}' {
			l.at++
			return
		}
		l.node(b, depth)
	}
}

// name parses a command's name: letters and the following blanks, or one other character.
func (l *latex) name() string {
	start := l.at
	for l.at < len(l.s) && fold(rune(l.s[l.at])) != 0 {
		l.at++
	}
	if l.at == start {
		l.at = min(l.at+1, len(l.s))
		return l.s[start:l.at]
	}
	name := l.s[start:l.at]
	for l.at < len(l.s) && l.s[l.at] == ' ' {
		l.at++
	}
	return name
}

// argument returns the next group or single node as text.
func (l *latex) argument(depth int) string {
	var b strings.Builder
	for l.at < len(l.s) && l.s[l.at] == ' ' {
		l.at++
	}
	if l.at < len(l.s) {
		l.node(&b, depth)
	}
	return b.String()
}

// option skips an optional argument in brackets.
func (l *latex) option() {
	if l.at < len(l.s) && l.s[l.at] == '[' {
		if end := strings.IndexByte(l.s[l.at:], ']'); end >= 0 {
			l.at += end + 1
		}
	}
}

func (l *latex) command(b *strings.Builder, name string, depth int) {
	switch name {
	case "frac":
		above := l.argument(depth)
		b.WriteString(above + "/" + l.argument(depth))
	case "sqrt":
		l.option()
		b.WriteString("√(" + l.argument(depth) + ")")
	case "begin":
		l.environment(b, l.argument(depth), depth)
	case "end":
		l.argument(depth)
	case `\`:
		l.at += len(l.s[l.at:]) - len(strings.TrimPrefix(l.s[l.at:], "*"))
		b.WriteByte('\n')
	default:
		if a, ok := latexAlphabets[name]; ok {
			b.WriteString(strings.Map(a.styled, l.argument(depth)))
		} else if accent, ok := latexAccents[name]; ok {
			b.WriteString(l.argument(depth) + accent)
		} else {
			b.WriteString(latexSymbols[name])
		}
	}
}

// matrices are the environments written as rows; other environments keep their content.
var matrices = map[string]bool{"array": true, "pmatrix": true, "bmatrix": true, "smallmatrix": true,
	"psmallmatrix": true, "bsmallmatrix": true}

// environment writes a matrix as [ a b; c d ].
func (l *latex) environment(b *strings.Builder, name string, depth int) {
	if strings.ContainsAny(name, "()[]/+=^,\\") {
		l.failed = true
		return
	}
	if !matrices[name] {
		return
	}
	if name == "array" && l.at < len(l.s) && l.s[l.at] == '{' {
		l.argument(depth)
	}
	content, after, _ := strings.Cut(l.s[l.at:], `\end{`+name+"}")
	l.at = len(l.s) - len(after)
	inner := latex{s: content}
	var text strings.Builder
	for inner.at < len(inner.s) {
		inner.node(&text, depth)
	}
	rows := strings.Split(text.String(), "\n")
	for i := range rows {
		rows[i] = strings.Join(strings.Fields(rows[i]), " ")
	}
	l.failed = l.failed || inner.failed
	b.WriteString("[ " + strings.Join(rows, "; ") + " ]")
}
