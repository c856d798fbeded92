package accuracy

import (
	"fmt"
	"regexp"
	"strings"
)

// Java literals, parsed as the reference parses them.

var (
	javaListOf   = regexp.MustCompile(`new` + spaceClass + `+ArrayList<[\pL\pN_]*>\(Arrays\.asList\((.+?)\)\)`)
	javaListAdds = regexp.MustCompile(`(?s)new` + spaceClass + `+ArrayList<[\pL\pN_]*>\(\)` + spaceClass + `*\{\{` +
		spaceClass + `*(.+?)` + spaceClass + `*\}\}`)
	javaAdd      = regexp.MustCompile(`add\((.+?)\)`)
	javaListNone = regexp.MustCompile(`new` + spaceClass + `+ArrayList<[\pL\pN_]*>\(\)`)
	javaArray    = regexp.MustCompile(`new` + spaceClass + `+[\pL\pN_]+\[\]` + spaceClass + `*\{(.*?)\}`)
	javaMap      = regexp.MustCompile(`(?s)new` + spaceClass + `+HashMap<.*?>` + spaceClass + `*\(\)` + spaceClass +
		`*\{` + spaceClass + `*\{?` + spaceClass + `*(.*?)` + spaceClass + `*\}?` + spaceClass + `*\}`)
	javaPut     = regexp.MustCompile(`put\("(.*?)",` + spaceClass + `*(.*?)\)`)
	javaMapNone = regexp.MustCompile(`new` + spaceClass + `+HashMap<.*?>` + spaceClass + `*\(\)`)
)

// javaValue converts a literal. A value that is not a valid literal of its type stays a string.
func javaValue(value, described, nested string) (any, error) {
	if f, ok := javaForms[described]; ok {
		return f.convert(value), nil
	}
	switch described {
	case "ArrayList":
		return javaList(value, nested)
	case "Array":
		if m := javaArray.FindStringSubmatch(value); m != nil {
			return javaItems(strings.Split(m[1], ","), nested, true)
		}
		return value, nil
	case "HashMap":
		return javaDict(value), nil
	case "boolean":
		return truth(value), nil
	case "String", "any", "char":
		return value, nil
	}
	return nil, fmt.Errorf("%w: Java type %.40q", errUnsupported, described)
}

func javaList(value, nested string) (any, error) {
	if m := javaListOf.FindStringSubmatch(value); m != nil {
		return javaItems(strings.Split(m[1], ","), nested, false)
	}
	if m := javaListAdds.FindStringSubmatch(value); m != nil {
		var items []string
		for _, add := range javaAdd.FindAllStringSubmatch(m[1], -1) {
			items = append(items, add[1])
		}
		return javaItems(items, nested, false)
	}
	if javaListNone.MatchString(value) {
		return []any{}, nil
	}
	return value, nil
}

// javaItems converts the items of a collection. Items of an array keep their quotes, and empty ones are dropped.
func javaItems(items []string, nested string, array bool) (any, error) {
	out := []any{}
	for _, item := range items {
		item = pyStrip(item)
		if array && item == "" {
			continue
		}
		if !array && (nested == "char" || nested == "String") {
			out = append(out, inner(item))
			continue
		}
		if nested == "" {
			out = append(out, javaUntyped(item))
			continue
		}
		v, err := javaValue(item, nested, "")
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

func javaDict(value string) any {
	m := javaMap.FindStringSubmatch(value)
	if m == nil {
		if javaMapNone.MatchString(value) {
			return newObject()
		}
		return value
	}
	o := newObject()
	for _, put := range javaPut.FindAllStringSubmatch(m[1], -1) {
		o.set(put[1], javaUntyped(pyStrip(put[2])))
	}
	return o
}

// javaUntyped converts a literal of unknown type.
func javaUntyped(s string) any {
	if strings.HasPrefix(s, `"`) && strings.HasSuffix(s, `"`) {
		return inner(s)
	}
	for _, described := range []string{"long", "float"} {
		if f := javaForms[described]; f.form.MatchString(s) {
			return f.read(s)
		}
	}
	return untyped(s)
}
