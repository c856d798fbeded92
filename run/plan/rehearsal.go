package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/models"
)

// dataReasons returns why the server or the data set makes the run a rehearsal.
func (p *Plan) dataReasons(rows int) []string {
	var why []string
	if !p.HasEndpoint() || p.Config.String("backend") == simBackend {
		why = append(why, "the server is the simulator")
	}
	if !p.HasDataset() || p.synthetic {
		why = append(why, "the data set is synthetic")
	}
	own := !p.HasDataset() || p.Config.Origin("dataset") == SyntheticDataset
	if own && p.Mode == models.Accuracy && datasets.AsksForPrograms(p.Row) && !p.Config.Bool("run-code") {
		why = append(why, "it has no questions for programs, because of --run-code=false")
	}
	if want := p.OfficialRows(); rows < want {
		why = append(why, fmt.Sprintf("%d of %d rows", rows, want))
	}
	return why
}

// settingReasons returns the settings that make the run a rehearsal: values below the rules' minimum, other limits,
// seeds or keys than the round's.
func (p *Plan) settingReasons() []string {
	if p.Row.Name == models.Generic {
		return nil
	}
	var why []string
	c, s := p.Config, p.Scenario
	if d := c.Duration("min-duration"); d < s.MinDuration {
		why = append(why, fmt.Sprintf("min-duration %v is below %v", d, s.MinDuration))
	}
	if n := c.Int("min-queries"); n < s.MinQueries {
		why = append(why, fmt.Sprintf("min-queries %d is below %d", n, s.MinQueries))
	}
	for _, l := range []struct {
		name  string
		limit time.Duration
	}{{"ttft-limit", s.TTFTLimit}, {"tpot-limit", s.TPOTLimit}} {
		if d := c.Duration(l.name); d != l.limit {
			why = append(why, fmt.Sprintf("%s %v is not the benchmark's %v", l.name, d, l.limit))
		}
	}
	why = append(why, p.confReasons()...)
	if c.IsSet("seed-override") {
		why = append(why, "the seeds are not the round's")
	}
	if c.String("lg-model-name") != s.LoadGenModel {
		why = append(why, fmt.Sprintf("the LoadGen model %s is not the benchmark's %s", c.String("lg-model-name"),
			s.LoadGenModel))
	}
	return why
}

// Profiled returns the reason of a rehearsal with profilers, or "" without any.
func Profiled(profilers []string) string {
	if len(profilers) == 0 {
		return ""
	}
	return "profiled: the servers were started with a profiler (" + strings.Join(profilers, ", ") + ")"
}

// AddRehearsal adds a reason unless it is empty or known.
func (p *Plan) AddRehearsal(why string) {
	if why != "" && !slices.Contains(p.Rehearsal, why) {
		p.Rehearsal = append(p.Rehearsal, why)
	}
}
