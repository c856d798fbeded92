package template

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/mlperf-go/mlperf-go/internal/config"
	"github.com/mlperf-go/mlperf-go/internal/plural"
)

// Pair is a key of a profile and its new value.
type Pair struct {
	Key   string // dotted path such as load.stages.0.rate, or one key
	Value string // YAML of one line, such as 20, "a,b" or [1,2]
}

// ParseOverrides splits key=value[,key=value...] and key,value[,key,value...]. Commas within quotes, brackets and
// braces belong to a value.
func ParseOverrides(texts []string) ([]Pair, error) {
	var pairs []Pair
	for _, text := range texts {
		items, err := splitItems(text)
		if err != nil {
			return nil, err
		}
		if len(items) == 0 {
			continue
		}
		if !slices.ContainsFunc(items, func(s string) bool { return strings.Contains(s, "=") }) && len(items)%2 == 0 {
			for i := 0; i < len(items); i += 2 {
				pairs = append(pairs, Pair{items[i], items[i+1]})
			}
			continue
		}
		for _, item := range items {
			key, value, ok := strings.Cut(item, "=")
			if key = strings.TrimSpace(key); !ok || key == "" {
				return nil, fmt.Errorf("override %.60q: expected KEY=VALUE, separated by commas; quote a value that contains "+
					"a comma", item)
			}
			pairs = append(pairs, Pair{key, strings.TrimSpace(value)})
		}
	}
	return pairs, nil
}

// splitItems splits a text at its outer commas.
func splitItems(text string) ([]string, error) {
	var items []string
	var quote rune
	depth, start := 0, 0
	for i, c := range text {
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '[' || c == '{':
			depth++
		case c == ']' || c == '}':
			depth--
		case c == ',' && depth == 0:
			items, start = append(items, strings.TrimSpace(text[start:i])), i+1
		}
	}
	if quote != 0 || depth != 0 {
		return nil, fmt.Errorf("override %.60q: a quote or bracket is not closed", text)
	}
	if last := strings.TrimSpace(text[start:]); last != "" || len(items) > 0 {
		items = append(items, last)
	}
	return items, nil
}

// Names maps keys of other tools' profiles to keys of this program's form, where an override may use either.
type Names map[string]string

// Override sets values below root. A key with dots is a path whose parents exist; a number is an item of a list. A key
// without dots is a key of the document, one of roots, or else every entry with exactly that name ("leaf mode"): a note
// reports how many there were. A key that matches nothing is an error with similar names.
func Override(root *yaml.Node, pairs []Pair, roots []string, also Names) (notes []string, err error) {
	for _, p := range pairs {
		value, err := parseValue(p)
		if err != nil {
			return nil, err
		}
		note, err := override(root, p.Key, value, roots, also)
		if err != nil {
			return nil, err
		}
		if note != "" {
			notes = append(notes, note)
		}
	}
	return notes, nil
}

// parseValue parses a value as YAML. Its nodes have line 0.
func parseValue(p Pair) (*yaml.Node, error) {
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(p.Value), &document); err != nil {
		return nil, fmt.Errorf("override %s: %.60q is not a value: %w", p.Key, p.Value, err)
	}
	if len(document.Content) == 0 {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str"}, nil
	}
	value := document.Content[0]
	clearLines(value)
	return value, nil
}

func clearLines(n *yaml.Node) {
	n.Line = 0
	for _, child := range n.Content {
		clearLines(child)
	}
}

// planKeys are the first keys of settings of llm-d-benchmark's plan (8bc9f1dd), with the place of such settings here.
var planKeys = map[string]string{
	"decode": ofServers, "prefill": ofServers, "standalone": ofServers, "modelservice": ofServers,
	"vllmCommon": ofServers,
	"router":     "set it where the router is deployed; this program deploys none",
	"model": "--model names the model, --tokenizer its tokenizer, and --set-env " +
		"LLMDBENCH_DEPLOY_CURRENT_MAX_MODEL_LEN=N its longest context",
	"harness":    "--harness and --workload name them, and flags of `mlperf-go-kube run` set its pods",
	"experiment": "--dataset, --output and --experiments set what it contains",
}

const ofServers = "set it where the servers are deployed, such as in the file of --server-config of " +
	"`mlperf-go bench e2e`"

