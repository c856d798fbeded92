package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"
)

// page prints text for people. Each line fits a terminal's width. A pipe or a file receives each line unbroken and
// without colour.
type page struct {
	to    io.Writer
	width int // in columns; 0: no limit
	ink   inker
}

// inker colours text and makes it safe to show at the same time, so that foreign text cannot bring its own colour. nil:
// there is no colour.
type inker interface {
	Paint(before, text, after string) error
}

// colour is the escape sequence that starts a colour on a terminal.
type colour string

// Green marks what passed, red what failed, and yellow what a user should check.
const (
	plain  colour = ""
	green  colour = "\x1b[32m"
	red    colour = "\x1b[31m"
	yellow colour = "\x1b[33m"
	reset         = "\x1b[0m"
)

// colourOf maps the words of verdicts and states to their colours.
var colourOf = map[string]colour{
	"VALID": green, "INVALID": red, "INTERRUPTED": red,
	"ok": green, "missing": red, "warning": yellow,
	"valid": green, "invalid": red, "rehearsal": yellow,
	"done": green, "failed": red, "crashed": red, "PASS": green, "FAIL": red, "WRONG:": red,
	"error": red, "warn": yellow,
}

// The width of text in columns: a terminal's own width up to widest.
const (
	narrowest = 40
	widest    = 120
)

// newPage returns a page that writes to writer, which ends in to. environ may turn colour off (https://no-color.org).
func newPage(to inkWriter, writer io.Writer, environ []string) page {
	width, ok := terminalWidth(writer)
	if !ok {
		return page{to: to}
	}
	p := page{to: to, width: min(max(width, narrowest), widest)}
	if t := valueOf(environ, "TERM"); t != "" && t != "dumb" && valueOf(environ, "NO_COLOR") == "" {
		p.ink = to
	}
	return p
}

type inkWriter interface {
	io.Writer
	inker
}

// terminalWidth returns the columns of a terminal. ok is false for anything else.
func terminalWidth(w io.Writer) (columns int, ok bool) {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0, false
	}
	columns, _, err := term.GetSize(int(f.Fd()))
	if err != nil || columns <= 0 {
		columns = usualWidth
	}
	return columns, true
}

// paint writes text in a colour. The console reports errors of the page's writer.
func (p page) paint(c colour, text string) {
	if p.ink == nil || c == plain {
		_, _ = io.WriteString(p.to, text)
		return
	}
	_ = p.ink.Paint(string(c), text, reset)
}

// line prints lines, folded at the page's width. Further lines are indented like the first.
func (p page) line(format string, args ...any) { p.labelled(plain, "", fmt.Sprintf(format, args...)) }

// labelled prints a label in a colour and the lines of a text after it, folded at the page's width. A long paragraph
// becomes a list.
func (p page) labelled(c colour, label, text string) {
	at, column := 0, 0
	if label != "" {
		p.paint(c, label)
		p.paint(plain, " ")
		at = utf8.RuneCountInString(label) + 1
		column = min(at, deepest)
	}
	if label != "" {
		text = listed(text)
	}
	for l := range strings.SplitSeq(text, "\n") {
		if p.width > 0 && at+utf8.RuneCountInString(l) > p.width {
			first := len(l) - len(strings.TrimLeft(l, " "))
			further := first
			if strings.HasPrefix(l[first:], item) {
				further += len(item)
			}
			l = l[:first] + fold(l[first:], at+first, column+further, p.width)
		}
		fmt.Fprintln(p.to, l)
		at, column = 0, 0
	}
}

// deepest is the largest indent of lines after the first.
const deepest = 8

// fold breaks a text at its blanks. The first line starts at column at, and the others at column. A word that is too
// long for a line is not broken, so that addresses and paths can be copied. The same applies to a quoted command that
// fits a line.
func fold(text string, at, column, width int) string {
	var b strings.Builder
	for i, w := range words(text, width-column) {
		n := utf8.RuneCountInString(w)
		switch {
		case i > 0 && at+1+n > width:
			b.WriteString("\n" + strings.Repeat(" ", column))
			at = column
		case i > 0:
			b.WriteString(" ")
			at++
		}
		b.WriteString(w)
		at += n
	}
	return b.String()
}

// words splits a text at its blanks. Text between two backquotes is one word if it has at most most characters.
func words(text string, most int) []string {
	var list []string
	open := -1 // where an unfinished quotation begins in list
	for _, w := range strings.Fields(text) {
		list = append(list, w)
		if strings.Count(w, "`")%2 == 0 {
			continue
		}
		if open < 0 {
			open = len(list) - 1
			continue
		}
		if whole := strings.Join(list[open:], " "); utf8.RuneCountInString(whole) <= most {
			list = append(list[:open], whole)
		}
		open = -1
	}
	return list
}

