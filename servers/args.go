package servers

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// arguments parses server_args: a list of words, used unchanged, or a map of names and values.
func arguments(c *Config, n *yaml.Node) error {
	if c.Args != nil {
		return fmt.Errorf("is set in addition to its other name: keep one of server_args and api_server_args")
	}
	var err error
	switch n.Kind {
	case yaml.SequenceNode:
		c.Args, err = words(n)
	case yaml.MappingNode:
		c.Args, err = fromMap(n)
	default:
		err = fmt.Errorf("is neither a list of words nor a map of names and values")
	}
	if c.Args == nil {
		c.Args = []string{}
	}
	return err
}

func fromMap(n *yaml.Node) ([]string, error) {
	var args []string
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		name := strings.ReplaceAll(strings.TrimLeft(key.Value, "-"), "_", "-")
		if name == "" || strings.ContainsAny(name, " =\n") {
			return nil, fmt.Errorf("has %q in line %d, which is not the name of an argument", key.Value, key.Line)
		}
		if seen[name] {
			return nil, fmt.Errorf("has %s twice, again in line %d", name, key.Line)
		}
		seen[name] = true
		of, err := pair(name, value)
		if err != nil {
			return nil, fmt.Errorf("has a value of %s in line %d that %w", name, value.Line, err)
		}
		args = append(args, of...)
	}
	return args, nil
}

// pair returns the words for one name: a bare flag for true, --no-NAME for false, none for null, JSON for maps and
// lists.
func pair(name string, value *yaml.Node) ([]string, error) {
	if isNull(value) {
		return nil, nil
	}
	if value.Kind != yaml.ScalarNode {
		var v any
		if err := value.Decode(&v); err != nil {
			return nil, fmt.Errorf("cannot be read: %w", err)
		}
		b, err := json.Marshal(v)
		if err != nil {
			return nil, fmt.Errorf("cannot be written as JSON: %w", err)
		}
		return []string{"--" + name, string(b)}, nil
	}
	if value.Tag != "!!bool" {
		return []string{"--" + name, value.Value}, nil
	}
	var on bool
	if err := value.Decode(&on); err != nil {
		return nil, fmt.Errorf("is neither true nor false: %w", err)
	}
	if on {
		return []string{"--" + name}, nil
	}
	return []string{"--no-" + name}, nil
}

// group is a flag with its values. The words before the first flag form a group without a name.
type group struct {
	name  string
	words []string
}

// isFlag reports whether a word is a flag: one or two dashes and a letter, so that -1 is a value.
func isFlag(word string) bool {
	name := strings.TrimLeft(word, "-")
	return name != word && len(word)-len(name) <= 2 && name != "" && (name[0] < '0' || name[0] > '9') &&
		!strings.ContainsAny(name[:1], ".{[\" ")
}

// canonical returns the name of a flag that all its spellings share: short and long, with and without "no-".
func canonical(e engine, word string) string {
	name, _, _ := strings.Cut(strings.TrimLeft(word, "-"), "=")
	name = strings.TrimPrefix(strings.ReplaceAll(name, "_", "-"), "no-")
	if long, ok := e.short[name]; ok {
		return long
	}
	return name
}

func grouped(e engine, words []string) []group {
	groups := []group{{}}
	for _, w := range words {
		if isFlag(w) {
			groups = append(groups, group{name: canonical(e, w)})
		}
		last := &groups[len(groups)-1]
		last.words = append(last.words, w)
	}
	return groups
}

// merge returns base with its arguments replaced by those of over that have the same name. Repeated names keep their
// order, and words before the first flag stay in front.
func merge(e engine, base, over []string) []string {
	front, rest := []string{}, []string{}
	above := grouped(e, over)
	for _, g := range grouped(e, base) {
		switch replaced := slices.ContainsFunc(above, func(o group) bool { return o.name == g.name }); {
		case g.name == "":
			front = append(front, g.words...)
		case !replaced:
			rest = append(rest, g.words...)
		}
	}
	front = append(front, above[0].words...)
	for _, g := range above[1:] {
		rest = append(rest, g.words...)
	}
	return append(front, rest...)
}

// valueOf returns the first value of the flag with that name, and whether the flag is present.
func valueOf(e engine, words []string, name string) (value string, ok bool) {
	for _, g := range grouped(e, words) {
		if g.name != name || name == "" {
			continue
		}
		if _, v, inline := strings.Cut(g.words[0], "="); inline {
			return v, true
		}
		return strings.Join(g.words[1:min(2, len(g.words))], ""), true
	}
	return "", false
}

// without returns the words without the flags of that name.
func without(e engine, words []string, name string) []string {
	kept := []string{}
	for _, g := range grouped(e, words) {
		if g.name != name || name == "" {
			kept = append(kept, g.words...)
		}
	}
	return kept
}
