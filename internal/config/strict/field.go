package strict

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Field is the description of a key: the tags of a struct's field.
type Field struct {
	Key    string
	Doc    string
	Is     string   // accepted range of a number, such as >0
	One    []string // accepted texts; empty: any text
	Also   []string // other names of the key
	Was    []string // former names of the key
	Yet    string   // why a value other than "off" is rejected; "": it is accepted
	Need   bool
	Single bool // whether a list may be written as one value
	Type   reflect.Type

	index     []int
	low, high float64
	above     bool // whether low itself is out of range
}

var fieldsOf sync.Map // reflect.Type → []Field

// Fields returns the keys of a struct in the order of its source. It includes the keys of embedded structs.
func Fields(t reflect.Type) []Field {
	if known, ok := fieldsOf.Load(t); ok {
		return known.([]Field)
	}
	var fields []Field
	for _, s := range reflect.VisibleFields(t) {
		key, _, _ := strings.Cut(s.Tag.Get("yaml"), ",")
		if key == "" || key == "-" {
			continue
		}
		f := Field{
			Key: key, Doc: s.Tag.Get("doc"), Is: s.Tag.Get("is"), Yet: s.Tag.Get("yet"),
			One: strings.Fields(s.Tag.Get("one")), Also: strings.Fields(s.Tag.Get("also")),
			Was: strings.Fields(s.Tag.Get("was")), Need: s.Tag.Get("need") != "", Single: s.Tag.Get("single") != "",
			Type: s.Type, index: s.Index,
		}
		if listed, ok := reflect.Zero(s.Type).Interface().(interface{ Values() []string }); ok && len(f.One) == 0 {
			f.One = listed.Values()
		}
		f.bounds()
		fields = append(fields, f)
	}
	fieldsOf.Store(t, fields)
	return fields
}

// bounds parses Is.
func (f *Field) bounds() {
	f.low, f.high = math.Inf(-1), math.Inf(1)
	var low, high string
	switch from, to, isRange := strings.Cut(f.Is, ".."); {
	case isRange:
		low, high = from, to
	case strings.HasPrefix(f.Is, ">="):
		low = f.Is[2:]
	case strings.HasPrefix(f.Is, ">"):
		low, f.above = f.Is[1:], true
	case f.Is != "":
		panic("strict: bad range of " + f.Key)
	}
	for text, to := range map[*string]*float64{&low: &f.low, &high: &f.high} {
		if *text != "" {
			v, err := strconv.ParseFloat(*text, 64)
			if err != nil {
				panic("strict: bad range of " + f.Key)
			}
			*to = v
		}
	}
}

func (f *Field) within(v float64) bool { return v >= f.low && v <= f.high && !(f.above && v == f.low) }

// expects describes a valid value of a type.
func (f *Field) expects(t reflect.Type) string {
	var what string
	switch {
	case t == reflect.TypeFor[time.Duration]():
		what = "seconds or a duration such as 90s"
	case len(f.One) > 0:
		return "one of " + strings.Join(f.One, ", ")
	case t.Kind() == reflect.String:
		return "a text"
	case t.Kind() == reflect.Bool:
		return "true or false"
	case t.Kind() == reflect.Float64:
		what = "a number"
	default:
		what = "a whole number"
	}
	switch from, to, isRange := strings.Cut(f.Is, ".."); {
	case isRange:
		what += fmt.Sprintf(" from %s to %s", from, to)
	case strings.HasPrefix(f.Is, ">="):
		what += " of at least " + f.Is[2:]
	case f.Is != "":
		what += " above " + f.Is[1:]
	}
	return what
}

func (f *Field) hint() string {
	if f.Doc == "" {
		return ""
	}
	return " (" + f.Doc + ")"
}

func names(t reflect.Type) []string {
	var all []string
	for _, f := range Fields(t) {
		all = append(all, f.Key)
	}
	return all
}
