package accuracy

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Function calls in a model's output (docs/reference/scoring-rules.md#function-calls).

func extractCalls(text string) (calls []any, native bool) {
	text = pyStrip(text)
	if len(text) > maxJSONBytes {
		text = ""
	}
	if v, err := parseJSON(text); err == nil {
		items, _ := v.([]any)
		if calls, ok := eachItem(items, toolCall); ok {
			return calls, true
		}
		if calls, ok := eachItem(items, namedCall); ok {
			return calls, false
		}
	}
	return textCalls(text), false
}

// eachItem converts every item of a list. It returns false if the list is empty or a conversion fails.
func eachItem(items []any, convert func(*object) (*object, bool)) ([]any, bool) {
	var out []any
	for _, item := range items {
		o, ok := item.(*object)
		if !ok {
			return nil, false
		}
		call, ok := convert(o)
		if !ok {
			return nil, false
		}
		out = append(out, call)
	}
	return out, len(out) > 0
}

func newCall(name, arguments any) *object {
	o := newObject()
	o.set("name", name)
	o.set("arguments", arguments)
	return o
}

// toolCall reads an item of a server's tool_calls.
func toolCall(o *object) (*object, bool) {
	f, ok := o.values["function"].(*object)
	if !ok {
		return nil, false
	}
	name, known := f.values["name"]
	if !known {
		name = ""
	}
	arguments, known := f.values["arguments"]
	if !known {
		arguments = newObject()
	}
	if text, isText := arguments.(string); isText {
		if v, err := parseJSON(text); err == nil {
			arguments = v
		}
	}
	return newCall(name, arguments), true
}

// namedCall reads {name, arguments}.
func namedCall(o *object) (*object, bool) {
	name, ok := o.values["name"]
	if !ok {
		return nil, false
	}
	arguments, known := o.values["arguments"]
	if !known {
		arguments = newObject()
	}
	return newCall(name, arguments), true
}

// notFunctions are words before a parenthesis that are not calls.
var notFunctions = strings.Fields("print return if for while def class import from with assert raise try except " +
	"len str int float list dict set tuple " +
	"type isinstance range enumerate zip map filter Note Example Here This The For")

// textCalls finds calls written as text. Each parenthesis that is never closed costs a search to the end of the text;
// maxOpenScans limits such searches.
func textCalls(text string) []any {
	calls := []any{}
	for at, scans := 0, 0; scans < maxOpenScans; {
		start, open := nextCall(text, at)
		if open < 0 {
			break
		}
		name, _, _ := strings.Cut(text[start:open], " ")
		name = strings.TrimFunc(name, pySpace)
		at = open + 1
		if slices.Contains(notFunctions, name) {
			continue
		}
		closing := closingParen(text, open)
		if closing < 0 {
			scans++
			continue
		}
		at = closing + 1
		args := pyStrip(text[open+1 : closing])
		if args != "" && looksDeclared(args) {
			continue
		}
		calls = append(calls, newCall(name, callArguments(args)))
	}
	return calls
}

// maxOpenScans limits the searches for parentheses that are never closed.
const maxOpenScans = 200

// nextCall finds the next identifier that precedes an opening parenthesis.
func nextCall(text string, from int) (start, open int) {
	for at := from; at < len(text); {
		if c := text[at]; !(c == '_' || (isAlnum(c) && c > '9')) || !boundary(text, at) {
			_, size := utf8.DecodeRuneInString(text[at:])
			at += size
			continue
		}
		end := len(text) - len(strings.TrimLeftFunc(text[at:], pyWord))
		if open := skipSpace(text, end); open < len(text) && text[open] == '(' {
			return at, open
		}
		at = end
	}
	return 0, -1
}

// unquoted calls visit for each byte outside of quotes until it returns false. It reports whether all quotes are
// closed.
func unquoted(text string, visit func(i int, c byte) bool) bool {
	quote := byte(0)
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case quote != 0:
			if c == '\\' {
				i++
			} else if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case !visit(i, c):
			return true
		}
	}
	return quote == 0
}

