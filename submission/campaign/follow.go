package campaign

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/mlperf-go/mlperf-go/internal/config"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/plan"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/submission/layout"
	"github.com/mlperf-go/mlperf-go/tune"
)

// offlineRun is the step that measures how fast the servers answer.
var offlineRun = Step{models.Offline, layout.Performance}

// measuredOrigin is the origin of settings that a campaign has measured. The user's own take precedence.
var measuredOrigin = config.Origin{Layer: config.FromProgram, Where: "measured by an earlier test of the campaign"}

// laterOrigin is the origin of a load that the Offline test will decide.
var laterOrigin = plan.ProgramOrigin("a share of what " + offlineRun.ID() + " measures")

// loadShare is the share of the Offline rate that a rehearsal offers in Server and Interactive if the user named no
// rate. Most servers meet the latency limits at a quarter of their throughput.
const loadShare = 0.25

// follow adds to a task the settings that earlier runs of the campaign measured.
func (c *Runs) follow(t Task) Task {
	switch {
	case t.Tuned && t.Test != Tune:
		return c.followTune(t)
	case t.MostPerS > 0:
		return c.followOffline(t)
	case t.Scenario == models.SingleStream && t.IsRun() && t.Test != layout.Performance:
		return c.followPerformance(t)
	}
	return t
}

// followPerformance sets what the scenario's performance run measured: all tests of a scenario share one user.conf.
func (c *Runs) followPerformance(t Task) Task {
	folder := c.folder(Step{t.Scenario, layout.Performance})
	r, err := record.Read(folder)
	if err != nil {
		return t
	}
	was, err := FolderSettings(folder, r)
	if err != nil {
		return t
	}
	if t.Settings[KeyExpectedLatency] == "" && was[KeyExpectedLatency] != "" {
		t.Settings = maps.Clone(t.Settings)
		t.Settings[KeyExpectedLatency] = was[KeyExpectedLatency]
	}
	return t
}

// followOffline sets the load of a rehearsal's test from the rate of its Offline run, rounded to two digits.
func (c *Runs) followOffline(t Task) Task {
	r, err := record.Read(c.folder(offlineRun))
	if err != nil || r.Throughput.Requests <= 0 {
		return t
	}
	text := strconv.FormatFloat(min(t.MostPerS, loadShare*r.Throughput.Requests), 'g', 2, 64)
	rate, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return t
	}
	t.Settings, t.Load.PerS = maps.Clone(t.Settings), rate
	t.Settings[keyTargetQPS] = strconv.FormatFloat(rate, 'f', -1, 64)
	return t
}

// followTune sets the target QPS that the scenario's tune has confirmed.
func (c *Runs) followTune(t Task) Task {
	s, err := tune.ReadState(c.folder(Step{t.Scenario, Tune}))
	if err != nil || s.Result == nil || !s.Result.Confirmed {
		return t
	}
	settings := maps.Clone(t.Settings)
	if settings == nil {
		settings = Settings{}
	}
	settings[keyTargetQPS] = strconv.FormatFloat(s.Result.TargetQPS, 'f', -1, 64)
	t.Settings, t.Load.PerS = settings, s.Result.TargetQPS
	return t
}

// reportLoad reports the load that a rehearsal took from its Offline test, once per scenario.
func (c *Campaign) reportLoad(t Task) {
	if t.MostPerS <= 0 || c.loads[t.Scenario] == t.Load.PerS {
		return
	}
	r, err := record.Read(c.folder(offlineRun))
	if err != nil {
		return
	}
	why := fmt.Sprintf("%g times the %.3g answers/s of %s", loadShare, r.Throughput.Requests, offlineRun.ID())
	if t.Load.PerS >= t.MostPerS {
		why = fmt.Sprintf("the most that a rehearsal offers; %s had %.3g answers/s", offlineRun.ID(), r.Throughput.Requests)
	}
	if c.loads == nil {
		c.loads = map[models.Scenario]float64{}
	}
	c.loads[t.Scenario] = t.Load.PerS
	c.report(t.Step, "", "%s gets %g queries/s: %s (--set %[1]s.target-qps=N sets another load)", t.Scenario, t.Load.PerS,
		why)
}

// deferLoad derives the load of a rehearsal's test from the Offline run, unless the user named one, because no default
// fits every server. The default is the upper limit.
func (p *Plan) deferLoad(t *Task, test *plan.Plan) error {
	most := test.Config.Float(keyTargetQPS)
	if p.Real || !p.foreign || !t.IsRun() || t.Tuned || test.Scenario.LoadGen != models.Server ||
		!slices.Contains(p.All, offlineRun) || test.Config.Origin(keyTargetQPS).Layer != config.FromProgram {
		return nil
	}
	_, err := record.Read(p.folder(offlineRun))
	switch {
	case p.forScript:
		return exit.Usage(exit.CodeTargetQPS, "Pass --target-qps too",
			"a script needs the load of %s, which a campaign takes from its Offline test", t.ID())
	case err != nil && !slices.ContainsFunc(p.Tasks, func(t Task) bool { return t.Step == offlineRun }):
		return exit.Usage(exit.CodeTargetQPS, "Pass --target-qps, or run "+offlineRun.ID()+" too",
			"no --target-qps given, and no Offline test has measured what the server can do")
	}
	t.MostPerS, t.Load.PerS = most, 0
	delete(t.Settings, keyTargetQPS)
	return test.Config.Set(keyTargetQPS, test.Config.Text(keyTargetQPS), laterOrigin)
}
