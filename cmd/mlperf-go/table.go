package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// table aligns cells that are separated by tabs; Flush prints them. A line without a tab ends a group, and each group
// has its own columns. The last cell of a line may be longer than its column.
//
// On a page with a width, cells that are too long continue on the next lines.
type table struct {
	page
	text  bytes.Buffer
	words []int // columns with words of the program, which are coloured
}

// gap is the number of blanks between two columns.
const gap = 2

// table returns an empty table. The columns in words contain verdicts and states, and never foreign text.
func (p page) table(words ...int) *table { return &table{page: p, words: words} }

// Write appends lines.
func (t *table) Write(b []byte) (int, error) { return t.text.Write(b) }

// row appends one line.
func (t *table) row(cells ...any) {
	for i, c := range cells {
		if i > 0 {
			t.text.WriteByte('\t')
		}
		fmt.Fprint(&t.text, c)
	}
	t.text.WriteByte('\n')
}

// Flush prints the table.
func (t *table) Flush() {
	var group [][]string
	for l := range strings.Lines(t.text.String()) {
		cells := strings.Split(strings.TrimSuffix(l, "\n"), "\t")
		if len(cells) > 1 {
			group = append(group, cells)
			continue
		}
		t.print(group)
		group = nil
		t.printLine(cells[0])
	}
	t.print(group)
	t.text.Reset()
}

// printLine prints a line without a tab.
func (t *table) printLine(l string) {
	if c := t.colour(0, l); c != plain {
		word, rest, _ := strings.Cut(l, " ")
		t.labelled(c, word, rest)
		return
	}
	t.line("%s", l)
}

func (t *table) print(group [][]string) {
	columns := t.columns(group)
	for _, cells := range group {
		t.printRow(cells, columns)
	}
}

// columns returns the widths of a group's columns without the gaps. Columns are as wide as their cells; if the page
// requires it, the widest ones are narrower.
func (t *table) columns(group [][]string) []int {
	var columns, words []int // by column, the widths of the longest word
	for _, cells := range group {
		for i, c := range cells[:len(cells)-1] {
			if i == len(columns) {
				columns, words = append(columns, 0), append(words, 0)
			}
			columns[i] = max(columns[i], utf8.RuneCountInString(c))
			for _, w := range strings.Fields(c) {
				words[i] = max(words[i], utf8.RuneCountInString(w))
			}
		}
	}
	if t.width == 0 {
		return columns
	}
	for over(group, columns, t.width) {
		i := widestOf(columns, words)
		if i < 0 {
			i = slices.Index(columns, slices.Max(columns)) // break words
		}
		if columns[i] <= narrowestCell {
			break
		}
		columns[i]--
	}
	return columns
}

// widestOf returns the widest column of those that are wider than their longest word; otherwise -1.
func widestOf(columns, words []int) int {
	widest := -1
	for i, w := range columns {
		if w > words[i] && (widest < 0 || w > columns[widest]) {
			widest = i
		}
	}
	return widest
}

// The smallest widths of cells, in columns: inside a table, and for the free text at the end of a line.
const (
	narrowestCell = 8
	narrowestText = 24
)

// over reports whether a line of the group leaves too little room for its last cell.
func over(group [][]string, columns []int, width int) bool {
	for _, cells := range group {
		last := len(cells) - 1
		need := min(utf8.RuneCountInString(cells[last]), narrowestText)
		for _, w := range strings.Fields(cells[last]) {
			if n := utf8.RuneCountInString(w); n <= width/2 {
				need = max(need, n)
			}
		}
		if startOf(columns, last)+need > width {
			return true
		}
	}
	return false
}

// startOf returns where a column begins.
func startOf(columns []int, i int) int {
	at := i * gap
	for _, w := range columns[:i] {
		at += w
	}
	return at
}

// printRow prints one line of the table, on as many lines of the page as its longest cell needs.
func (t *table) printRow(cells []string, columns []int) {
	parts, high := make([][]string, len(cells)), 1
	for i, c := range cells {
		parts[i] = []string{c}
		if t.width > 0 {
			room := t.width - startOf(columns, i)
			if i < len(cells)-1 {
				room = columns[i]
			}
			parts[i] = foldCell(c, room, i < len(cells)-1)
		}
		high = max(high, len(parts[i]))
	}
	for l := range high {
		blanks := 0 // blanks before the next text, written later so that no line ends with blanks
		for i, p := range parts {
			cell := ""
			if l < len(p) {
				cell = p[l]
			}
			if cell != "" {
				t.paint(plain, strings.Repeat(" ", blanks))
				t.paint(t.colour(i, cell), cell)
				blanks = 0
			}
			if i < len(columns) {
				blanks += columns[i] + gap - utf8.RuneCountInString(cell)
			}
		}
		t.paint(plain, "\n")
	}
}

// colour returns the colour of a cell: that of its first word.
func (t *table) colour(column int, cell string) colour {
	if !slices.Contains(t.words, column) {
		return plain
	}
	word, _, _ := strings.Cut(cell, " ")
	return colourOf[word]
}

// foldCell breaks a cell into lines of at most width columns. With hard it also breaks words, if possible at a slash.
func foldCell(cell string, width int, hard bool) []string {
	if utf8.RuneCountInString(cell) <= width {
		return []string{cell}
	}
	indent := len(cell) - len(strings.TrimLeft(cell, " "))
	lines := strings.Split(cell[:indent]+fold(cell[indent:], indent, indent, width), "\n")
	if !hard {
		return lines
	}
	var parts []string
	for _, l := range lines {
		runes := []rune(l)
		for len(runes) > width {
			cut := width
			if slash := strings.LastIndex(string(runes[:width]), "/") + 1; slash > 0 {
				cut = utf8.RuneCountInString(string(runes[:width])[:slash])
			}
			parts, runes = append(parts, string(runes[:cut])), runes[cut:]
		}
		parts = append(parts, string(runes))
	}
	return parts
}