// closingParen returns the index of the parenthesis that closes the one at open, or -1. Quoted text does not count.
func closingParen(text string, open int) int {
	depth, closing := 0, -1
	unquoted(text[open:], func(i int, c byte) bool {
		switch c {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				closing = open + i
			}
		}
		return closing < 0
	})
	return closing
}

// looksDeclared reports whether all arguments are bare names, with or without a type: a declaration, not a call.
func looksDeclared(args string) bool {
	for part := range strings.SplitSeq(args, ",") {
		part = pyStrip(part)
		if part == "" {
			continue
		}
		name, typ, typed := strings.Cut(part, ":")
		if !identifier(pyStrip(name)) || (typed && !wordOnly(pyStrip(typ))) {
			return false
		}
	}
	return true
}

func identifier(s string) bool {
	return s != "" && (s[0] == '_' || (isAlnum(s[0]) && s[0] > '9')) && wordOnly(s)
}

func wordOnly(s string) bool {
	return s != "" && strings.TrimFunc(s, pyWord) == "" &&
		strings.IndexFunc(s, func(r rune) bool { return !pyWord(r) }) < 0
}

// callArguments parses keyword arguments like Python. Positional ones are dropped. A text that Python could not parse
// is returned whole under _raw.
func callArguments(args string) *object {
	o := newObject()
	parts, ok := splitArguments(args)
	keywords := false
	for i, part := range parts {
		part = pyStrip(part)
		if part == "" {
			ok = ok && i == len(parts)-1
			continue
		}
		name, value, isKeyword := strings.Cut(part, "=")
		name, value = pyStrip(name), pyStrip(value)
		switch {
		case isKeyword && identifier(name) && !strings.HasPrefix(value, "="):
			keywords = true
			v, known := pythonLiteral(value)
			if !known {
				v, ok = value, ok && plausible(value)
			}
			o.set(name, v)
		case strings.HasPrefix(part, "**"):
			keywords = true
		case !strings.HasPrefix(part, "*") && (keywords || !plausible(part)):
			ok = false
		}
	}
	if !ok {
		raw := newObject()
		raw.set("_raw", args)
		return raw
	}
	return o
}

// plausible rejects text that cannot be a Python expression: nothing, an assignment, or an incomplete end.
func plausible(expr string) bool {
	bare := strings.NewReplacer("==", "", "<=", "", ">=", "", "!=", "").Replace(expr)
	depth := 0
	for i := 0; i < len(bare); i++ {
		switch c := bare[i]; {
		case c == '\'' || c == '"':
			if end := strings.IndexByte(bare[i+1:], c); end >= 0 {
				i += end + 1
			}
		case strings.IndexByte("([{", c) >= 0:
			depth++
		case strings.IndexByte(")]}", c) >= 0:
			depth--
		case c == '=' && depth == 0:
			return false
		}
	}
	return expr != "" && strings.IndexByte(`:\`, expr[len(expr)-1]) < 0
}

// splitArguments splits at the commas outside of brackets and quotes. It returns false if brackets or quotes do not
// match.
func splitArguments(args string) ([]string, bool) {
	if args == "" {
		return nil, true
	}
	var parts []string
	var open []byte
	start, matched := 0, true
	closed := unquoted(args, func(i int, c byte) bool {
		switch {
		case strings.IndexByte("([{", c) >= 0:
			open = append(open, c)
		case strings.IndexByte(")]}", c) >= 0:
			if matched = len(open) > 0 && "([{"[strings.IndexByte(")]}", c)] == open[len(open)-1]; matched {
				open = open[:len(open)-1]
			}
		case c == ',' && len(open) == 0:
			parts = append(parts, args[start:i])
			start = i + 1
		}
		return matched
	})
	if !matched {
		return nil, false
	}
	return append(parts, args[start:]), closed && len(open) == 0
}
