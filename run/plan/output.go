package plan

import (
	"bytes"
	"fmt"
	"path/filepath"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
)

// Folder is where the run's files go.
func (p *Plan) Folder() string {
	if dir := p.Config.String("output-dir"); dir != "" {
		return filepath.Clean(dir)
	}
	return filepath.Join("results", fmt.Sprintf("%s-%s-%s", p.Row.Name, p.Scenario.Scenario, p.Mode))
}

// WriteConfig writes the effective configuration with its origins.
func (p *Plan) WriteConfig(path string) error {
	var text bytes.Buffer
	if err := p.Config.WriteYAML(&text); err != nil {
		return err
	}
	return p.Access().WriteBytes(path, []byte(p.Secrets.Values(text.String())))
}

// WriteJSON writes v without any secret that is known.
func (p *Plan) WriteJSON(path string, v any) error {
	text, err := p.Secrets.JSON(v)
	if err != nil {
		return fmt.Errorf("encoding %s as JSON: %w", path, err)
	}
	return p.Access().WriteJSON(path, text)
}

// Access is who may read the run's files.
func (p *Plan) Access() atomicfile.Access {
	if p.Config.Bool("shared-output") {
		return atomicfile.Shared
	}
	return atomicfile.Private
}
