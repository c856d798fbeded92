package datasets

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/mlperf-go/mlperf-go/datasets/internal/jsontext"
)

// maxColumnar is the maximum size in bytes of the kept columns of a JSON object. The reader holds them until it has
// read the last column.
const maxColumnar = 2 << 30

// jsonColumns reads one JSON object whose members are columns: arrays with one value per record.
type jsonColumns struct {
	f     *framer
	plan  *plan
	all   bool
	read  bool
	names []string   // columns in the file's order
	kept  [][][]byte // JSON texts of the values, by column; nil for a column that is not in the schema
	rows  int
	arena arena[byte] // memory of the kept values
	bytes int         // number of bytes in the arena
	out   []byte
	n     int
}

func newColumns(f *framer, p *plan, all bool) *jsonColumns {
	return &jsonColumns{f: f, plan: p, all: all, arena: arena[byte]{block: 1 << 20}}
}

func (c *jsonColumns) passed() int   { return c.n }
func (c *jsonColumns) shape() string { return shapeColumns }

// columnar reports whether the content is an object of columns. The first column of the schema with a conclusive value
// decides: an array where a record has another kind, or an array of arrays where a record has an array.
func columnar(f *framer, p *plan) bool {
	if c, more := f.peek(); !more || c != '{' {
		return false
	}
	for size := 64 << 10; ; size *= 2 {
		head := f.head(size)
		columns, settled := settle(head, p)
		if settled || len(head) < size {
			return columns
		}
		if size >= maxRecord {
			return true // the object is too long to be a record
		}
	}
}

// settle examines those members of the first object that are completely in head.
func settle(head []byte, p *plan) (columns, settled bool) {
	done := &fault{offset: len(head)}
	s := scanner{b: head}
	f := s.object(func(key []byte, _ int) *fault {
		kinds, known := p.kindsNamed(string(key))
		at := s.pos
		if known && at < len(head) {
			if columns, settled = settledBy(head[at:], kinds); settled {
				return done
			}
		}
		return s.value()
	})
	// A fault well before the end of head is a fault in the file, which the reader of records will explain.
	return columns, settled || f == nil || f.offset < len(head)-16
}

// settledBy reports whether a column's value contains the values of all records rather than of one. settled is false if
// the value does not decide that.
func settledBy(value []byte, kinds kind) (columns, settled bool) {
	if value[0] != '[' {
		return false, true
	}
	if kinds&(kindIDs|kindMessages|kindArray) == 0 {
		return true, true
	}
	inner := bytes.TrimLeft(value[1:], " \t\r\n")
	if len(inner) == 0 || inner[0] == ']' || kinds&kindArray != 0 {
		return false, false
	}
	return inner[0] == '[', true
}

func (c *jsonColumns) next() ([]byte, int, error) {
	if !c.read {
		c.read = true
		if err := c.readAll(); err != nil {
			return nil, c.f.line, explainColumns(err)
		}
	}
	if c.n == c.rows {
		return nil, 0, io.EOF
	}
	c.out = append(c.out[:0], '{')
	for i, name := range c.names {
		c.out = jsontext.AppendKey(c.out, name)
		if c.kept[i] == nil {
			c.out = append(c.out, "null"...)
			continue
		}
		c.out = append(c.out, c.kept[i][c.n]...)
		c.kept[i][c.n] = nil // let the garbage collector free its block
	}
	c.n++
	c.out = append(c.out, '}')
	return c.out, 0, nil
}

// explainColumns converts the framer's errors, which speak of records, to errors about the whole file.
func explainColumns(err error) error {
	var fe *framingError
	switch {
	case errors.As(err, &fe):
		return &fileError{fault: fe.fault}
	case errors.Is(err, errCut):
		return &fileError{fault: &fault{found: "the end of the file inside the object of columns",
			expected: "a complete file", try: "the file is truncated: get it again"}, err: io.ErrUnexpectedEOF}
	}
	return err
}

// readAll reads every column.
func (c *jsonColumns) readAll() error {
	c.f.take(1)
	err := c.f.each('}', "a comma or the end of the object after a column", func(b byte) error {
		if b != '"' {
			return c.f.unexpected("the name of a column")
		}
		return c.readColumn()
	})
	if err != nil {
		return err
	}
	if _, more := c.f.peek(); more {
		return c.f.unexpected("nothing after the object of columns")
	}
	return c.f.readErr
}

func (c *jsonColumns) readColumn() error {
	raw, err := c.value()
	if err != nil {
		return err
	}
	s := scanner{b: raw}
	text, _, f := s.text()
	if f != nil {
		return &framingError{f}
	}
	key, _ := unquote(nil, text)
	name := string(key)
	if b, more := c.f.peek(); !more {
		return c.f.cut()
	} else if b != ':' {
		return c.f.unexpected("a colon after the name of a column")
	}
	c.f.take(1)
	if b, more := c.f.peek(); !more {
		return c.f.cut()
	} else if b != '[' {
		e := c.f.unexpected("an array of one value per record").(*framingError)
		e.fault.field = name
		return e
	}
	c.f.take(1)
	_, known := c.plan.byName[name]
	values, n, err := c.readValues(name, known || c.all)
	if err != nil {
		return err
	}
	if len(c.names) > 0 && n != c.rows {
		return &fileError{fault: &fault{field: name, found: fmt.Sprintf("%d values", n),
			expected: fmt.Sprintf("%d like column %s", c.rows, shown([]byte(c.names[0]))),
			try:      "write one value per record in every column"}}
	}
	c.rows = n
	c.names, c.kept = append(c.names, name), append(c.kept, values)
	return nil
}

// readValues reads the values of a column including its closing bracket, and keeps their text if keep is set.
func (c *jsonColumns) readValues(name string, keep bool) (values [][]byte, n int, err error) {
	if keep {
		values = [][]byte{}
	}
	err = c.f.each(']', "a comma or the end of the column after a value", func(byte) error {
		value, err := c.value()
		if err != nil {
			return err
		}
		if n == maxSamples {
			return &fileError{fault: &fault{field: name, found: "too many values",
				expected: fmt.Sprintf("at most %d", maxSamples), try: "split the file"}}
		}
		n++
		if !keep {
			return nil
		}
		if c.bytes += len(value); c.bytes > maxColumnar {
			return &fileError{fault: &fault{found: fmt.Sprintf("columns of more than %d MiB", maxColumnar>>20),
				expected: "smaller ones: columns are held in memory until the last one is read",
				try:      "write one object per record (JSON Lines) or a Parquet file"}}
		}
		values = append(values, c.arena.keep(value))
		return nil
	})
	return values, n, err
}

// value returns the next value's text, valid until the next call.
func (c *jsonColumns) value() ([]byte, error) {
	n, err := c.f.measureValue()
	if errors.Is(err, errTooLong) {
		return nil, &fileError{fault: &fault{found: fmt.Sprintf("a value of more than %d MiB", maxRecord>>20),
			expected: "a shorter one", try: "check for a missing bracket or quote"}, err: err}
	}
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, c.f.unexpected("a JSON value")
	}
	return c.f.take(n), nil
}

// arena copies slices into large shared blocks.
type arena[T any] struct {
	block int // length of a block
	rest  []T // unused part of the current block
}

func (a *arena[T]) keep(v []T) []T {
	if len(v) > len(a.rest) {
		a.rest = make([]T, max(a.block, len(v)))
	}
	kept := a.rest[:len(v):len(v)]
	copy(kept, v)
	a.rest = a.rest[len(v):]
	return kept
}