// shellLines breaks a shell command at its blanks into lines of at most width columns that can be copied: all but the
// last end with a backslash. It does not break quoted words and parentheses. Without a width the command stays on one
// line.
func shellLines(command string, width int) []string {
	if width <= 0 || utf8.RuneCountInString(command) <= width {
		return []string{command}
	}
	var lines []string
	line := ""
	for _, w := range shellWords(command) {
		switch {
		case line == "":
			line = w
		case utf8.RuneCountInString(line+" "+w+` \`) <= width:
			line += " " + w
		default:
			lines, line = append(lines, line+` \`), "  "+w
		}
	}
	return append(lines, line)
}

// shellWords splits a command at the blanks outside quotations and parentheses.
func shellWords(command string) []string {
	var words []string
	from, depth, quote := 0, 0, byte(0)
	for i := 0; i < len(command); i++ {
		switch ch := command[i]; {
		case ch == '\\' && quote != '\'':
			i++
		case quote != 0:
			if ch == quote {
				quote = 0
			}
		case ch == '\'' || ch == '"':
			quote = ch
		case ch == '(':
			depth++
		case ch == ')':
			depth--
		case ch == ' ' && depth == 0:
			if i > from {
				words = append(words, command[from:i])
			}
			from = i + 1
		}
	}
	return append(words, command[from:])
}

// item begins an item of a list.
const item = "- "

// longestParagraph is the length in bytes above which a paragraph becomes a list.
const longestParagraph = 300

// listed converts a paragraph that is too long to its first clause and a list of the others. Lines after the first,
// such as the end of a log, stay unchanged.
func listed(text string) string {
	paragraph, rest, more := strings.Cut(text, "\n")
	if len(paragraph) <= longestParagraph {
		return text
	}
	var parts []string
	for i, sentence := range divided(paragraph, ". ") {
		of := clauses(sentence)
		if i == 0 && len(of) > 2 { // the subject of the clauses is before the last colon
			if heads := divided(of[0], ": "); len(heads) > 1 {
				last := heads[len(heads)-1]
				of = append([]string{strings.TrimSuffix(of[0], " "+last), last}, of[1:]...)
			}
		}
		for _, clause := range of {
			parts = append(parts, strings.TrimRight(clause, ";"))
		}
	}
	if len(parts) > 1 {
		paragraph = strings.TrimRight(parts[0], ".:") + ":"
		for _, p := range parts[1:] {
			paragraph += "\n  " + item + p
		}
	}
	if more {
		paragraph += "\n" + rest
	}
	return paragraph
}

// clauses divides a long sentence at its semicolons, and a long clause with others in parentheses at those.
func clauses(sentence string) []string {
	if len(sentence) <= longestClause {
		return []string{sentence}
	}
	var parts []string
	for _, clause := range divided(sentence, "; ") {
		before, after, ok := strings.Cut(clause, " (")
		inner, behind, closed := cutLast(after, ")")
		reasons := divided(inner, "; ")
		if len(clause) <= longestClause || !ok || !closed || !balanced(inner) || len(reasons) == 1 ||
			strings.Trim(behind, ".,;:") != "" {
			parts = append(parts, clause)
			continue
		}
		parts = append(append(parts, before), reasons...)
	}
	return parts
}

// balanced reports whether each parenthesis in a text has its partner there.
func balanced(text string) bool {
	depth := 0
	for _, r := range text {
		switch {
		case r == '(':
			depth++
		case r == ')' && depth == 0:
			return false
		case r == ')':
			depth--
		}
	}
	return depth == 0
}

// longestClause is the length in bytes above which a clause is divided.
const longestClause = 150

// cutLast is strings.Cut at the last mark.
func cutLast(text, mark string) (before, after string, found bool) {
	i := strings.LastIndex(text, mark)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+len(mark):], true
}

// divided splits a text at a mark and a blank, outside quotations and parentheses. Each part keeps its mark.
func divided(text, mark string) []string {
	var parts []string
	from, depth := 0, 0
	quoted := map[byte]bool{}
	for i := 0; i < len(text); i++ {
		switch ch := text[i]; {
		case (ch == '"' || ch == '`') && (i == 0 || text[i-1] != '\\'):
			quoted[ch] = !quoted[ch]
		case ch == '(':
			depth++
		case ch == ')':
			depth--
		case depth <= 0 && !quoted['"'] && !quoted['`'] && strings.HasPrefix(text[i:], mark):
			parts = append(parts, text[from:i+1])
			from = i + len(mark)
		}
	}
	return append(parts, text[from:])
}
