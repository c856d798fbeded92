package pickle

import (
	"encoding/base64"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/mlperf-go/mlperf-go/datasets/internal/jsontext"
	"github.com/mlperf-go/mlperf-go/internal/foreign"
)

// Limits for one row.
const (
	maxRow   = 64 << 20 // maximum length of the JSON text in bytes
	maxDepth = 64
)

// Table is the rows of a pickle.
type Table struct {
	names   []string
	columns []column
	rows    int
	records []any // the rows, if they are dicts; the columns are then empty
	images  int
}

// Names describes the columns of the caller's schema.
type Names struct {
	// List reports whether a column is known, and whether a row's value in it is a list.
	List func(name string) (known, list bool)
	// Wanted reports whether a column's values are used. The values of other columns are written as null.
	Wanted func(name string) bool
}

// Read reads a pickle to its end and returns its table: a DataFrame, a list of dicts, a dict of columns, or one dict as
// the only row.
func Read(r io.Reader, names Names) (*Table, error) {
	v, err := read(r)
	if err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case *List:
		return recordsOf(v.Items, v.Len())
	case Tuple:
		return recordsOf(v, len(v))
	case *Dict:
		return dictOf(v, names)
	case *Object:
		switch v.Class.class {
		case classFrame:
			return frameOf(v)
		case classContainer:
			if v.Dict != nil {
				return dictOf(v.Dict, names)
			}
		}
		a, ok, err := arrayOf(v)
		if err != nil {
			return nil, err
		}
		if ok && a.kind == 'O' && len(a.shape) == 1 {
			return recordsOf(a.items.Items, a.items.Len())
		}
	}
	return nil, refused(kindOf(v))
}

// recordsOf returns a table of dicts.
func recordsOf(items []any, n int) (*Table, error) {
	if len(items) != n {
		return nil, refused("a list of numbers")
	}
	for i, v := range items {
		if _, ok := asDict(v); !ok {
			return nil, refused(fmt.Sprintf("a list whose element %d is %s", i+1, kindOf(v)))
		}
	}
	return &Table{records: items, rows: n}, nil
}

func asDict(v any) (*Dict, bool) {
	if o, ok := v.(*Object); ok && o.Class.class == classContainer && o.Dict != nil {
		return o.Dict, true
	}
	d, ok := v.(*Dict)
	return d, ok
}

// dictOf returns the table in a dict: columns, or one row.
func dictOf(d *Dict, names Names) (*Table, error) {
	if !isColumns(d, names) {
		return &Table{records: []any{d}, rows: 1}, nil
	}
	t := &Table{}
	for i, k := range d.Keys {
		name, ok := k.(string)
		if !ok {
			return nil, refused("a dict with " + kindOf(k) + " as a key")
		}
		c, err := columnOf(d.Values[i])
		if err != nil {
			return nil, err
		}
		t.names, t.columns = append(t.names, name), append(t.columns, c)
	}
	return t, t.checkRows()
}

// isColumns reports whether a dict contains columns rather than one row. The first known column decides, or else
// whether all values are columns of the same length.
func isColumns(d *Dict, names Names) bool {
	length := -1
	same := len(d.Keys) > 0
	for i, k := range d.Keys {
		name, _ := k.(string)
		c, err := columnOf(d.Values[i])
		if known, list := names.List(name); known && (!list || (err == nil && c.len() > 0)) {
			if !list {
				return err == nil
			}
			w := writer{most: maxRow}
			return c.append(&w, 0) == nil && w.out[0] == '['
		}
		same = same && err == nil && (length < 0 || c.len() == length)
		if err == nil {
			length = c.len()
		}
	}
	return same
}

// checkRows checks that all columns have the same length.
func (t *Table) checkRows() error {
	for i, c := range t.columns {
		if i == 0 {
			t.rows = c.len()
		}
		if c.len() != t.rows {
			return damaged(fmt.Sprintf("columns of %d and %d rows", t.rows, c.len()))
		}
	}
	return nil
}

// Rows returns the number of rows.
func (t *Table) Rows() int { return t.rows }

// Images returns how many pickled images Append has encoded as PNG so far.
func (t *Table) Images() int { return t.images }

