package accuracy

import (
	"fmt"
	"regexp"
	"strings"
)

// Types in descriptions of functions, by language, and the conversion of Java and JavaScript literals, which models
// write as strings (docs/reference/scoring-rules.md#function-calls).

// callRules describes the types of one language.
type callRules struct {
	kinds   map[string]string // described type to Python type
	nested  map[string]bool   // types whose items are checked too
	convert func(value, described, nested string) (any, error)
	error   string // error code for a value that must be a string but is not
}

var pythonRules = callRules{
	kinds: map[string]string{"string": "str", "integer": "int", "float": "float", "boolean": "bool", "array": "list",
		"tuple": "list", "dict": "dict", "any": "str"},
	nested: map[string]bool{"array": true, "tuple": true},
}

var javaRules = callRules{
	kinds: map[string]string{
		"byte": "int", "short": "int", "integer": "int", "float": "float", "double": "float", "long": "int",
		"boolean": "bool", "char": "str",
		"Array": "list", "ArrayList": "list", "Set": "set", "HashMap": "dict", "Hashtable": "dict", "Queue": "list",
		"Stack":  "list",
		"String": "str", "any": "str",
	},
	nested: map[string]bool{"Array": true, "ArrayList": true}, error: "type_error:java", convert: javaValue,
}

var scriptRules = callRules{
	kinds: map[string]string{"String": "str", "integer": "int", "float": "float", "Bigint": "int", "Boolean": "bool",
		"dict": "dict", "array": "list", "any": "str"},
	nested: map[string]bool{"array": true}, error: "type_error:js", convert: scriptValue,
}

// subsetRules are the rules of the subsets that are not Python.
var subsetRules = map[string]callRules{"simple_java": javaRules, "simple_javascript": scriptRules}

func rulesOf(subset string) callRules {
	if r, ok := subsetRules[subset]; ok {
		return r
	}
	return pythonRules
}

// maxLiteral is the maximum length of a converted literal.
const maxLiteral = 1 << 16

// prepare converts a value for comparison. It also returns the Python types of the value and of its items.
func (r *callRules) prepare(value any, described string, detail *object) (any, string, string, callVerdict, error) {
	kind, ok := r.kinds[described]
	if !ok {
		return nil, "", "", callVerdict{}, fmt.Errorf("%w: type %.40q", errUnsupported, described)
	}
	text, isText := value.(string)
	if r.convert != nil && !isText {
		return nil, "", "", invalid(r.error), nil
	}
	nestedType, nested := "", ""
	if r.nested[described] {
		items, _ := detail.values["items"].(*object)
		if items != nil {
			nestedType, _ = items.values["type"].(string)
		}
		if nested, ok = r.kinds[nestedType]; !ok {
			return nil, "", "", callVerdict{}, fmt.Errorf("%w: items of type %.40q", errUnsupported, nestedType)
		}
	}
	if r.convert != nil {
		if len(text) > maxLiteral {
			return nil, "", "", callVerdict{}, fmt.Errorf("%w: a literal of more than %d bytes", errUnsupported, maxLiteral)
		}
		converted, err := r.convert(text, described, nestedType)
		return converted, kind, nested, callsValid, err
	}
	if n, isInt := value.(pyInt); isInt && described == "float" {
		value, _ = pyNumeric(n)
	}
	return value, kind, nested, callsValid, nil
}

// literalForm describes how literals of one type are written, and contains the function that parses them.
type literalForm struct {
	form *regexp.Regexp
	read func(string) any
}

// convert parses a literal. It returns text in any other form unchanged.
func (f literalForm) convert(value string) any {
	if text := strings.TrimSuffix(value, "\n"); f.form.MatchString(text) {
		return f.read(text)
	}
	return value
}

func readInt(s string) any {
	n, ok := canonicalInt(asciiDigits(s))
	if !ok {
		return s
	}
	return n
}

func readFloat(s string) any {
	f, _ := pyFloatOf(s)
	return f
}

func withoutLast(read func(string) any) func(string) any {
	return func(s string) any { return read(s[:len(s)-1]) }
}

// truth parses a boolean. It returns any other text unchanged, even one with a line feed at its end.
func truth(s string) any {
	if s == "true" || s == "false" {
		return s == "true"
	}
	return s
}

var wholeForm = literalForm{regexp.MustCompile(`^-?\p{Nd}+$`), readInt}

var javaForms = map[string]literalForm{
	"byte": wholeForm, "short": wholeForm, "integer": wholeForm,
	"float":  {regexp.MustCompile(`^-?\p{Nd}+(\.\p{Nd}+)?([eE][+-]?\p{Nd}+)?[fF]$`), withoutLast(readFloat)},
	"double": {regexp.MustCompile(`^-?\p{Nd}+(\.\p{Nd}+)?([eE][+-]?\p{Nd}+)?$`), readFloat},
	"long":   {regexp.MustCompile(`^-?\p{Nd}+[lL]$`), withoutLast(readInt)},
}

var scriptForms = map[string]literalForm{
	"integer": wholeForm,
	"float":   {regexp.MustCompile(`^-?\p{Nd}+(\.\p{Nd}+)?$`), readFloat},
	"Bigint":  {regexp.MustCompile(`^-?\p{Nd}+n$`), withoutLast(readInt)},
}

// inner returns a text without its first and last character.
func inner(s string) string {
	r := []rune(s)
	if len(r) < 2 {
		return ""
	}
	return string(r[1 : len(r)-1])
}

// untyped parses a literal of unknown type as a boolean or a number, or else returns the text.
func untyped(s string) any {
	if b, ok := truth(s).(bool); ok {
		return b
	}
	if n, ok := canonicalInt(pyDigits(s)); ok {
		return n
	}
	if f, ok := pyFloatOf(s); ok {
		return f
	}
	return s
}
