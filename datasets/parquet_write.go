package datasets

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"

	"github.com/parquet-go/parquet-go"

	"github.com/mlperf-go/mlperf-go/datasets/internal/jsontext"
)

// parquetGroup is the JSON size of the records held for one row group.
const parquetGroup = 64 << 20

// cellType is the type of a column that Convert writes to Parquet: the narrowest for all its values.
type cellType uint8

const (
	cellNull cellType = iota
	cellText
	cellBool
	cellInt   // 64-bit integer
	cellFloat // 64-bit number, for values in the format of jsontext.AppendFloat
	cellIDs   // list of 32-bit integers
	cellInts  // list of 64-bit integers
	cellJSON  // anything else, as JSON text
)

// columnCells determines the type of each column.
type columnCells struct {
	types map[string]cellType
	order []string // column names in order of first appearance
}

// look widens the columns' types to fit a record's values.
func (c *columnCells) look(record []byte, _ *Sample) error {
	if c.types == nil {
		c.types = map[string]cellType{}
	}
	return members(record, func(name string, value []byte) error {
		if _, seen := c.types[name]; !seen {
			c.order = append(c.order, name)
		}
		c.types[name] = joinCells(c.types[name], cellTypeOf(value))
		return nil
	})
}

func joinCells(a, b cellType) cellType {
	switch {
	case a == b || b == cellNull:
		return a
	case a == cellNull:
		return b
	case (a == cellIDs && b == cellInts) || (a == cellInts && b == cellIDs):
		return cellInts
	}
	return cellJSON
}

func cellTypeOf(value []byte) cellType {
	switch value[0] {
	case 'n':
		return cellNull
	case '"':
		return cellText
	case 't', 'f':
		return cellBool
	case '[':
		return listTypeOf(value)
	case '{':
		return cellJSON
	}
	if _, err := strconv.ParseInt(string(value), 10, 64); err == nil {
		return cellInt
	}
	if v, err := strconv.ParseFloat(string(value), 64); err == nil &&
		string(jsontext.AppendFloat(nil, v, 64)) == string(value) {
		return cellFloat
	}
	return cellJSON
}

func listTypeOf(value []byte) cellType {
	t := cellIDs
	s := scanner{b: value}
	s.array(func() *fault {
		start := s.pos
		f := s.value()
		n, err := strconv.ParseInt(string(value[start:s.pos]), 10, 64)
		switch {
		case err != nil:
			t = cellJSON
		case t == cellIDs && n != int64(int32(n)):
			t = cellInts
		}
		return f
	})
	return t
}

// members calls visit for each member of a record that has been checked.
func members(record []byte, visit func(name string, value []byte) error) error {
	var err error
	s := scanner{b: record}
	s.object(func(key []byte, _ int) *fault {
		start := s.pos
		f := s.value()
		if name, _ := unquote(nil, key); f == nil && err == nil {
			err = visit(string(name), record[start:s.pos])
		}
		return f
	})
	return err
}

// parquetWriter writes records as Parquet.
type parquetWriter struct {
	w     *parquet.GenericWriter[any]
	types []cellType
	place map[string]int // index of each column in the row; Parquet sorts a group's columns by name
	row   parquet.Row
	cells [][]byte // JSON texts of the current record's values, by place
	held  int
	n     int
}

var parquetNodes = map[cellType]func() parquet.Node{
	cellNull:  parquet.String,
	cellText:  parquet.String,
	cellBool:  func() parquet.Node { return parquet.Leaf(parquet.BooleanType) },
	cellInt:   func() parquet.Node { return parquet.Int(64) },
	cellFloat: func() parquet.Node { return parquet.Leaf(parquet.DoubleType) },
	cellIDs:   func() parquet.Node { return parquet.List(parquet.Encoded(parquet.Int(32), &parquet.Plain)) },
	cellInts:  func() parquet.Node { return parquet.List(parquet.Encoded(parquet.Int(64), &parquet.Plain)) },
	cellJSON:  parquet.JSON,
}

