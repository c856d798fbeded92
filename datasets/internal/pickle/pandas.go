package pickle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/mlperf-go/mlperf-go/internal/foreign"
)

// frameOf reads a DataFrame.
func frameOf(o *Object) (*Table, error) {
	blocks, axes, err := managerOf(o)
	if err != nil {
		return nil, err
	}
	if len(axes) != 2 {
		return nil, damaged(fmt.Sprintf("a table with %d axes", len(axes)))
	}
	t := &Table{}
	if t.names, err = labels(axes[0]); err != nil {
		return nil, err
	}
	t.columns = make([]column, len(t.names))
	for _, b := range blocks {
		for i, place := range b.places {
			if place < 0 || place >= len(t.columns) || t.columns[place] != nil {
				return nil, damaged("a block with columns outside of the table")
			}
			if t.columns[place], err = columnOfBlock(b, i); err != nil {
				return nil, err
			}
		}
	}
	for i, c := range t.columns {
		if c == nil {
			return nil, damaged("a column without values, " + strconv.Quote(foreign.Line(t.names[i], 40)))
		}
	}
	return t, t.checkRows()
}

// block is a group of columns. Its values have one row per column, or are one pandas array for one column; places
// contains the columns' positions in the table.
type block struct {
	values any
	places []int
}

// managerOf returns the blocks and axes of a DataFrame or a Series written by any version of pandas.
func managerOf(o *Object) ([]block, []any, error) {
	state, _ := o.State.(*Dict)
	manager, ok := state.Get("_mgr").(*Object)
	if !ok {
		manager, ok = state.Get("_data").(*Object) // before pandas 1.1
	}
	if !ok || manager.Class.class != classManager {
		return nil, nil, damaged("a table without its blocks")
	}
	if len(manager.Args) == 2 { // since pandas 1.3
		return newBlocks(manager.Args[0], manager.Args[1])
	}
	old, _ := manager.State.(Tuple)
	if len(old) < 4 {
		return nil, nil, damaged("a table without its blocks")
	}
	versions, _ := old[3].(*Dict)
	parts, ok := versions.Get("0.14.1").(*Dict) // 0.14.1 is the version of the layout, not of pandas
	if !ok {
		return nil, nil, refused("a table written by pandas before 0.14.1")
	}
	return oldBlocks(parts)
}

func newBlocks(list, axisList any) ([]block, []any, error) {
	axes := elements(axisList)
	var blocks []block
	for _, v := range elements(list) {
		o, ok := v.(*Object)
		if !ok || o.Class.class != classBlock || len(o.Args) < 2 {
			return nil, nil, damaged("a block of type " + kindOf(v))
		}
		places, err := placesOf(o.Args[1])
		if err != nil {
			return nil, nil, err
		}
		blocks = append(blocks, block{o.Args[0], places})
	}
	return blocks, axes, nil
}

func oldBlocks(parts *Dict) ([]block, []any, error) {
	var blocks []block
	for _, v := range elements(parts.Get("blocks")) {
		d, ok := v.(*Dict)
		if !ok {
			return nil, nil, damaged("a block of type " + kindOf(v))
		}
		places, err := placesOf(d.Get("mgr_locs"))
		if err != nil {
			return nil, nil, err
		}
		blocks = append(blocks, block{d.Get("values"), places})
	}
	return blocks, elements(parts.Get("axes")), nil
}

// maxColumns is the maximum number of columns in a table.
const maxColumns = 1 << 16

// placesOf reads the positions of a block's columns, given as a slice or an array.
func placesOf(v any) ([]int, error) {
	bad := damaged("a block without the numbers of its columns")
	if o, ok := v.(*Object); ok && o.Class.class == classSlice && len(o.Args) == 3 {
		start, ok1 := o.Args[0].(int64)
		stop, ok2 := o.Args[1].(int64)
		step, ok3 := o.Args[2].(int64)
		if o.Args[2] == nil {
			step, ok3 = 1, true
		}
		if !ok1 || !ok2 || !ok3 || start < 0 || start > maxColumns || step < -maxColumns || step > maxColumns || step == 0 ||
			stop < -1 || stop > maxColumns {
			return nil, bad
		}
		var places []int
		for i := start; (step > 0 && i < stop) || (step < 0 && i > stop && i >= 0); i += step {
			places = append(places, int(i))
		}
		return places, nil
	}
	a, ok, err := arrayOf(v)
	if err != nil {
		return nil, err
	}
	if !ok || a.kind != 'i' || len(a.shape) != 1 || a.shape[0] > maxColumns {
		return nil, bad
	}
	places := make([]int, a.shape[0])
	for i := range places {
		places[i] = int(a.signed(i))
	}
	return places, nil
}

// columnOfBlock returns column i of a block, which is row i of its values.
func columnOfBlock(b block, i int) (column, error) {
	a, ok, err := arrayOf(b.values)
	if err != nil {
		return nil, err
	}
	if ok && len(a.shape) == 2 {
		if a.shape[0] != len(b.places) {
			return nil, damaged("a block with the wrong number of columns")
		}
		return &grid{a: a, at: i * a.strides[0], axis: 1}, nil
	}
	if len(b.places) != 1 {
		return nil, damaged("a block of one column with several column numbers")
	}
	return columnOf(b.values)
}

// labels reads the labels of an axis.
func labels(v any) ([]string, error) {
	o, ok := v.(*Object)
	if !ok {
		return nil, damaged("a table whose column names are " + kindOf(v))
	}
	entries := o.Dict
	for _, arg := range o.Args { // arguments of the function that creates an index: a class and a dict
		if d, ok := arg.(*Dict); ok {
			entries = d
		}
	}
	if stop, ok := entries.Get("stop").(int64); ok {
		return rangeLabels(entries, stop)
	}
	c, err := columnOf(entries.Get("data"))
	if err != nil {
		return nil, err
	}
	if c.len() > maxColumns {
		return nil, refused(fmt.Sprintf("a table of %d columns", c.len()))
	}
	names := make([]string, c.len())
	for i := range names {
		w := writer{most: 1 << 16}
		if err := c.append(&w, i); err != nil {
			return nil, err
		}
		if bytes.HasPrefix(w.out, []byte{'"'}) {
			if err := json.Unmarshal(w.out, &names[i]); err != nil {
				return nil, damaged("an invalid column name")
			}
		} else {
			names[i] = string(w.out)
		}
	}
	return names, nil
}

// rangeLabels returns the column names of a RangeIndex, which are numbers.
func rangeLabels(entries *Dict, stop int64) ([]string, error) {
	start, _ := entries.Get("start").(int64)
	step, _ := entries.Get("step").(int64)
	if start < 0 || stop > maxColumns || step < 1 {
		return nil, refused("a table with unsupported column numbers")
	}
	var names []string
	for i := start; i < stop; i += step {
		names = append(names, strconv.FormatInt(i, 10))
	}
	return names, nil
}

// elements returns the elements of a list or a tuple.
func elements(v any) []any {
	switch v := v.(type) {
	case Tuple:
		return v
	case *List:
		return v.Items
	}
	return nil
}