func override(root *yaml.Node, key string, value *yaml.Node, roots []string, also Names) (note string, err error) {
	path := strings.Split(key, ".")
	_, err = find(root, path[0])
	if place := planKeys[path[0]]; len(path) > 1 && err != nil && place != "" {
		return "", fmt.Errorf("override %s: it is a setting of llm-d-benchmark's plan and not of a profile; %s", key, place)
	}
	if len(path) > 1 || err == nil {
		if err = set(root, path, value); err != nil {
			path, renamed := rename(path, also)
			if !renamed || set(root, path, value) != nil {
				return "", fmt.Errorf("override %s: %w", key, err)
			}
			return fmt.Sprintf("override %s: read as %s", key, strings.Join(path, ".")), nil
		}
		return "", nil
	}
	name := key
	if also[key] != "" && count(root, key) == 0 {
		name = also[key]
		if strings.Contains(name, ".") {
			return fmt.Sprintf("override %s: read as %s", key, name), set(root, strings.Split(name, "."), value)
		}
	}
	if n := setLeaves(root, name, value); n > 0 {
		return fmt.Sprintf("override %s: set %s at %s", key, name, plural.Count(n, "place", "places")), nil
	}
	if slices.Contains(roots, name) {
		return "", set(root, []string{name}, value)
	}
	known := append(keysBelow(root, nil), roots...)
	hint := "the profile has " + strings.Join(slices.Compact(slices.Sorted(slices.Values(known))), ", ")
	if near := config.Nearest(key, known); len(near) > 0 {
		hint = "did you mean " + strings.Join(near, " or ") + "?"
	}
	return "", fmt.Errorf("override %s: the profile has no such key; %s", key, hint)
}

// rename translates the segments of another tool's path.
func rename(path []string, also Names) ([]string, bool) {
	now, changed := slices.Clone(path), false
	for i, s := range path {
		if other := also[s]; other != "" {
			now[i], changed = other[strings.LastIndexByte(other, '.')+1:], true
		}
	}
	return now, changed
}

// find returns the child of a map or list.
func find(n *yaml.Node, key string) (*yaml.Node, error) {
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == key {
				return n.Content[i+1], nil
			}
		}
		known := ownKeys(n)
		if near := config.Nearest(key, known); len(near) > 0 {
			return nil, fmt.Errorf("there is no key %s; did you mean %s?", key, strings.Join(near, " or "))
		}
		return nil, fmt.Errorf("there is no key %s; the keys are %s", key, strings.Join(known, ", "))
	case yaml.SequenceNode:
		i, err := strconv.Atoi(key)
		if err != nil || i < 0 || i >= len(n.Content) {
			return nil, fmt.Errorf("%s is not an item of the list; its items are 0 to %d", key, len(n.Content)-1)
		}
		return n.Content[i], nil
	}
	return nil, fmt.Errorf("%s is below a plain value", key)
}

func ownKeys(n *yaml.Node) (keys []string) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		keys = append(keys, n.Content[i].Value)
	}
	return keys
}

// set replaces the value at a path. The last key may be new in its map.
func set(n *yaml.Node, path []string, value *yaml.Node) error {
	for _, key := range path[:len(path)-1] {
		child, err := find(n, key)
		if err != nil {
			return err
		}
		n = child
	}
	last := path[len(path)-1]
	at, err := find(n, last)
	switch {
	case err == nil:
		replace(at, value)
	case n.Kind == yaml.MappingNode:
		n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: last}, value)
	default:
		return err
	}
	return nil
}

// replace puts a value in place of another one. A field of type text reads 123 as text, so that it may name a model.
func replace(at, value *yaml.Node) { *at = *value }

// setLeaves sets every entry with a name and returns their number.
func setLeaves(n *yaml.Node, name string, value *yaml.Node) (found int) {
	for i, child := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 1 && n.Content[i-1].Value == name {
			replace(child, value)
			found++
			continue
		}
		found += setLeaves(child, name, value)
	}
	return found
}

func count(n *yaml.Node, name string) (found int) {
	for _, key := range keysBelow(n, nil) {
		if key == name {
			found++
		}
	}
	return found
}

func keysBelow(n *yaml.Node, to []string) []string {
	if n.Kind == yaml.MappingNode {
		to = append(to, ownKeys(n)...)
	}
	for _, child := range n.Content {
		to = keysBelow(child, to)
	}
	return to
}
