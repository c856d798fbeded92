package profile

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"gopkg.in/yaml.v3"

	"github.com/mlperf-go/mlperf-go/internal/config"
	"github.com/mlperf-go/mlperf-go/internal/config/strict"
)

// Read reads a profile of at most 1 MiB.
func Read(path string) (*Profile, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the profile: %w; `mlperf-go bench list` shows the shipped ones", err)
	}
	defer f.Close()
	return Parse(path, f)
}

// Parse is Read for a reader. name appears in errors.
func Parse(name string, r io.Reader) (*Profile, error) {
	root, err := config.ReadYAML("profile "+name, r)
	if err != nil {
		return nil, err
	}
	return FromNode(name, root)
}

// FromNode decodes and validates a parsed document. Nodes without a line are overrides.
func FromNode(name string, root *yaml.Node) (*Profile, error) {
	p := Defaults()
	p.Schema = ""
	d := &strict.Decoder{Name: "profile " + name}
	if err := d.Decode(root, p); err != nil {
		return nil, err
	}
	return p, p.check(d.Errorf)
}

// Encode returns the profile as YAML, which Parse reads back.
func (p *Profile) Encode() ([]byte, error) {
	var text bytes.Buffer
	e := yaml.NewEncoder(&text)
	e.SetIndent(2)
	if err := e.Encode(p); err != nil {
		return nil, fmt.Errorf("write the profile as YAML: %w", err)
	}
	return text.Bytes(), e.Close()
}
