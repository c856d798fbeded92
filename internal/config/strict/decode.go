package strict

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/mlperf-go/mlperf-go/internal/config"
)

// Bounds of a document beyond its size.
const (
	deepest     = 32
	mostItems   = 100_000
	longestTime = 366 * 24 * time.Hour
)

// Decoder decodes one document. The zero value with a Name is ready for use.
type Decoder struct {
	Name    string         // name of the document, such as "profile chat.yaml"; for errors
	Lenient bool           // whether unknown keys and former names become Notes instead of errors
	Notes   []string       // one sentence for each key that a lenient decoder accepted or ignored
	Lines   map[string]int // line of each key by its dotted path; 0: not from the file
}

// shorthand is implemented by structs that may be written as one plain value.
type shorthand interface{ Shorthand(text string) error }

// Decode fills the struct to which into points. Fields without a key in the document keep their value, so set defaults
// before the call. A key with a null value counts as absent.
func (d *Decoder) Decode(root *yaml.Node, into any) error {
	if d.Lines == nil {
		d.Lines = map[string]int{}
	}
	if root == nil {
		root = &yaml.Node{Kind: yaml.MappingNode, Line: 1}
	}
	if err := d.plain(root, 0); err != nil {
		return err
	}
	return d.object(root, reflect.ValueOf(into).Elem(), "")
}

// Errorf returns an error about a key, with the document's name and the line of the key or of the map that contains it.
func (d *Decoder) Errorf(key, format string, args ...any) error {
	for at := key; ; {
		if line, known := d.Lines[at]; known {
			return d.wrong(line, key, format, args...)
		}
		cut := strings.LastIndexByte(at, '.')
		if cut < 0 {
			return d.wrong(1, key, format, args...)
		}
		at = at[:cut]
	}
}

func (d *Decoder) wrong(line int, key, format string, args ...any) error {
	where := fmt.Sprintf("line %d", line)
	if line == 0 {
		where = "override"
	}
	if key != "" {
		key += ": "
	}
	return fmt.Errorf("%s %s: %s%w", d.Name, where, key, fmt.Errorf(format, args...))
}

func (d *Decoder) note(line int, key, format string, args ...any) {
	d.Notes = append(d.Notes, d.wrong(line, key, format, args...).Error())
}

