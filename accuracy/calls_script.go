package accuracy

import (
	"fmt"
	"regexp"
	"strings"
)

// JavaScript literals, parsed as the reference parses them.

const nestedRow = `\[.*?\]` + spaceClass + `*`

var (
	scriptTable = regexp.MustCompile(`^(?:\[` + spaceClass + `*` + nestedRow + `(,` + spaceClass + `*` + nestedRow +
		`)*\]|new` + spaceClass + `+Array\(` + spaceClass + `*` + nestedRow + `(,` + spaceClass + `*` + nestedRow + `)*\))`)
	scriptRow   = regexp.MustCompile(`\[(.*?)\]`)
	scriptArray = regexp.MustCompile(`^(?:\[(.*?)\]|new` + spaceClass + `+Array\((.*?)\))`)
	scriptDict  = regexp.MustCompile(`^\{(.*?)\}`)
)

func scriptValue(value, described, nested string) (any, error) {
	if f, ok := scriptForms[described]; ok {
		return f.convert(value), nil
	}
	switch described {
	case "String":
		if quotedText(value) {
			return inner(value), nil
		}
		return value, nil
	case "array":
		return scriptList(pyStrip(value), nested), nil
	case "dict":
		return scriptObject(pyStrip(value), 0), nil
	case "Boolean":
		return truth(value), nil
	case "any":
		return value, nil
	}
	return nil, fmt.Errorf("%w: JavaScript type %.40q", errUnsupported, described)
}

func quotedText(s string) bool {
	return s != "" && (s[0] == '"' || s[0] == '\'') && s[len(s)-1] == s[0]
}

func scriptList(code, nested string) any {
	if table := scriptTable.FindString(code); table != "" {
		rows := []any{}
		for i, m := range scriptRow.FindAllStringSubmatch(table, -1) {
			row := pyStrip(m[1])
			if i == 0 {
				row = strings.TrimPrefix(row, "[")
			}
			items := []any{}
			for item := range strings.SplitSeq(row, ",") {
				items = append(items, scriptUntyped(item))
			}
			rows = append(rows, items)
		}
		return rows
	}
	m := scriptArray.FindStringSubmatch(code)
	if m == nil {
		return code
	}
	items := []any{}
	content := pyStrip(m[1] + m[2])
	if content == "" {
		return items
	}
	for item := range strings.SplitSeq(content, ",") {
		if nested == "" {
			items = append(items, scriptUntyped(item))
			continue
		}
		v, err := scriptValue(pyStrip(item), nested, "")
		if err != nil {
			return code
		}
		items = append(items, v)
	}
	return items
}

// scriptObject reads pairs of key and value up to the first closing brace.
func scriptObject(code string, depth int) any {
	m := scriptDict.FindStringSubmatch(code)
	if m == nil || depth > maxNesting {
		return code
	}
	o := newObject()
	for rest := m[1]; ; {
		key, after, ok := strings.Cut(strings.TrimLeft(rest, ":"), ":") // a key has a character at least
		if !ok {
			return o
		}
		var value string
		value, rest = cutPair(strings.TrimLeftFunc(after, pySpace))
		value = pyStrip(value)
		switch {
		case strings.HasPrefix(value, "[") && strings.HasSuffix(value, "]"):
			o.set(bareKey(key), scriptList(value, ""))
		case strings.HasPrefix(value, "{") && strings.HasSuffix(value, "}"):
			o.set(bareKey(key), scriptObject(value, depth+1))
		default:
			o.set(bareKey(key), scriptUntyped(strings.Trim(value, `'"`)))
		}
	}
}

func bareKey(key string) string { return strings.Trim(pyStrip(key), `'"`) }

// cutPair splits a value from the pairs after it, at a comma that a key and a colon follow before the next comma. A
// blank is a key too if no other one precedes the colon.
func cutPair(s string) (value, rest string) {
	for i := range len(s) {
		if s[i] != ',' {
			continue
		}
		rest := strings.TrimLeftFunc(s[i+1:], pySpace)
		pair, _, _ := strings.Cut(rest, ",")
		switch colon := strings.LastIndexByte(pair, ':'); {
		case colon > 0:
			return s[:i], rest
		case colon == 0 && len(rest) < len(s)-i-1:
			return s[:i], " " + rest
		}
	}
	return s, ""
}

func scriptUntyped(s string) any {
	s = pyStrip(s)
	if quotedText(s) {
		return inner(s)
	}
	return untyped(s)
}
