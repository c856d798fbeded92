package run

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/plan"
	"github.com/mlperf-go/mlperf-go/run/record"
)

// keepDataset copies a synthetic data set, which lies in a temporary folder, to where it can be scored against later.
func (t *test) keepDataset() error {
	c := t.plan.Config
	if t.plan.Dataset != nil || c.Origin("dataset") != plan.SyntheticDataset {
		return nil
	}
	from, err := os.Open(c.String("dataset"))
	if err != nil {
		return fmt.Errorf("the synthetic data set is gone: %w", err)
	}
	defer from.Close()
	err = t.plan.Access().Write(t.path(record.DatasetName), func(w io.Writer) error {
		_, err := io.Copy(w, from)
		return err
	})
	if err != nil {
		return err
	}
	t.dataset.Path = t.path(record.DatasetName)
	return c.Set("dataset", t.dataset.Path, plan.SyntheticDataset)
}

func (t *test) path(name string) string { return filepath.Join(t.folder, name) }

// writeInputs writes what the run was told and found, and lets LoadGen read its part.
func (t *test) writeInputs() error {
	p := t.plan
	if err := p.WriteUserConf(t.path(record.UserConfName)); err != nil {
		return err
	}
	if err := p.WriteConfig(t.path(record.ConfigName)); err != nil {
		return err
	}
	if err := t.plan.WriteJSON(t.path(record.PreflightName), t.pre); err != nil {
		return err
	}
	settings, err := p.TestSettings(t.path(record.UserConfName))
	if err != nil {
		return err
	}
	t.settings = settings
	var effective loadgen.TestSettings
	if effective, t.audit, err = p.AuditSettings(settings, t.folder); err != nil {
		return err
	}
	total, performance := len(t.dataset.Samples), t.performanceCount()
	if err := effective.Check(total, performance); err != nil {
		return exit.Usage("loadgen_setting", "", "%w", err)
	}
	return nil
}
