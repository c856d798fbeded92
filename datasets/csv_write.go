package datasets

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
)

// csvWriter writes records as comma-separated text. It writes a text unchanged, any other value as JSON, and a missing
// value as an empty cell.
type csvWriter struct {
	w     *bufio.Writer
	place map[string]int
	cells [][]byte
	n     int
}

func newCSVWriter(w io.Writer, columns *columnCells) *csvWriter {
	c := &csvWriter{w: bufio.NewWriterSize(w, 1<<20), place: map[string]int{}, cells: make([][]byte, len(columns.order))}
	for i, name := range columns.order {
		c.place[name] = i
		c.cell(i, []byte(name))
	}
	c.w.WriteString("\n")
	return c
}

func (c *csvWriter) write(record []byte, _ *Sample) error {
	c.n++
	clear(c.cells)
	err := members(record, func(name string, value []byte) error {
		if value[0] == '"' {
			text, ok := unquote(nil, value[1:len(value)-1])
			if !ok {
				return fmt.Errorf("writing record %d as CSV: field %q has an unpaired surrogate, which UTF-8 cannot represent", c.n,
					name)
			}
			value = text
		} else if value[0] == 'n' {
			value = nil
		}
		c.cells[c.place[name]] = value
		return nil
	})
	if err != nil {
		return err
	}
	for i, cell := range c.cells {
		c.cell(i, cell)
	}
	_, err = c.w.WriteString("\n")
	return err
}

// cell writes one cell with its quotes doubled. bufio.Writer keeps a write error until Flush.
func (c *csvWriter) cell(i int, text []byte) {
	if i > 0 {
		c.w.WriteByte(',')
	}
	if !bytes.ContainsAny(text, ",\"\r\n") {
		c.w.Write(text)
		return
	}
	c.w.WriteByte('"')
	c.w.Write(bytes.ReplaceAll(text, []byte{'"'}, []byte(`""`)))
	c.w.WriteByte('"')
}

func (c *csvWriter) close() error { return c.w.Flush() }
