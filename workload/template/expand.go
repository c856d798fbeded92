package template

import (
	"fmt"
	"regexp"
	"strings"

	"gopkg.in/yaml.v3"
)

// Lookup returns the value of a variable. os.LookupEnv is one.
type Lookup func(name string) (value string, found bool)

// First returns a Lookup that tries each of the given Lookups in turn. It skips nil ones.
func First(lookups ...Lookup) Lookup {
	return func(name string) (string, bool) {
		for _, l := range lookups {
			if l == nil {
				continue
			}
			if v, ok := l(name); ok {
				return v, true
			}
		}
		return "", false
	}
}

// Map returns the Lookup of a map.
func Map(m map[string]string) Lookup {
	return func(name string) (string, bool) { v, ok := m[name]; return v, ok }
}

// placeholder is a variable in a value of a template, with an optional default (docs/reference/dialects.md#templates).
var placeholder = regexp.MustCompile(`REPLACE_ENV_(\w+?)(?:\+\+\+\+default=([^\s/"']*)|\b)|\$\{(\w+)\}`)

// mostText bounds a value after its variables were replaced.
const mostText = 1 << 20

// Expand replaces the placeholders REPLACE_ENV_NAME, REPLACE_ENV_NAME++++default=VALUE and ${NAME} in the values below
// root. A value that results is typed as if the file contained it. A variable that has neither a value nor a default is
// an error; with keep it stays as it is, and a note reports it.
func Expand(file string, root *yaml.Node, lookup Lookup, keep bool) (notes []string, err error) {
	e := expander{file: file, lookup: lookup, keep: keep}
	err = e.node(root)
	return e.notes, err
}

type expander struct {
	file   string
	lookup Lookup
	keep   bool
	notes  []string
}

func (e *expander) node(n *yaml.Node) error {
	if n == nil {
		return nil
	}
	if n.Kind == yaml.ScalarNode && strings.ContainsAny(n.Value, "_$") {
		return e.scalar(n)
	}
	for i, child := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			continue
		}
		if err := e.node(child); err != nil {
			return err
		}
	}
	return nil
}

func (e *expander) scalar(n *yaml.Node) error {
	var failed error
	text := placeholder.ReplaceAllStringFunc(n.Value, func(found string) string {
		m := placeholder.FindStringSubmatch(found)
		name := m[1] + m[3]
		if v, ok := e.lookup(name); ok {
			return v
		}
		if strings.Contains(found, "++++default=") {
			return m[2]
		}
		if e.keep {
			e.notes = append(e.notes, fmt.Sprintf("profile %s line %d: the variable %s has no value; its placeholder stays",
				e.file, n.Line, name))
			return found
		}
		failed = fmt.Errorf("profile %s line %d: the variable %s has no value; pass --set-env %s=VALUE or set it in the "+
			"environment", e.file, n.Line, name, name)
		return found
	})
	switch {
	case failed != nil:
		return failed
	case len(text) > mostText:
		return fmt.Errorf("profile %s line %d: the value is longer than %d bytes", e.file, n.Line, mostText)
	case text == n.Value:
		return nil
	}
	n.Value = text
	if n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) == 0 {
		n.Tag = "" // a plain value gets the type of its new text
	}
	return nil
}
