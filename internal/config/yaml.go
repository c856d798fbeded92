package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"gopkg.in/yaml.v3"
)

// largestFile bounds every configuration file that is read.
const largestFile = 1 << 20

// secretText stands for a secret wherever it would be shown; a file with it leaves the setting alone.
const secretText = "***"

// LoadYAMLFile reads a configuration file of at most 1 MiB into the FromFile layer.
func (e *Effective) LoadYAMLFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("the config file can not be read: %w; give a readable YAML file", err)
	}
	defer f.Close()
	return e.LoadYAML(path, f)
}

// LoadYAML reads a configuration of at most 1 MiB into the FromFile layer: one flat map whose keys are names of
// settings. name stands in errors and origins, with the line. An unknown or double key, an anchor, or a value of
// another form is an error, and then nothing of the text counts.
func (e *Effective) LoadYAML(name string, r io.Reader) error {
	root, err := ReadYAML(name, r)
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

// ReadYAML returns the top map of the one document in r, which is at most 1 MiB; nil for a text without any value. name
// stands in errors.
func ReadYAML(name string, r io.Reader) (*yaml.Node, error) {
	text, err := io.ReadAll(io.LimitReader(r, largestFile+1))
	if err != nil {
		return nil, fmt.Errorf("config file %s: %w", name, err)
	}
	if len(text) > largestFile {
		return nil, fmt.Errorf("config file %s is larger than %d bytes", name, largestFile)
	}
	return parseYAML(name, text)
}

// parseYAML returns the top map of the one document in text; nil for a text without any value.
func parseYAML(name string, text []byte) (*yaml.Node, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var document, second yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("config file %s is no YAML: %w", name, err)
	}
	if err := decoder.Decode(&second); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("config file %s has more than one document, or a fault after its first: %v", name, err)
	}
	root := document.Content[0]
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return nil, nil
	}
	if root.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("config file %s line %d: the file is no map of \"setting: value\"", name, root.Line)
	}
	return root, nil
}

func (e *Effective) setAll(name string, root *yaml.Node) error {
	seen := map[string]int{}
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, node := root.Content[i], root.Content[i+1]
		from := Origin{FromFile, fmt.Sprintf("%s line %d", name, key.Line)}
		if key.Kind != yaml.ScalarNode {
			return fmt.Errorf("%s: the key is no plain word", from)
		}
		s, _, err := e.table.Find(key.Value)
		if err != nil {
			return fmt.Errorf("%s: %w", from, err)
		}
		if line, double := seen[s.Name]; double {
			return fmt.Errorf("%s: %s was set in line %d already", from, s.Name, line)
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
				return fmt.Errorf("%s: %s has an item that is no plain value", from, key)
			}
			items = append(items, item.Value)
		}
		return e.SetList(key, items, from)
	case node.Kind != yaml.ScalarNode:
		return fmt.Errorf("%s: %s has a map or an alias where a plain value stands; the file has one level", from, key)
	case node.Tag == "!!null":
		return fmt.Errorf("%s: %s has no value; remove the line to leave it unset", from, key)
	case s.Secret && node.Value == secretText:
		return nil
	}
	return e.Set(key, node.Value, from)
}

// Clone returns a copy that is set on its own.
func (e *Effective) Clone() *Effective {
	c := &Effective{table: e.table, values: make(map[string]entry, len(e.values)), notices: e.Notices()}
	for name, v := range e.values {
		c.values[name] = v
	}
	return c
}

// WriteYAML writes every setting that has a value, in table order, with its origin as comment. Secrets are written as
// "***". LoadYAML reads it back to the same values.
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
		return fmt.Errorf("effective configuration as YAML: %w", err)
	}
	return encoder.Close()
}

// node writes texts with the string tag, so that the encoder quotes what other readers would take for another type.
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

// textNode keeps every text on one line: block styles cannot hold a leading tab or a comment behind them.
func textNode(text string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text}
	if strings.TrimSpace(text) != text || oneLine(text) != text || text == "" {
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}

// oneLine keeps a comment from breaking out of its line.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == 0x85 || r == 0x2028 || r == 0x2029 || r == 0xfeff || r == 0xfffd {
			return ' '
		}
		return r
	}, s)
}
