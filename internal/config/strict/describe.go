package strict

import (
	"fmt"
	"reflect"
	"strings"
	"time"
)

// Struct is a struct that occurs in a document, with its path.
type Struct struct {
	Path string // dotted path of its first occurrence; "" for the document. A list's items have the path "list[]".
	Type reflect.Type
}

// Structs returns the document's struct and all structs below it, each once, in the order of the source.
func Structs(document reflect.Type) []Struct {
	all := []Struct{{Type: document}}
	seen := map[reflect.Type]bool{document: true}
	for i := 0; i < len(all); i++ {
		for _, f := range Fields(all[i].Type) {
			t, path := f.Type, join(all[i].Path, f.Key)
			for more := true; more; {
				switch t.Kind() {
				case reflect.Slice, reflect.Map:
					t, path = t.Elem(), path+"[]"
				case reflect.Pointer:
					t = t.Elem()
				default:
					more = false
				}
			}
			if t.Kind() == reflect.Struct && !seen[t] {
				seen[t] = true
				all = append(all, Struct{path, t})
			}
		}
	}
	return all
}

// Table returns the keys of a struct as a Markdown table.
func Table(t reflect.Type) string {
	var b strings.Builder
	b.WriteString("| key | value | meaning |\n| --- | --- | --- |\n")
	for _, f := range Fields(t) {
		key := "`" + f.Key + "`"
		if f.Need {
			key += " (required)"
		}
		for _, other := range f.Also {
			key += ", or `" + other + "`"
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", key, f.form(f.Type), f.Doc)
	}
	return b.String()
}

// form describes the values of a type in a table.
func (f *Field) form(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return f.form(t.Elem())
	case reflect.Slice:
		if f.Single {
			return f.form(t.Elem()) + ", or a list"
		}
		return "list: " + f.form(t.Elem())
	case reflect.Map:
		return "map: " + f.form(t.Elem())
	case reflect.Struct:
		return t.Name()
	case reflect.Interface:
		return "anything"
	}
	if len(f.One) > 0 {
		return "`" + strings.Join(f.One, "`, `") + "`"
	}
	return strings.TrimSuffix(f.expects(t), " such as 90s")
}

// Schema returns the JSON Schema (draft 2020-12) of a document.
func Schema(document reflect.Type, title, description string) map[string]any {
	definitions := map[string]any{}
	for _, s := range Structs(document)[1:] {
		definitions[s.Type.Name()] = object(s.Type)
	}
	schema := object(document)
	schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	schema["title"], schema["description"], schema["$defs"] = title, description, definitions
	return schema
}

func object(t reflect.Type) map[string]any {
	properties, required := map[string]any{}, []string{}
	for _, f := range Fields(t) {
		one := f.schema(f.Type)
		if f.Doc != "" {
			one["description"] = f.Doc
		}
		for _, name := range append([]string{f.Key}, f.Also...) {
			properties[name] = one
		}
		if f.Need && len(f.Also) == 0 {
			required = append(required, f.Key)
		}
	}
	o := map[string]any{"type": "object", "additionalProperties": false, "properties": properties}
	if len(required) > 0 {
		o["required"] = required
	}
	return o
}

func (f *Field) schema(t reflect.Type) map[string]any {
	switch {
	case t.Kind() == reflect.Pointer:
		return f.schema(t.Elem())
	case t == reflect.TypeFor[time.Duration]():
		return map[string]any{"type": []string{"number", "string"}, "minimum": 0}
	case t.Kind() == reflect.Struct:
		one := map[string]any{"$ref": "#/$defs/" + t.Name()}
		if reflect.PointerTo(t).Implements(reflect.TypeFor[shorthand]()) {
			return map[string]any{"anyOf": []any{one, map[string]any{"type": []string{"number", "string"}}}}
		}
		return one
	case t.Kind() == reflect.Slice:
		list := map[string]any{"type": "array", "items": f.schema(t.Elem())}
		if f.Single {
			return map[string]any{"anyOf": []any{list, f.schema(t.Elem())}}
		}
		return list
	case t.Kind() == reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": f.schema(t.Elem())}
	}
	return f.plainSchema(t)
}

func (f *Field) plainSchema(t reflect.Type) map[string]any {
	switch {
	case t.Kind() == reflect.Interface:
		return map[string]any{}
	case len(f.One) > 0:
		return map[string]any{"enum": f.One}
	case t.Kind() == reflect.String:
		return map[string]any{"type": []string{"string", "number"}}
	case t.Kind() == reflect.Bool:
		return map[string]any{"type": "boolean"}
	}
	one := map[string]any{"type": "integer"}
	if t.Kind() == reflect.Float64 {
		one["type"] = "number"
	}
	limit := func(v float64, name string) {
		if v-v == 0 { // the value is finite
			one[name] = v
		}
	}
	if f.above {
		limit(f.low, "exclusiveMinimum")
	} else {
		limit(f.low, "minimum")
	}
	limit(f.high, "maximum")
	return one
}