// plain rejects anchors, aliases and other constructs that make a document larger or deeper than its text.
func (d *Decoder) plain(n *yaml.Node, depth int) error {
	switch {
	case depth > deepest:
		return d.wrong(n.Line, "", "nested deeper than %d levels", deepest)
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		return d.wrong(n.Line, "", "anchors and aliases are not supported; write the value out")
	case strings.ContainsRune(n.Value, 0):
		return d.wrong(n.Line, "", "a value contains a NUL byte")
	case len(n.Content) > mostItems:
		return d.wrong(n.Line, "", "more than %d items", mostItems)
	}
	for i, child := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 && child.Kind != yaml.ScalarNode {
			return d.wrong(child.Line, "", "a key is not a plain word")
		}
		if err := d.plain(child, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// object decodes a map into a struct.
func (d *Decoder) object(n *yaml.Node, to reflect.Value, path string) error {
	if n.Kind != yaml.MappingNode {
		return d.wrong(n.Line, path, "expected a map with some of %s, not %s", strings.Join(names(to.Type()), ", "), shown(n))
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		f, err := d.find(key, to.Type(), path)
		if err != nil {
			return err
		}
		if f == nil {
			continue
		}
		at := join(path, f.Key)
		if line, double := seen[f.Key]; double {
			return d.wrong(key.Line, at, "already set in line %d", line)
		}
		seen[f.Key], d.Lines[at] = key.Line, key.Line
		if isNull(value) {
			continue
		}
		if f.Yet != "" && !isZero(value) {
			return d.wrong(key.Line, at, "%s", f.Yet)
		}
		if err := d.value(value, to.FieldByIndex(f.index), at, f); err != nil {
			return err
		}
	}
	for _, f := range Fields(to.Type()) {
		if _, set := seen[f.Key]; f.Need && !set {
			return d.wrong(n.Line, join(path, f.Key), "the key is required%s", f.hint())
		}
	}
	return nil
}

// find returns the field of a key, or nil if the decoder is lenient and ignores the key.
func (d *Decoder) find(key *yaml.Node, t reflect.Type, path string) (*Field, error) {
	fields := Fields(t)
	for i, f := range fields {
		switch {
		case key.Value == f.Key || slices.Contains(f.Also, key.Value):
			return &fields[i], nil
		case slices.Contains(f.Was, key.Value) && d.Lenient:
			d.note(key.Line, join(path, key.Value), "read as %s", f.Key)
			return &fields[i], nil
		case slices.Contains(f.Was, key.Value):
			return nil, d.wrong(key.Line, join(path, key.Value), "the key is called %s now; rename it, or accept former "+
				"names with --profile-compat", f.Key)
		}
	}
	if d.Lenient {
		d.note(key.Line, join(path, key.Value), "unknown key, ignored%s", config.DidYouMean(key.Value, names(t)))
		return nil, nil
	}
	hint := config.DidYouMean(key.Value, names(t))
	if hint == "" {
		hint = "; the keys are " + strings.Join(names(t), ", ")
	}
	return nil, d.wrong(key.Line, join(path, key.Value), "unknown key%s", hint)
}

// value decodes one value into a field of any supported type.
func (d *Decoder) value(n *yaml.Node, to reflect.Value, path string, f *Field) error {
	if to.Kind() == reflect.Pointer {
		if to.IsNil() {
			to.Set(reflect.New(to.Type().Elem()))
		}
		return d.value(n, to.Elem(), path, f)
	}
	if short, ok := to.Addr().Interface().(shorthand); ok && n.Kind == yaml.ScalarNode {
		if err := short.Shorthand(n.Value); err != nil {
			return d.wrong(n.Line, path, "%w", err)
		}
		return nil
	}
	switch to.Kind() {
	case reflect.Struct:
		return d.object(n, to, path)
	case reflect.Slice:
		return d.list(n, to, path, f)
	case reflect.Map:
		return d.pairs(n, to, path, f)
	case reflect.Interface:
		var v any
		if err := n.Decode(&v); err != nil {
			return d.wrong(n.Line, path, "%w", err)
		}
		to.Set(reflect.ValueOf(v))
		return nil
	}
	if n.Kind != yaml.ScalarNode {
		return d.wrong(n.Line, path, "expected %s, not %s", f.expects(to.Type()), shown(n))
	}
	if !f.scalar(n, to) {
		return d.wrong(n.Line, path, "expected %s, not %s%s", f.expects(to.Type()), shown(n),
			config.DidYouMean(n.Value, f.One))
	}
	return nil
}

func (d *Decoder) list(n *yaml.Node, to reflect.Value, path string, f *Field) error {
	items := n.Content
	if n.Kind != yaml.SequenceNode {
		if !f.Single {
			return d.wrong(n.Line, path, "expected a list, not %s", shown(n))
		}
		items = []*yaml.Node{n}
	}
	made := reflect.MakeSlice(to.Type(), len(items), len(items))
	for i, item := range items {
		at := join(path, strconv.Itoa(i))
		if n.Kind != yaml.SequenceNode { // one value instead of a list
			at = path
		}
		d.Lines[at] = item.Line
		if isNull(item) {
			return d.wrong(item.Line, at, "the item is empty")
		}
		if err := d.value(item, made.Index(i), at, f); err != nil {
			return err
		}
	}
	to.Set(made)
	return nil
}

// pairs decodes a map with arbitrary keys.
func (d *Decoder) pairs(n *yaml.Node, to reflect.Value, path string, f *Field) error {
	if n.Kind != yaml.MappingNode {
		return d.wrong(n.Line, path, "expected a map of names to values, not %s", shown(n))
	}
	made := reflect.MakeMap(to.Type())
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, at := n.Content[i].Value, join(path, n.Content[i].Value)
		if made.MapIndex(reflect.ValueOf(key)).IsValid() {
			return d.wrong(n.Content[i].Line, at, "the key is repeated")
		}
		d.Lines[at] = n.Content[i].Line
		item := reflect.New(to.Type().Elem()).Elem()
		if !isNull(n.Content[i+1]) {
			if err := d.value(n.Content[i+1], item, at, f); err != nil {
				return err
			}
		}
		made.SetMapIndex(reflect.ValueOf(key), item)
	}
	to.Set(made)
	return nil
}

// scalar decodes a plain value and reports whether it has the right form and is within the field's bounds.
func (f *Field) scalar(n *yaml.Node, to reflect.Value) bool {
	if to.Type() == reflect.TypeFor[time.Duration]() {
		v, ok := Duration(n.Value)
		to.SetInt(int64(v))
		return ok && f.within(v.Seconds())
	}
	switch to.Kind() {
	case reflect.String:
		to.SetString(n.Value)
		return len(f.One) == 0 || slices.Contains(f.One, n.Value)
	case reflect.Bool:
		to.SetBool(strings.EqualFold(n.Value, "true"))
		return n.ShortTag() == "!!bool"
	case reflect.Int, reflect.Int32, reflect.Int64:
		v, err := strconv.ParseInt(n.Value, 0, min(to.Type().Bits(), 54))
		to.SetInt(v)
		return err == nil && f.within(float64(v))
	case reflect.Uint64:
		v, err := strconv.ParseUint(n.Value, 0, 64)
		to.SetUint(v)
		return err == nil && f.within(float64(v))
	case reflect.Float64:
		v, ok := number(n.Value)
		to.SetFloat(v)
		return ok && f.within(v)
	}
	panic(fmt.Sprintf("strict: no decoder for %s", to.Type()))
}

// number parses a YAML number. YAML writes infinity as .inf.
func number(text string) (float64, bool) {
	switch strings.ToLower(text) {
	case ".inf", "+.inf", "inf":
		return math.Inf(1), true
	}
	v, err := strconv.ParseFloat(text, 64)
	return v, err == nil && !math.IsNaN(v)
}

// Duration parses seconds, with or without a fraction, or a Go duration, from 0 to a year.
func Duration(text string) (time.Duration, bool) {
	d, err := time.ParseDuration(text)
	if s, ok := number(text); ok {
		d, err = time.Duration(min(max(s, -1), 2*longestTime.Seconds())*float64(time.Second)), nil
	}
	return d, err == nil && d >= 0 && d <= longestTime
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// isZero reports whether a value means "off".
func isZero(n *yaml.Node) bool {
	if n.Kind != yaml.ScalarNode {
		return len(n.Content) == 0
	}
	v, isNumber := number(n.Value)
	return isNull(n) || n.Value == "" || strings.EqualFold(n.Value, "false") || isNumber && v == 0
}

// shown quotes a value for an error.
func shown(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a map"
	case yaml.SequenceNode:
		return "a list"
	}
	return fmt.Sprintf("%.60q", n.Value)
}
