package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"strings"

	"gopkg.in/yaml.v3"
)

// largestFile is the size limit of configuration files.
const largestFile = 1 << 20

// secretText is shown instead of a secret. A file that contains it does not change the setting.
const secretText = "***"

// LoadYAMLFile reads a configuration file of at most 1 MiB into the FromFile layer.
func (e *Effective) LoadYAMLFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("cannot read the config file: %w; pass a readable YAML file", err)
	}
	defer f.Close()
	return e.LoadYAML(path, f)
}

// LoadYAML reads a configuration of at most 1 MiB into the FromFile layer: one flat map from names of settings to
// values. name identifies the text in errors and origins. An unknown or repeated key, an anchor, or a value of the
// wrong form is an error, and then e is unchanged.
func (e *Effective) LoadYAML(name string, r io.Reader) error {
	root, err := ReadYAML("config file "+name, r)
	if err != nil || root == nil {
		return err
	}
	trial := e.Clone()
	if err := trial.setAll(name, root); err != nil {
		return err
	}
	*e = *trial
	return nil
}

// ReadYAML returns the top-level map of the only document in r, which may have up to 1 MiB, or nil if the document is
// empty. name begins its errors, such as "profile chat.yaml".
func ReadYAML(name string, r io.Reader) (*yaml.Node, error) {
	text, err := io.ReadAll(io.LimitReader(r, largestFile+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(text) > largestFile {
		return nil, fmt.Errorf("%s is larger than %d bytes", name, largestFile)
	}
	return parseYAML(name, text)
}

func parseYAML(name string, text []byte) (*yaml.Node, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var document, second yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, invalid(name, text, err)
	}
	if err := decoder.Decode(&second); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s has more than one document, or an error after the first: %v", name, err)
	}
	root := document.Content[0]
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return nil, nil
	}
	if root.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("%s line %d: the file is not a map of \"setting: value\"", name, root.Line)
	}
	return root, nil
}

func (e *Effective) setAll(name string, root *yaml.Node) error {
	seen := map[string]int{}
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, node := root.Content[i], root.Content[i+1]
		from := Origin{FromFile, fmt.Sprintf("%s line %d", name, key.Line)}
		if key.Kind != yaml.ScalarNode {
			return fmt.Errorf("%s: the key is not a plain word", from)
		}
		s, _, err := e.table.Find(key.Value)
		if err != nil {
			return fmt.Errorf("%s: %w", from, err)
		}
		if line, double := seen[s.Name]; double {
			return fmt.Errorf("%s: %s is already set in line %d", from, s.Name, line)
		}
		seen[s.Name] = key.Line
		if err := e.setNode(s, key.Value, node, from); err != nil {
			return err
		}
	}
	return nil
}

func (e *Effective) setNode(s *Setting, key string, node *yaml.Node, from Origin) error {
	switch {
	case node.Kind == yaml.SequenceNode:
		items := make([]string, 0, len(node.Content))
		for _, item := range node.Content {
			if item.Kind != yaml.ScalarNode {
				return fmt.Errorf("%s: %s has an item that is not a plain value", from, key)
			}
			items = append(items, item.Value)
		}
		return e.SetList(key, items, from)
	case node.Kind != yaml.ScalarNode:
		return fmt.Errorf("%s: %s must be a plain value or a list, not a map or an alias", from, key)
	case node.Tag == "!!null":
		return fmt.Errorf("%s: %s has no value; remove the line to leave it unset", from, key)
	case s.Secret && node.Value == secretText:
		return nil
	}
	return e.Set(key, node.Value, from)
}

// Clone returns an independent copy.
func (e *Effective) Clone() *Effective {
	return &Effective{Values: Values{table: e.table, set: maps.Clone(e.set)}, notices: e.Notices()}
}

// WriteYAML writes every setting that has a value, in table order, with its origin as a comment. Secrets are written as
// "***". LoadYAML reads the same values back.
func (e *Effective) WriteYAML(w io.Writer) error {
	root := &yaml.Node{Kind: yaml.MappingNode}
	for i := range e.table {
		name := e.table[i].Name
		got, ok := e.lookup(name)
		if !ok {
			continue
		}
		node := e.table[i].node(got.value)
		key := &yaml.Node{Kind: yaml.ScalarNode, Value: name}
		comment := oneLine(got.origin.String())
		if node.Kind == yaml.SequenceNode {
			key.HeadComment = comment
		} else {
			node.LineComment = comment
		}
		root.Content = append(root.Content, key, node)
	}
	if len(root.Content) == 0 {
		return nil
	}
	encoder := yaml.NewEncoder(w)
	encoder.SetIndent(2)
	if err := encoder.Encode(root); err != nil {
		return fmt.Errorf("write the effective configuration as YAML: %w", err)
	}
	return encoder.Close()
}

// node tags texts as strings, so that the encoder quotes texts that look like numbers or bools.
func (s *Setting) node(v value) *yaml.Node {
	items, isList := v.([]string)
	switch {
	case s.Secret:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: secretText, Style: yaml.DoubleQuotedStyle}
	case isList:
		list := &yaml.Node{Kind: yaml.SequenceNode}
		for _, item := range items {
			list.Content = append(list.Content, textNode(item))
		}
		return list
	case s.Kind == String:
		return textNode(format(v))
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Value: format(v)}
}

// textNode keeps every text on one line, because block styles allow neither a leading tab nor a comment after them.
func textNode(text string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text}
	if strings.TrimSpace(text) != text || oneLine(text) != text {
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}

// oneLine replaces line breaks and control characters by spaces, so that a comment stays on its line.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == 0x85 || r == 0x2028 || r == 0x2029 || r == 0xfeff || r == 0xfffd {
			return ' '
		}
		return r
	}, s)
}
