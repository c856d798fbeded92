package campaign

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf-go/compliance"
	"github.com/mlperf-go/mlperf-go/internal/config"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/plan"
	"github.com/mlperf-go/mlperf-go/run/rehearse"
	"github.com/mlperf-go/mlperf-go/servers"
)

// resolver makes the plan of each step from the settings of the campaign.
type resolver struct {
	settings  *config.Effective // of every step
	row       *models.Row
	overrides []override
	size      rehearsalSize
	tune      bool                     // target QPS that the user has not set are found by a tune
	tuned     map[models.Scenario]bool // whose target QPS is found by a tune
	// least number of queries of every test of a tuned scenario, where it is above their own: the tests share one
	// user.conf with the run that confirms the tune
	tunedQueries map[models.Scenario]int

	servers    *servers.Plan // to start for the whole campaign; nil: none
	simulated  bool          // an endpoint of the user's is the simulator
	references string        // SHA-256 of the data set whose answers all of them return; empty: of no data set

	syntheticSums map[int]string        // SHA-256 of synthetic data sets, by their rows
	readers       map[string]*plan.Plan // a plan that has read a data set, by the file
	fileRows      map[string]int        // rows that were read, by the file
}

func newResolver(settings *config.Effective, row *models.Row) resolver {
	return resolver{settings: settings, row: row, syntheticSums: map[int]string{}, readers: map[string]*plan.Plan{},
		fileRows: map[string]int{}}
}

// override is a setting of one scenario or test.
type override struct {
	where, name, text string
}

// covers reports whether an override applies to a step.
func (o override) covers(s Step) bool {
	return strings.EqualFold(o.where, string(s.Scenario)) || strings.EqualFold(o.where, s.Test) ||
		strings.EqualFold(o.where, s.ID())
}

// stepConfig returns what a step is set to, before its plan adds the defaults.
func (r *resolver) stepConfig(s Step) (*config.Effective, error) {
	e := r.settings.Clone()
	flag := func(name, text, where string) error {
		return e.Set(name, text, config.Origin{Layer: config.FromFlag, Where: where})
	}
	if err := errors.Join(flag("scenario", string(s.Scenario), s.ID()),
		flag("mode", string(s.Mode()), s.ID())); err != nil {
		return nil, err
	}
	for _, o := range r.overrides {
		if !o.covers(s) {
			continue
		}
		if err := flag(o.name, o.text, "--set "+o.where); err != nil {
			return nil, exit.Usage(exit.CodeSet, "", "%w", err)
		}
	}
	row, err := r.row.Scenario(string(s.Scenario))
	if err != nil {
		return nil, err
	}
	for _, d := range r.size.defaults(row, e) {
		if d.name == keyTargetQPS && r.tune {
			continue
		}
		if rows, read := r.fileRows[e.String("dataset")]; read && d.name == "samples" {
			d.text = strconv.Itoa(min(rows, r.size.rows()))
		}
		if err := e.Set(d.name, d.text, plan.SizeOrigin(r.size.name)); err != nil {
			return nil, err
		}
	}
	return e, r.lengthen(s, e)
}

// lengthen raises the least number of queries of a tuned scenario's test as the tune does.
func (r *resolver) lengthen(s Step, e *config.Effective) error {
	n := r.tunedQueries[s.Scenario]
	if n == 0 {
		return nil
	}
	from := plan.ProgramOrigin("least for LoadGen's early stopping")
	from.Layer = max(from.Layer, e.Origin("min-queries").Layer) // so that it replaces the user's own number
	return e.Set("min-queries", strconv.Itoa(n), from)
}

// resolve plans the test of a step as its own process will, and returns the SHA-256 of its data set.
func (r *resolver) resolve(s Step) (*plan.Plan, string, error) {
	e, err := r.stepConfig(s)
	if err != nil {
		return nil, "", err
	}
	plan, err := plan.Resolve(e)
	if err != nil {
		return nil, "", err
	}
	plan.Simulated, plan.References = r.simulated, r.references
	if err := r.placeholder(s, plan); err != nil {
		return nil, "", err
	}
	if r.servers != nil {
		plan.Profilers = r.servers.Profilers
	}
	if s.Audit() {
		audit, err := findAudit(s, r.row)
		if err != nil {
			return nil, "", err
		}
		plan.AuditRows = audit.Samples
	}
	rows, sum := plan.Samples(), ""
	if plan.HasDataset() {
		plan.ShareDataset(r.readers[e.String("dataset")])
		ds, err := plan.ReadDataset()
		if err != nil {
			return nil, "", err
		}
		r.readers[e.String("dataset")] = plan
		r.fileRows[e.String("dataset")] = len(ds.Samples)
		rows, sum = len(ds.Samples), ds.SHA256
	} else if sum, err = r.syntheticSum(plan); err != nil {
		return nil, "", err
	}
	if err := plan.Bind(rows); err != nil {
		return nil, "", err
	}
	return plan, sum, nil
}

func findAudit(s Step, row *models.Row) (*compliance.Audit, error) {
	audit, err := compliance.Find(s.Test, row.Name)
	if err != nil {
		return nil, exit.Usage(exit.CodeAudit, "", "%w", err)
	}
	return audit, nil
}

// syntheticSum returns the SHA-256 of the synthetic data set that will be made for a plan.
func (r *resolver) syntheticSum(plan *plan.Plan) (string, error) {
	rows := plan.Samples()
	if r.syntheticSums[rows] == "" {
		h := sha256.New()
		if err := rehearse.Dataset(plan).Write(h); err != nil {
			return "", exit.Usage(exit.CodeDataset, "Give the benchmark's own data set with --dataset", "%w", err)
		}
		r.syntheticSums[rows] = hex.EncodeToString(h.Sum(nil))
	}
	return r.syntheticSums[rows], nil
}

// placeholder sets a target QPS that no test uses: plans of tuned scenarios are made before it is known.
func (r *resolver) placeholder(s Step, plan *plan.Plan) error {
	if !r.tuned[s.Scenario] {
		return nil
	}
	return plan.Suggest(foundOrigin, keyTargetQPS, "1")
}

var foundOrigin = plan.ProgramOrigin("found by " + Tune)
