package servers

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/mlperf-go/mlperf-go/internal/config"
)

// deepest limits the nesting of a file. Engine arguments may be nested maps, which become JSON.
const deepest = 32

// parser parses one file.
type parser struct {
	config *Config
	line   int            // of the key that is being read
	seen   map[string]int // key → line; keys under "config" share the names of top-level keys
}

// reader parses the value of one key.
type reader func(c *Config, n *yaml.Node) error

// keys lists the top-level keys of the file. Those in below are also accepted under "config".
var keys = map[string]reader{
	"backend":            text(func(c *Config) *string { return &c.Backend }),
	"model":              text(func(c *Config) *string { return &c.Model }),
	"served_model":       text(func(c *Config) *string { return &c.ServedModel }),
	"host":               texts(func(c *Config) *[]string { return &c.Hosts }),
	"port":               ports,
	"ports":              ports,
	"output_dir":         text(func(c *Config) *string { return &c.OutputDir }),
	"heartbeat_interval": duration(func(c *Config) *time.Duration { return &c.HeartbeatInterval }),
	"heartbeat_timeout":  duration(func(c *Config) *time.Duration { return &c.HeartbeatTimeout }),
	"startup_timeout":    duration(func(c *Config) *time.Duration { return &c.StartupTimeout }),
	"stop_timeout":       duration(func(c *Config) *time.Duration { return &c.StopTimeout }),
	"env_vars":           environment,
	"launch_command":     texts(func(c *Config) *[]string { return &c.LaunchCommand }),
	"binary_path":        text(func(c *Config) *string { return &c.Binary }),
	"server_args":        arguments,
	"api_server_args":    arguments,
	"pre_start":          texts(func(c *Config) *[]string { return &c.PreStart }),
	"load_format":        text(func(c *Config) *string { return &c.LoadFormat }),
	"logging_level":      text(func(c *Config) *string { return &c.LoggingLevel }),
	"replicas":           count(func(c *Config) *int { return &c.Replicas }, 1, maxReplicas),
	"gpus_per_replica":   count(func(c *Config) *int { return &c.GPUsPerReplica }, 0, maxReplicas),
	"gpus":               texts(func(c *Config) *[]string { return &c.GPUs }),
	"debug_mode":         flag(func(c *Config) *bool { return &c.Debug }),
	"endpoint_type":      oneOf(func(c *Config) *string { return &c.EndpointType }, endpointTypes...),
	"name":               text(func(c *Config) *string { return &c.Title }),
	"description":        text(func(c *Config) *string { return &c.Text }),
	"endpoints":          texts(func(c *Config) *[]string { return &c.Endpoints }),
	"default_endpoint":   oneOf(func(c *Config) *string { return &c.defaultEndpoint }, endpointTypes...),
	"profile":            profile,
	"max_pool_size":      count(func(c *Config) *int { return &c.MaxPoolSize }, 1, 1<<20),
}

var below = []string{"server_args", "api_server_args", "binary_path", "load_format", "logging_level", "max_pool_size",
	"pre_start"}

// endpointTypes lists the names of routes for requests.
var endpointTypes = []string{"completions", "chat_completions", "generate"}

// maxReplicas limits the processes that one file can start.
const maxReplicas = 1024

func (p *parser) file(r io.Reader) error {
	root, err := config.ReadYAML(p.config.Name, r)
	if err != nil {
		return err
	}
	p.seen = map[string]int{}
	if root == nil {
		return nil
	}
	if err := plain(root, 0); err != nil {
		return fmt.Errorf("server config %s %w", p.config.Name, err)
	}
	if err := p.walk(root, true); err != nil {
		return fmt.Errorf("server config %s line %d: %w", p.config.Name, p.line, err)
	}
	return nil
}

// walk reads the keys of a map. After an error, p.line is the line of the innermost key that has it.
func (p *parser) walk(m *yaml.Node, top bool) error {
	for i := 0; i+1 < len(m.Content); i += 2 {
		key, value := m.Content[i], m.Content[i+1]
		p.line = key.Line
		if err := p.key(key, value, top); err != nil {
			return err
		}
	}
	return nil
}

func (p *parser) key(key, value *yaml.Node, top bool) error {
	name := key.Value
	if line := p.seen[name]; line > 0 {
		return fmt.Errorf("%s is already set in line %d", name, line)
	}
	p.seen[name] = key.Line
	if name == "config" && top {
		if value.Kind != yaml.MappingNode {
			return fmt.Errorf("config is not a map; its keys are %s", strings.Join(below, ", "))
		}
		return p.walk(value, false)
	}
	read, known := keys[name]
	if !known || !top && !slices.Contains(below, name) {
		return p.unknown(name, top)
	}
	if isNull(value) {
		return fmt.Errorf("%s has no value; remove the line to leave it unset", name)
	}
	if err := read(p.config, value); err != nil {
		return fmt.Errorf("%s %w", name, err)
	}
	return nil
}

func (p *parser) unknown(name string, top bool) error {
	candidates, where := slices.Clone(below), " below config"
	if top {
		candidates, where = []string{"config"}, ""
		for k := range keys {
			candidates = append(candidates, k)
		}
		slices.Sort(candidates)
	}
	near := config.Nearest(name, candidates)
	if len(near) == 0 {
		return fmt.Errorf("unknown key %q%s; the keys are %s", name, where, strings.Join(candidates, ", "))
	}
	return fmt.Errorf("unknown key %q%s; did you mean %s?", name, where, strings.Join(near, " or "))
}

