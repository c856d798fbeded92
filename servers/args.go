package servers

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// arguments reads server_args: a list of words as they are, or a map of names and values.
func arguments(c *Config, n *yaml.Node) error {
	if c.Args != nil {
		return fmt.Errorf("is given beside the other of server_args and api_server_args: keep one")
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
			return nil, fmt.Errorf("has the name %q in line %d, which is no name of an argument", key.Value, key.Line)
		}
		if seen[name] {
			return nil, fmt.Errorf("has %s twice, again in line %d", name, key.Line)
		}
		seen[name] = true
		of, err := pair(name, value)
		if err != nil {
			return nil, fmt.Errorf("has the value of %s in line %d, which %w", name, value.Line, err)
		}
		args = append(args, of...)
	}
	return args, nil
}

// pair are the words for one name: a bare flag for true, --no-NAME for false, nothing for null, JSON for maps and
// lists.
func pair(name string, value *yaml.Node) ([]string, error) {
	if isNull(value) {
		return nil, nil
	}
	if value.Kind != yaml.ScalarNode {
		var v any
		if err := value.Decode(&v); err != nil {
			return nil, fmt.Errorf("can not be read: %w", err)
		}
		b, err := json.Marshal(v)
		if err != nil {
			return nil, fmt.Errorf("can not be written as JSON: %w", err)
		}
		return []string{"--" + name, string(b)}, nil
	}
	if value.Tag != "!!bool" {
		return []string{"--" + name, value.Value}, nil
	}
	var on bool
	if err := value.Decode(&on); err != nil {
		return nil, fmt.Errorf("is no truth value: %w", err)
	}
	if on {
		return []string{"--" + name}, nil
	}
	return []string{"--no-" + name}, nil
}

// group is a flag with the words behind it; the words in front of the first flag have no name.
type group struct {
	name  string
	words []string
}

// isFlag says whether a word names an argument: a dash and a letter, so that -1 is a value.
func isFlag(word string) bool {
	name := strings.TrimLeft(word, "-")
	return name != word && len(word)-len(name) <= 2 && name != "" && (name[0] < '0' || name[0] > '9') &&
		!strings.ContainsAny(name[:1], ".{[\" ")
}

// canonical is the name of a flag by which two spellings of it are found: of the engine's short names, with or without
// "no".
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

// merge gives base with every argument of over in the place of base's arguments of that name. A name that base or over
// has several times keeps its order; words in front of the first flag stay in front.
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

// valueOf is the first word behind a flag of that name, and whether the flag is there.
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

// without drops the arguments of that name.
func without(e engine, words []string, name string) []string {
	kept := []string{}
	for _, g := range grouped(e, words) {
		if g.name != name || name == "" {
			kept = append(kept, g.words...)
		}
	}
	return kept
}
