package models

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/mlperf-go/mlperf-go/internal/config"
)

// yamlNode is a value of a model file. Its errors contain file and line.
type yamlNode struct {
	*yaml.Node
	path string
}

func (n yamlNode) wrong(format string, args ...any) error {
	return fmt.Errorf("the model file %s line %d: %s", n.path, n.Line, fmt.Sprintf(format, args...))
}

// fields passes each value of a map to the reader of its key. Unknown and repeated keys are errors.
func (n yamlNode) fields(known map[string]func(yamlNode) error) error {
	if n.Kind != yaml.MappingNode {
		return n.wrong("expected a map with some of %s", strings.Join(slices.Sorted(maps.Keys(known)), ", "))
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := yamlNode{n.Content[i], n.path}, yamlNode{n.Content[i+1], n.path}
		read, ok := known[key.Value]
		if key.Kind != yaml.ScalarNode || !ok {
			names := slices.Sorted(maps.Keys(known))
			near := config.Nearest(key.Value, names)
			if len(near) == 0 {
				near = names
			}
			return key.wrong("unknown key %.60q; did you mean %s?", key.Value, strings.Join(near, ", "))
		}
		if seen[key.Value] {
			return key.wrong("the key %s is repeated", key.Value)
		}
		seen[key.Value] = true
		if err := read(value); err != nil {
			return err
		}
	}
	return nil
}

// find returns the value of a key of a map, and whether the map has it.
func (n yamlNode) find(name string) (yamlNode, bool, error) {
	if n.Kind != yaml.MappingNode {
		return n, false, n.wrong("expected a map")
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return yamlNode{n.Content[i+1], n.path}, true, nil
		}
	}
	return n, false, nil
}

// mostItems limits the length of a list.
const mostItems = 1000

func (n yamlNode) items(read func(yamlNode) error) error {
	if n.Kind != yaml.SequenceNode || len(n.Content) > mostItems {
		return n.wrong("expected a list of at most %d items", mostItems)
	}
	for _, item := range n.Content {
		if err := read(yamlNode{item, n.path}); err != nil {
			return err
		}
	}
	return nil
}

// text returns a scalar that is not empty.
func (n yamlNode) text() (string, error) {
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" || strings.TrimSpace(n.Value) == "" ||
		strings.ContainsRune(n.Value, 0) {
		return "", n.wrong("expected a text")
	}
	return n.Value, nil
}

func (n yamlNode) texts() (list []string, err error) {
	return list, n.items(func(n yamlNode) error {
		t, err := n.text()
		list = append(list, t)
		return err
	})
}

func (n yamlNode) oneOf(to *string, words ...string) error {
	t, err := n.text()
	if err != nil {
		return err
	}
	if !slices.Contains(words, t) {
		near := config.Nearest(t, words)
		if len(near) == 0 {
			near = words
		}
		return n.wrong("unknown value %.60q; use one of %s", t, strings.Join(near, ", "))
	}
	*to = t
	return nil
}

func (n yamlNode) truth(to *bool) error {
	if n.Kind != yaml.ScalarNode || n.Tag != "!!bool" {
		return n.wrong("expected true or false")
	}
	*to = strings.EqualFold(n.Value, "true")
	return nil
}

// count parses a whole number from least to 2^31-1.
func (n yamlNode) count(to *int, least int) error {
	v, err := strconv.ParseInt(n.Value, 10, 32)
	if n.Kind != yaml.ScalarNode || err != nil || int(v) < least {
		return n.wrong("expected a whole number from %d, not %.60q", least, n.Value)
	}
	*to = int(v)
	return nil
}

func (n yamlNode) number(to *float64, low, high float64) error {
	v, err := strconv.ParseFloat(n.Value, 64)
	if n.Kind != yaml.ScalarNode || err != nil || math.IsNaN(v) || v < low || v > high {
		return n.wrong("expected a number from %v to %v, not %.60q", low, high, n.Value)
	}
	*to = v
	return nil
}

func (n yamlNode) id(to *int32) error {
	v := 0
	err := n.count(&v, int(NoBOS))
	*to = int32(v)
	return err
}

func (n yamlNode) ids() (list []int32, err error) {
	return list, n.items(func(n yamlNode) error {
		var id int32
		err := n.id(&id)
		if err == nil && id < 0 {
			err = n.wrong("expected a token id from 0, not %d", id)
		}
		list = append(list, id)
		return err
	})
}

// duration parses a Go duration or a whole number of seconds.
func (n yamlNode) duration(to *time.Duration) error {
	if n.Kind == yaml.ScalarNode {
		d, err := time.ParseDuration(n.Value)
		if seconds, whole := strconv.ParseInt(n.Value, 10, 32); whole == nil {
			d, err = time.Duration(seconds)*time.Second, nil
		}
		if err == nil && d >= 0 {
			*to = d
			return nil
		}
	}
	return n.wrong("expected a duration such as 2s or 100ms, not %.60q", n.Value)
}
