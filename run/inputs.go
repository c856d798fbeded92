package run

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/record"
)

// keepDataset copies a synthetic data set, which lies in a temporary folder, to where it can be scored against later.
func (t *test) keepDataset() error {
	c := t.plan.Config
	if t.plan.Dataset != nil || c.Origin("dataset") != SyntheticDataset {
		return nil
	}
	from, err := os.Open(c.String("dataset"))
	if err != nil {
		return fmt.Errorf("the synthetic data set is gone: %w", err)
	}
	defer from.Close()
	err = t.plan.access().Write(t.path(record.DatasetName), func(w io.Writer) error {
		_, err := io.Copy(w, from)
		return err
	})
	if err != nil {
		return err
	}
	t.dataset.Path = t.path(record.DatasetName)
	return c.Set("dataset", t.dataset.Path, SyntheticDataset)
}

func (t *test) path(name string) string { return filepath.Join(t.folder, name) }

// writeInputs writes what the run was told and found, and lets LoadGen read its part.
func (t *test) writeInputs() error {
	p := t.plan
	if err := p.writeUserConf(t.path(record.UserConfName)); err != nil {
		return err
	}
	if err := p.writeConfig(t.path(record.ConfigName)); err != nil {
		return err
	}
	if err := t.plan.writeJSON(t.path(record.PreflightName), t.pre); err != nil {
		return err
	}
	settings, err := p.testSettings(t.path(record.UserConfName))
	if err != nil {
		return err
	}
	t.settings = settings
	var effective loadgen.TestSettings
	if effective, t.audit, err = p.auditSettings(settings, t.folder); err != nil {
		return err
	}
	total, performance := len(t.dataset.Samples), t.performanceCount()
	if err := effective.Check(total, performance); err != nil {
		return exit.Usage("loadgen_setting", "", "%w", err)
	}
	return nil
}

// writeConfig writes the effective configuration with its origins.
func (p *Plan) writeConfig(path string) error {
	var text bytes.Buffer
	if err := p.Config.WriteYAML(&text); err != nil {
		return err
	}
	return p.access().WriteBytes(path, []byte(p.Secrets.Values(text.String())))
}

// writeJSON writes v without any secret that is known.
func (p *Plan) writeJSON(path string, v any) error {
	text, err := p.Secrets.JSON(v)
	if err != nil {
		return fmt.Errorf("encoding %s as JSON: %w", path, err)
	}
	return p.access().WriteJSON(path, text)
}

// access is who may read the run's files.
func (p *Plan) access() atomicfile.Access {
	if p.Config.Bool("shared-output") {
		return atomicfile.Shared
	}
	return atomicfile.Private
}