// plain rejects aliases, keys that are not words, deep nesting and NUL bytes.
func plain(n *yaml.Node, depth int) error {
	switch {
	case depth > deepest:
		return fmt.Errorf("line %d: nested deeper than %d levels", n.Line, deepest)
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		return fmt.Errorf("line %d: anchors and aliases are not supported; write the value out", n.Line)
	case strings.ContainsRune(n.Value, 0):
		return fmt.Errorf("line %d: a value contains a NUL byte", n.Line)
	}
	for i, child := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 && child.Kind != yaml.ScalarNode {
			return fmt.Errorf("line %d: a key is not a plain word", child.Line)
		}
		if err := plain(child, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

func text(field func(*Config) *string) reader {
	return func(c *Config, n *yaml.Node) error {
		if n.Kind != yaml.ScalarNode || n.Value == "" {
			return fmt.Errorf("must be one text that is not empty")
		}
		*field(c) = n.Value
		return nil
	}
}

// texts parses a list of texts, or one text.
func texts(field func(*Config) *[]string) reader {
	return func(c *Config, n *yaml.Node) error {
		items, err := words(n)
		if err == nil && len(items) == 0 {
			err = fmt.Errorf("is an empty list")
		}
		*field(c) = items
		return err
	}
}

// words returns the texts of a list, or one text as a list.
func words(n *yaml.Node) ([]string, error) {
	nodes := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		nodes = n.Content
	}
	var items []string
	for _, item := range nodes {
		if item.Kind != yaml.ScalarNode || isNull(item) {
			return nil, fmt.Errorf("has an item in line %d that is not a text", item.Line)
		}
		items = append(items, item.Value)
	}
	return items, nil
}

func oneOf(field func(*Config) *string, known ...string) reader {
	return func(c *Config, n *yaml.Node) error {
		if n.Kind != yaml.ScalarNode || !slices.Contains(known, n.Value) {
			return fmt.Errorf("is %q, which is not one of %s", n.Value, strings.Join(known, ", "))
		}
		*field(c) = n.Value
		return nil
	}
}

func flag(field func(*Config) *bool) reader {
	return func(c *Config, n *yaml.Node) error {
		if n.Tag != "!!bool" {
			return fmt.Errorf("is %q; write true or false", n.Value)
		}
		return n.Decode(field(c))
	}
}

func count(field func(*Config) *int, lowest, highest int) reader {
	return func(c *Config, n *yaml.Node) error {
		v, err := strconv.Atoi(n.Value)
		if n.Kind != yaml.ScalarNode || err != nil || v < lowest || v > highest {
			return fmt.Errorf("is %q; write a whole number from %d to %d", n.Value, lowest, highest)
		}
		*field(c) = v
		return nil
	}
}

// duration parses seconds, with or without a fraction, or a Go duration; at most a week.
func duration(field func(*Config) *time.Duration) reader {
	const longest = 7 * 24 * time.Hour
	return func(c *Config, n *yaml.Node) error {
		d, err := time.ParseDuration(n.Value)
		if s, notNumber := strconv.ParseFloat(n.Value, 64); notNumber == nil && !math.IsNaN(s) {
			d, err = time.Duration(min(s, 2*longest.Seconds())*float64(time.Second)), nil
		}
		if n.Kind != yaml.ScalarNode || err != nil || d <= 0 || d > longest {
			return fmt.Errorf("is %q; write seconds or a duration such as 90s or 10m, above 0 and at most a week", n.Value)
		}
		*field(c) = d
		return nil
	}
}

func ports(c *Config, n *yaml.Node) error {
	items, err := words(n)
	if err != nil {
		return err
	}
	c.Ports = nil
	for _, item := range items {
		p, err := strconv.Atoi(item)
		if err != nil || p < 1 || p > math.MaxUint16 {
			return fmt.Errorf("has %q, which is not a port from 1 to %d", item, math.MaxUint16)
		}
		if slices.Contains(c.Ports, p) {
			return fmt.Errorf("has %d twice", p)
		}
		c.Ports = append(c.Ports, p)
	}
	if len(c.Ports) == 0 {
		return fmt.Errorf("is an empty list")
	}
	return nil
}

func environment(c *Config, n *yaml.Node) error {
	if n.Kind != yaml.MappingNode {
		return fmt.Errorf("is not a map of \"NAME: value\"")
	}
	c.Environment = map[string]string{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, value := n.Content[i].Value, n.Content[i+1]
		if _, double := c.Environment[name]; double {
			return fmt.Errorf("has %s twice, again in line %d", name, n.Content[i].Line)
		}
		if name == "" || strings.Contains(name, "=") || value.Kind != yaml.ScalarNode {
			return fmt.Errorf("has %q in line %d, which is not \"NAME: value\"", name, n.Content[i].Line)
		}
		if isNull(value) {
			value = &yaml.Node{} // "NAME:" sets the variable to an empty value
		}
		c.Environment[name] = value.Value
	}
	return nil
}
