package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/internal/config"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run/record"
)

// shortfall is one reason why a run cannot be submitted.
type shortfall struct {
	setting string // that causes it; "" for none
	text    string
}

// unknowing is the reason of a rehearsal on a simulator that was started without the data set of the test.
const unknowing = record.SimulatorReason + ", and its answers are not those of the data set"

// dataShortfalls returns why the server or the data set makes the run a rehearsal.
func (p *Plan) dataShortfalls(rows int) []shortfall {
	var why []shortfall
	if p.Config.Bool("rehearsal") {
		why = append(why, shortfall{"rehearsal", "a rehearsal was asked for"})
	}
	switch {
	case p.ownSimulator():
		why = append(why, shortfall{"backend", record.SimulatorReason})
	case p.Simulated && (!p.HasDataset() || p.References != "" && p.References == p.sha256()):
		why = append(why, shortfall{"", record.SimulatorReason})
	case p.Simulated:
		why = append(why, shortfall{"", unknowing})
	}
	if !p.HasDataset() || p.synthetic {
		why = append(why, shortfall{"dataset", "the data set is synthetic"})
	}
	own := !p.HasDataset() || p.Config.Origin("dataset") == SyntheticDataset
	if own && p.Mode == models.Accuracy && datasets.AsksForPrograms(p.Row) && !p.Config.Bool("run-code") {
		why = append(why, shortfall{"run-code", "it has no questions for programs, because of --run-code=false"})
	}
	if want := p.OfficialRows(); rows < want {
		cause := "dataset"
		if p.isUsers("samples") {
			cause = "samples"
		}
		why = append(why, shortfall{cause, fmt.Sprintf("%d of %d rows", rows, want)})
	}
	return why
}

// settingShortfalls returns the settings that make the run a rehearsal: values below the rules' minimum, other limits,
// seeds or keys than the round's.
func (p *Plan) settingShortfalls() []shortfall {
	if p.Row.Name == models.Generic {
		return nil
	}
	var why []shortfall
	c, s := p.Config, p.Scenario
	if d := c.Duration("min-duration"); d < s.MinDuration {
		why = append(why, shortfall{"min-duration", fmt.Sprintf("min-duration %v is below %v", d, s.MinDuration)})
	}
	if n := c.Int("min-queries"); n < s.MinQueries {
		why = append(why, shortfall{"min-queries", fmt.Sprintf("min-queries %d is below %d", n, s.MinQueries)})
	}
	for _, l := range []struct {
		name  string
		limit time.Duration
	}{{"ttft-limit", s.TTFTLimit}, {"tpot-limit", s.TPOTLimit}} {
		// LoadGen reads no limit where the benchmark has none
		if d := c.Duration(l.name); l.limit > 0 && d != l.limit {
			why = append(why, shortfall{l.name, fmt.Sprintf("%s %v is not the benchmark's %v", l.name, d, l.limit)})
		}
	}
	if is, want := c.Float("latency-percentile"), p.OfficialPercentile(); c.Has("latency-percentile") && want > 0 &&
		!isNumber(c.Text("latency-percentile"), want) {
		why = append(why, shortfall{"latency-percentile",
			fmt.Sprintf("latency-percentile %g is not the benchmark's %.6g", is, want)})
	}
	for _, text := range p.confReasons() {
		why = append(why, shortfall{"", text})
	}
	if c.IsSet("seed-override") {
		why = append(why, shortfall{"seed-override", "the seeds are not the round's"})
	}
	if c.String("lg-model-name") != s.LoadGenModel {
		why = append(why, shortfall{"lg-model-name", fmt.Sprintf("the LoadGen model %s is not the benchmark's %s",
			c.String("lg-model-name"), s.LoadGenModel)})
	}
	return why
}

// addShortfalls adds the texts to the reasons of a rehearsal, and to the causes what the user can change about them.
func (p *Plan) addShortfalls(list []shortfall) {
	for _, s := range list {
		p.AddRehearsal(s.text)
		if s.setting != "" && p.Config.Origin(s.setting) == rehearsalOrigin {
			p.chosen = append(p.chosen, s.text)
		}
		cause := s.text
		switch {
		case s.setting == "dataset" && p.isUsers("dataset"):
			cause = fmt.Sprintf("the data set %s (%s)", p.Config.String("dataset"), s.text)
		case s.setting != "" && !p.isUsers(s.setting): // it follows from another setting
			continue
		case s.setting != "":
			cause = p.asGiven(s.setting)
		}
		if !slices.Contains(p.Causes, cause) {
			p.Causes = append(p.Causes, cause)
		}
	}
}

// IsDefault reports whether a reason of a rehearsal concerns a value that the program chose, such as "min-duration
// 0s is below 10m0s" without --min-duration.
func (p *Plan) IsDefault(reason string) bool { return slices.Contains(p.chosen, reason) }

// isUsers reports whether the user set a setting, in whichever layer.
func (p *Plan) isUsers(name string) bool {
	return p.Config.IsSet(name) && p.Config.Origin(name).Layer > config.FromRegistry
}

// asGiven returns a setting of the user's in the words in which it was given.
func (p *Plan) asGiven(name string) string {
	from, text := p.Config.Origin(name), p.Config.Text(name)
	switch from.Layer {
	case config.FromFlag:
		return "--" + name + " " + text
	case config.FromEnvironment:
		return from.Where + "=" + text
	}
	return fmt.Sprintf("%s: %s (%s)", name, text, from.Where)
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

// shortenData limits a rehearsal that the user requested to the first rows of its data set.
func (p *Plan) shortenData() error {
	if !p.Config.Bool("rehearsal") || !p.HasDataset() {
		return nil
	}
	return p.Suggest(rehearsalOrigin, "samples", strconv.Itoa(RehearsalSamples))
}

// NotJudged returns why the scores of a rehearsal with these reasons are not compared with a target; empty: they
// are compared. Only a simulator that was started with a synthetic data set has its answers.
func NotJudged(rehearsal []string, ds *datasets.Dataset) string {
	if slices.Contains(rehearsal, record.SimulatorReason) || !datasets.Synthetic(ds) {
		return ""
	}
	return "the data set is synthetic, and the server does not have its answers"
}