// Append appends row i as the JSON text of an object.
func (t *Table) Append(dst []byte, i int, wanted func(name string) bool) ([]byte, error) {
	w := writer{out: append(dst, '{'), most: len(dst) + maxRow}
	var err error
	if t.records != nil {
		d, _ := asDict(t.records[i])
		err = w.members(d, wanted, 1)
	} else {
		for k, c := range t.columns {
			w.out = jsontext.AppendKey(w.out, t.names[k])
			if !wanted(t.names[k]) {
				_ = w.null()
			} else if err = c.append(&w, i); err != nil {
				err = fmt.Errorf("column %q: %w", foreign.Line(t.names[k], 40), err)
				break
			}
		}
	}
	t.images += w.images
	return append(w.out, '}'), err
}

// writer writes values as JSON.
type writer struct {
	out    []byte
	most   int // maximum length of out in bytes
	images int
}

func (w *writer) null() error {
	w.out = append(w.out, "null"...)
	return nil
}

func (w *writer) value(v any, depth int) error {
	switch {
	case depth > maxDepth:
		return refused(fmt.Sprintf("values nested more than %d deep", maxDepth))
	case len(w.out) > w.most:
		return refused(fmt.Sprintf("a row of more than %d MiB", maxRow>>20))
	}
	switch v := v.(type) {
	case nil:
		return w.null()
	case bool:
		w.out = strconv.AppendBool(w.out, v)
	case int64:
		w.out = strconv.AppendInt(w.out, v, 10)
	case *bigInt:
		w.out = v.Append(w.out, 10)
	case float64:
		return w.float(v, 64)
	case string:
		w.out = jsontext.AppendQuoted(w.out, v)
	case []byte:
		w.base64(v)
	case Tuple:
		return w.list(len(v), depth, func(i int) error { return w.value(v[i], depth+1) })
	case *List:
		return w.list(v.Len(), depth, func(i int) error { return w.value(v.At(i), depth+1) })
	case *Dict:
		w.out = append(w.out, '{')
		err := w.members(v, nil, depth+1)
		w.out = append(w.out, '}')
		return err
	case *Object:
		return w.object(v, depth)
	case *Global:
		if v.class == classMissing {
			return w.null()
		}
		return refused(kindOf(v))
	}
	return nil
}

func (w *writer) object(o *Object, depth int) error {
	switch o.Class.class {
	case classContainer:
		if o.Dict != nil {
			return w.value(o.Dict, depth)
		}
		if o.List != nil {
			return w.value(o.List, depth)
		}
		if len(o.Args) == 1 {
			return w.value(o.Args[0], depth+1)
		}
	case classScalar:
		return w.scalar(o, depth)
	case classEncode, classBytes:
		if b, ok := bytesOf(o); ok {
			w.base64(b)
			return nil
		}
	case classMissing:
		return w.null()
	case classImage:
		return w.image(o)
	}
	a, ok, err := arrayOf(o)
	if err != nil {
		return err
	}
	if !ok {
		return refused(kindOf(o) + " for a value")
	}
	return w.appendArray(a, 0, 0, depth)
}

// members writes the entries of a dict; a nil wanted means all.
func (w *writer) members(d *Dict, wanted func(string) bool, depth int) error {
	for i, k := range d.Keys {
		name, ok := k.(string)
		if n, isInt := k.(int64); isInt {
			name, ok = strconv.FormatInt(n, 10), true
		}
		if !ok {
			return refused("a dict with " + kindOf(k) + " as a key")
		}
		w.out = jsontext.AppendKey(w.out, name)
		if wanted != nil && !wanted(name) {
			_ = w.null()
		} else if err := w.value(d.Values[i], depth); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) list(n, depth int, element func(i int) error) error {
	if depth > maxDepth {
		return refused(fmt.Sprintf("values nested more than %d deep", maxDepth))
	}
	w.out = append(w.out, '[')
	for i := range n {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		if len(w.out) > w.most {
			return refused(fmt.Sprintf("a row of more than %d MiB", maxRow>>20))
		}
		if err := element(i); err != nil {
			return err
		}
	}
	w.out = append(w.out, ']')
	return nil
}

// float writes a number. It writes NaN as null, since pandas stores a missing number as NaN.
func (w *writer) float(v float64, bits int) error {
	switch {
	case math.IsNaN(v):
		return w.null()
	case math.IsInf(v, 0):
		return refused("an infinite number")
	}
	w.out = jsontext.AppendFloat(w.out, v, bits)
	return nil
}

func (w *writer) base64(b []byte) {
	w.out = append(base64.StdEncoding.AppendEncode(append(w.out, '"'), b), '"')
}
