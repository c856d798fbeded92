package rehearse

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/plan"
	"github.com/mlperf-go/mlperf-go/run/record"
)

// Seed makes every synthetic set of this program the same.
const Seed = 1

// Options set where the parts of a rehearsal are.
type Options struct {
	// Program is the path of mlperf-go, whose command sim is the simulator; empty: the running program.
	Program string
	// Folder keeps the synthetic data set; empty: a temporary folder, from which the run copies it.
	Folder string
}

// Rehearsal is what Start added to a plan.
type Rehearsal struct {
	temporary string     // folder
	simulator *Simulator // nil: the plan names endpoints
}

// Start writes a synthetic data set if the plan has none, and starts the simulator if it names no endpoint. It sets
// both in the plan's configuration. The caller must call Stop.
func Start(ctx context.Context, p *plan.Plan, o Options) (*Rehearsal, error) {
	r := &Rehearsal{}
	if err := r.start(ctx, p, o); err != nil {
		r.Stop()
		return nil, err
	}
	return r, nil
}

func (r *Rehearsal) start(ctx context.Context, p *plan.Plan, o Options) error {
	if p.HasDataset() && p.HasEndpoint() {
		return nil
	}
	var err error
	if !p.HasDataset() {
		folder, hint := o.Folder, "Choose another --output-dir"
		if folder == "" {
			if r.temporary, err = os.MkdirTemp("", "mlperf-go-"); err != nil {
				return err
			}
			folder, hint = r.temporary, "Free some space there, or set TMPDIR to another folder for temporary files"
		}
		if err := writeDataset(p, filepath.Join(folder, record.DatasetName), hint); err != nil {
			return err
		}
	}
	if p.HasEndpoint() {
		return nil
	}
	if r.simulator, err = StartSimulator(ctx, o.Program, arguments(p)); err != nil {
		return err
	}
	return errors.Join(p.Config.Set("endpoint", r.simulator.URL, plan.SimulatorOrigin),
		p.Config.Set("backend", "sim", plan.SimulatorOrigin))
}

// Exited returns a channel that is closed when the simulator has ended, or nil if Start started none.
func (r *Rehearsal) Exited() <-chan struct{} {
	if r.simulator == nil {
		return nil
	}
	return r.simulator.Exited
}

// Stop ends the simulator and removes temporary files.
func (r *Rehearsal) Stop() {
	if r.simulator != nil {
		r.simulator.Stop()
	}
	if r.temporary != "" {
		_ = os.RemoveAll(r.temporary) // the rest stays in the system's temporary folder
	}
}

// Dataset returns the synthetic data set of a plan. It asks for programs if a judge can run them.
func Dataset(p *plan.Plan) datasets.SynthSet {
	return datasets.SynthSet{Row: p.Row, Samples: p.Samples(), Seed: Seed, Code: p.Config.Bool("run-code")}
}

func writeDataset(p *plan.Plan, path, hint string) error {
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = atomicfile.Write(path, func(w io.Writer) error { return Dataset(p).Write(w) })
	}
	if err != nil {
		return exit.Environment(exit.CodeOutputDir, hint, "the synthetic data set cannot be written: %w", err)
	}
	return p.Config.Set("dataset", path, plan.SyntheticDataset)
}