func newParquetWriter(w io.Writer, columns *columnCells) *parquetWriter {
	p := &parquetWriter{place: map[string]int{}}
	names := slices.Sorted(maps.Keys(columns.types))
	group, options := parquet.Group{}, []parquet.WriterOption{parquet.Compression(&parquet.Zstd),
		parquet.DataPageStatistics(false)}
	for i, name := range names {
		t := columns.types[name]
		node := parquetNodes[t]()
		if t != cellIDs && t != cellInts { // the encoding of a list is set at its element
			node = parquet.Encoded(node, &parquet.Plain)
		}
		// Omit the bounds: for a column of images they would be in every page header and in the footer, which readers
		// hold in memory.
		options = append(options, parquet.SkipPageBounds(name))
		group[name] = parquet.Optional(node)
		p.place[name] = i
		p.types = append(p.types, t)
	}
	p.cells = make([][]byte, len(names))
	p.w = parquet.NewGenericWriter[any](w, append(options, parquet.NewSchema("dataset", group))...)
	return p
}

func (p *parquetWriter) write(record []byte, _ *Sample) error {
	p.n++
	clear(p.cells)
	err := members(record, func(name string, value []byte) error {
		p.cells[p.place[name]] = value
		return nil
	})
	if err != nil {
		return err
	}
	p.row = p.row[:0]
	for i, cell := range p.cells {
		if err := p.cell(i, cell); err != nil {
			return fmt.Errorf("writing record %d as Parquet: %w", p.n, err)
		}
	}
	if _, err := p.w.WriteRows([]parquet.Row{p.row}); err != nil {
		return fmt.Errorf("writing record %d as Parquet: %w", p.n, err)
	}
	if p.held += len(record); p.held >= parquetGroup {
		p.held = 0
		return p.w.Flush()
	}
	return nil
}

// cell appends a column's value to the row. Definition level 1 means not null; elements of a list have level 2.
func (p *parquetWriter) cell(column int, value []byte) error {
	if len(value) == 0 || (value[0] == 'n' && p.types[column] != cellJSON) {
		p.row = append(p.row, parquet.NullValue().Level(0, 0, column))
		return nil
	}
	var v parquet.Value
	switch p.types[column] {
	case cellText:
		text, ok := unquote(nil, value[1:len(value)-1])
		if !ok {
			return fmt.Errorf("an unpaired surrogate in the text %s, which UTF-8 cannot represent", shown(value))
		}
		v = parquet.ByteArrayValue(text)
	case cellBool:
		v = parquet.BooleanValue(value[0] == 't')
	case cellInt, cellFloat:
		var err error
		if v, err = numberValue(p.types[column], value); err != nil {
			return err
		}
	case cellIDs, cellInts:
		return p.list(column, value)
	default:
		v = parquet.ByteArrayValue(value)
	}
	p.row = append(p.row, v.Level(0, 1, column))
	return nil
}

func numberValue(t cellType, value []byte) (parquet.Value, error) {
	if t == cellFloat {
		f, err := strconv.ParseFloat(string(value), 64)
		return parquet.DoubleValue(f), err
	}
	n, err := strconv.ParseInt(string(value), 10, 64)
	return parquet.Int64Value(n), err
}

func (p *parquetWriter) list(column int, value []byte) error {
	n := 0
	var err error
	s := scanner{b: value}
	s.array(func() *fault {
		start := s.pos
		f := s.value()
		var whole int64
		if whole, err = strconv.ParseInt(string(value[start:s.pos]), 10, 64); err != nil {
			return s.fail("an integer")
		}
		v := parquet.Int64Value(whole)
		if p.types[column] == cellIDs {
			v = parquet.Int32Value(int32(whole))
		}
		p.row = append(p.row, v.Level(min(n, 1), 2, column))
		n++
		return f
	})
	if n == 0 {
		p.row = append(p.row, parquet.NullValue().Level(0, 1, column))
	}
	return err
}

func (p *parquetWriter) close() error { return p.w.Close() }
