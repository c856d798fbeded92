package datasets

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/mlperf-go/mlperf-go/datasets/internal/jsontext"
)

// csvRecords reads comma-separated text (RFC 4180) whose first row contains the column names. It does not use
// encoding/csv, because that changes CR LF inside quotes to LF and holds lines of any length in memory.
type csvRecords struct {
	f      *framer
	plan   *plan
	all    bool // whether to include columns that are not in the schema
	header []csvColumn
	out    []byte // JSON text of the current record
	row    csvRow
	n      int
}

// csvColumn is one column of the file.
type csvColumn struct {
	name  string
	kinds kind
	known bool
}

func newCSV(f *framer, p *plan, all bool) *csvRecords {
	return &csvRecords{f: f, plan: p, all: all}
}

func (c *csvRecords) passed() int   { return c.n }
func (c *csvRecords) shape() string { return "CSV" }

// looksLikeCSV reports whether text begins like a CSV header: it contains a column of the schema, or words separated by
// commas.
func looksLikeCSV(text []byte, p *plan) bool {
	line, _, _ := bytes.Cut(bytes.TrimLeft(text, "\r\n"), []byte{'\n'})
	var row csvRow
	if len(line) == 0 || row.split(line) != nil {
		return false
	}
	for i := range row.cells {
		if _, known := p.byName[string(row.cell(i))]; known {
			return true
		}
	}
	first := line[0] | 0x20
	return len(row.cells) > 1 && (line[0] == '"' || line[0] == '_' || line[0] == ',' || (first >= 'a' && first <= 'z'))
}

func (c *csvRecords) next() ([]byte, int, error) {
	if c.header == nil {
		if line, err := c.readHeader(); err != nil {
			return nil, line, err
		}
	}
	row, line, err := c.readRow()
	if err != nil {
		return nil, line, err
	}
	if f := c.row.split(row); f != nil {
		return nil, line + bytes.Count(row[:f.offset], []byte{'\n'}), &recordError{f}
	}
	if len(c.row.cells) != len(c.header) {
		return nil, line, &recordError{&fault{found: fmt.Sprintf("%d cells", len(c.row.cells)),
			expected: fmt.Sprintf("%d like the header", len(c.header)),
			try:      "put cells with commas, quotes or line breaks in double quotes"}}
	}
	c.out = append(c.out[:0], '{')
	for i, column := range c.header {
		if column.name == "" { // skip the row numbers, which pandas writes in a column without a name
			continue
		}
		c.out = jsontext.AppendKey(c.out, column.name)
		if !column.known && !c.all {
			c.out = append(c.out, "null"...)
			continue
		}
		var f *fault
		if c.out, f = appendCell(c.out, c.row.cell(i), column.kinds); f != nil {
			f.field = column.name
			return nil, line, &recordError{f}
		}
	}
	c.out = append(c.out, '}')
	return c.out, line, nil
}

func (c *csvRecords) readHeader() (int, error) {
	row, line, err := c.readRow()
	c.n = 0
	if err != nil {
		return line, err
	}
	if f := c.row.split(row); f != nil {
		return line, &fileError{fault: f}
	}
	c.header = make([]csvColumn, len(c.row.cells))
	for i := range c.header {
		name := string(c.row.cell(i))
		kinds, known := c.plan.kindsNamed(name)
		if !known {
			kinds = kindText
		}
		c.header[i] = csvColumn{name, kinds, known}
	}
	return line, nil
}

// readRow returns the next row that is not blank, including its line end.
func (c *csvRecords) readRow() ([]byte, int, error) {
	for {
		line := c.f.line
		n, err := c.measure()
		if errors.Is(err, errCut) || errors.Is(err, errTooLong) {
			c.n++
			row := c.f.take(n)
			e := c.explain(row, err)
			return nil, line + bytes.Count(row[:min(e.fault.offset, n)], []byte{'\n'}), e
		}
		if err != nil {
			return nil, line, err
		}
		row := c.f.take(n)
		if len(bytes.TrimRight(row, "\r\n")) == 0 {
			continue
		}
		c.n++
		return row, line, nil
	}
}

// measure returns the length of the next row. A line end inside quotes does not end it.
func (c *csvRecords) measure() (int, error) {
	f, quoted := c.f, false
	for n := 0; ; {
		w := f.buf[f.start:min(f.end, f.start+maxRecord)]
		for ; n < len(w); n++ {
			if w[n] == '"' {
				quoted = !quoted
			} else if w[n] == '\n' && !quoted {
				return n + 1, nil
			}
		}
		if n == maxRecord {
			return n, errTooLong
		}
		if f.fill() {
			continue
		}
		switch {
		case f.readErr != nil:
			return n, f.readErr
		case quoted:
			return n, errCut
		case n == 0:
			return 0, io.EOF
		}
		return n, nil
	}
}

