package pickle

import (
	"math"
	"math/big"
)

// Values are nil, bool, int64, *bigInt, float64, string, []byte, Tuple, *List, *Dict, *Global and *Object.
type bigInt = big.Int

// Tuple is a Python tuple.
type Tuple []any

// List is a Python list or set. As long as all elements are 32-bit integers they are in Ints, else in Items.
type List struct {
	Ints  []int32
	Items []any
}

// Len returns the number of elements.
func (l *List) Len() int { return len(l.Ints) + len(l.Items) }

// At returns element i.
func (l *List) At(i int) any {
	if l.Items != nil {
		return l.Items[i]
	}
	return int64(l.Ints[i])
}

// add appends elements and returns the memory they take.
func (l *List) add(values []any) int64 {
	if l.Items == nil {
		for n, v := range values {
			i, ok := v.(int64)
			if !ok || i < math.MinInt32 || i > math.MaxInt32 {
				return int64(4*n) + l.unfold() + l.addItems(values[n:])
			}
			l.Ints = append(l.Ints, int32(i))
		}
		return int64(4 * len(values))
	}
	return l.addItems(values)
}

func (l *List) addItems(values []any) int64 {
	l.Items = append(l.Items, values...)
	return int64(16 * len(values))
}

// unfold moves the integers to Items and returns the memory that they take there.
func (l *List) unfold() int64 {
	l.Items = make([]any, len(l.Ints), len(l.Ints)+8)
	for i, n := range l.Ints {
		l.Items[i] = int64(n)
	}
	l.Ints = nil
	return int64(16 * len(l.Items))
}

// Dict is a Python dict in insertion order.
type Dict struct {
	Keys, Values []any
}

// Get returns the last value set for a string key, or nil.
func (d *Dict) Get(name string) any {
	if d == nil {
		return nil
	}
	for i := len(d.Keys) - 1; i >= 0; i-- {
		if k, ok := d.Keys[i].(string); ok && k == name {
			return d.Values[i]
		}
	}
	return nil
}

// Object is what a pickle would have created by calling Class with Args and setting State. Nothing was called.
type Object struct {
	Class *Global
	Args  Tuple
	State any
	Dict  *Dict // entries that were set on the object; may be nil
	List  *List // elements that were appended to the object; may be nil
}