// explain looks for a stray quote, which makes a row seem endless. It reports the place of that quote instead.
func (c *csvRecords) explain(row []byte, err error) *fileError {
	f := c.row.split(row)
	if errors.Is(err, errTooLong) && (f == nil || f.offset > len(row)-3) {
		f = &fault{found: fmt.Sprintf("a row of more than %d MiB", maxRecord>>20), expected: "a shorter one",
			try: "look for a missing double quote"}
	}
	return &fileError{fault: f, err: err}
}

// csvRow is one row split into cells.
type csvRow struct { // the cells without their quotes, concatenated
	text  []byte   // start and end of each in text
	cells [][2]int // start and end of each in text
}

func (r *csvRow) cell(i int) []byte { return r.text[r.cells[i][0]:r.cells[i][1]] }

// split splits a row, which may still have its line end.
func (r *csvRow) split(row []byte) *fault {
	row = bytes.TrimSuffix(bytes.TrimSuffix(row, []byte{'\n'}), []byte{'\r'})
	r.text, r.cells = r.text[:0], r.cells[:0]
	for at := 0; ; at++ {
		start := len(r.text)
		var f *fault
		if at < len(row) && row[at] == '"' {
			at, f = r.quoted(row, at)
		} else {
			at, f = r.bare(row, at)
		}
		if f != nil {
			return f
		}
		r.cells = append(r.cells, [2]int{start, len(r.text)})
		if at >= len(row) {
			return nil
		}
	}
}

func (r *csvRow) bare(row []byte, at int) (int, *fault) {
	n := bytes.IndexByte(row[at:], ',')
	if n < 0 {
		n = len(row) - at
	}
	if q := bytes.IndexByte(row[at:at+n], '"'); q >= 0 {
		return at, &fault{offset: at + q, found: "a double quote inside an unquoted cell, " +
			shown(row[at:at+n]), expected: "the whole cell in double quotes, with inner quotes doubled",
			try: "write the file again with a CSV writer"}
	}
	r.text = append(r.text, row[at:at+n]...)
	return at + n, nil
}

func (r *csvRow) quoted(row []byte, at int) (int, *fault) {
	for at++; ; at += 2 {
		n := bytes.IndexByte(row[at:], '"')
		if n < 0 {
			return at, &fault{offset: len(row), found: "the end of the file inside a quoted cell", expected: "its closing quote",
				try: "get the file again, or look for a missing double quote"}
		}
		r.text = append(r.text, row[at:at+n]...)
		at += n
		if at+1 == len(row) || row[at+1] == ',' {
			return at + 1, nil
		}
		if row[at+1] != '"' {
			return at, &fault{offset: at, found: shown(row[at+1:]) + " after a closing quote",
				expected: "a comma or the end of the row",
				try:      "double the quotes inside a quoted cell"}
		}
		r.text = append(r.text, '"')
	}
}

// appendCell appends a cell as the JSON value that the column's type requires. An empty cell becomes null, since CSV
// has no other notation of null.
func appendCell(dst, cell []byte, kinds kind) ([]byte, *fault) {
	switch {
	case len(cell) == 0:
		return append(dst, "null"...), nil
	case kinds&kindText != 0:
		return jsontext.AppendQuoted(dst, cell), nil
	case kinds&kindIDs != 0:
		return appendCellIDs(dst, cell)
	case kinds&kindBool != 0 && (string(cell) == "True" || string(cell) == "False"):
		return append(dst, strings.ToLower(string(cell))...), nil
	case validJSON(cell):
		return append(dst, cell...), nil
	}
	return jsontext.AppendQuoted(dst, cell), nil
}

// appendCellIDs appends token ids written as a JSON or Python list, or as numbers separated by white space.
func appendCellIDs(dst, cell []byte) ([]byte, *fault) {
	list := bytes.TrimSpace(cell)
	if len(list) >= 2 && list[0] == '[' && list[len(list)-1] == ']' {
		list = list[1 : len(list)-1]
	}
	dst = append(dst, '[')
	s := scanner{b: list}
	for first := true; ; first = false {
		if s.space(); s.pos == len(list) {
			break
		}
		if !first {
			if s.peek() == ',' {
				s.pos++
				s.space()
			}
			dst = append(dst, ',')
		}
		start := s.pos
		f := s.number()
		if next := s.peek(); f != nil || (s.pos < len(list) && next != ',' && next > ' ') {
			end := min(start+24, len(list))
			return dst, &fault{found: shown(list[start:end]) + " among the ids",
				expected: "a list of token ids, such as [1, 2, 3] or 1 2 3",
				try:      "write the cell as a JSON array of integers, or name the column with the ids"}
		}
		dst = append(dst, list[start:s.pos]...)
	}
	return append(dst, ']'), nil
}
