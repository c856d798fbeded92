package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/internal/config"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run/exit"
)

// simBackend names the driver of the simulator: the wire is vLLM's, the run a rehearsal.
const simBackend = "sim"

// Bind fixes what depends on the number of rows: sample counts, and whether this is a rehearsal, and then the defaults
// of every setting that nobody set.
func (p *Plan) Bind(rows int) error {
	if err := p.checkRows(rows); err != nil {
		return err
	}
	p.Rehearsal = p.dataReasons(rows)
	row := config.Origin{Layer: config.FromRegistry, Where: p.Row.Name}
	size := defaults{row, realDefaults(p)}
	if len(p.Rehearsal) > 0 {
		size = defaults{rehearsalOrigin, rehearsalDefaults(p, rows)}
	}
	common := slices.Concat(deadlines, []suggestion{p.drainDefault()}, p.wireDefaults(), p.offlineDefaults())
	for _, of := range []defaults{size, {row, rowDefaults(p)}, p.simulated(), {config.Origin{}, common}} {
		for _, d := range of.list {
			if err := p.Suggest(of.from, d.name, d.text); err != nil {
				return err
			}
		}
	}
	if p.needsQPS() && !p.Config.Has("target-qps") {
		return exit.Usage("target_qps", "Give --target-qps QUERIES_PER_SECOND, here or in --user-conf",
			"a %s test needs the load to offer, and --target-qps is not given",
			p.Scenario.Scenario)
	}
	if p.Config.String("served-model") == "" {
		return exit.Usage("served_model", "Give the name that the server lists at /v1/models",
			"no --served-model is given, and the model's row names none")
	}
	p.Rehearsal = append(p.Rehearsal, p.settingReasons()...)
	p.AddRehearsal(Profiled(p.Profilers))
	return nil
}

func (p *Plan) needsQPS() bool { return p.Scenario.LoadGen == models.Server }

// OfficialRows is the number of rows of the real data set; 0: the row has none, any file is the real one.
func (p *Plan) OfficialRows() int {
	switch {
	case p.AuditRows > 0:
		return p.AuditRows
	case p.Scenario.Samples > 0:
		return p.Scenario.Samples
	case p.Mode == models.Accuracy && p.Row.AccuracyCount > 0:
		return p.Row.AccuracyCount
	}
	return p.Row.DatasetSamples
}

func (p *Plan) checkRows(rows int) error {
	if rows < 1 {
		return exit.Usage("dataset", "Give one that has some", "the data set has no rows")
	}
	if want := p.OfficialRows(); want > 0 && rows > want {
		return exit.Usage("dataset", "Is it the right file? --samples N takes its first N rows",
			"the data set has %d rows, and that of %s has %d", rows, p.Row.Name, want)
	}
	if n := p.Config.Int("samples"); n > rows {
		return exit.Usage("samples", "Ask for fewer, or give a larger data set",
			"--samples asks for %d rows, and the data set has %d", n, rows)
	}
	return nil
}

// dataReasons say why the server or the data set makes a run a rehearsal.
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

// settingReasons say which settings make a run a rehearsal: what is below the rules' minimum, and the round's seeds.
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

type suggestion struct{ name, text string }

// defaults are what one source says about settings that nobody set.
type defaults struct {
	from config.Origin
	list []suggestion
}

// runsCode is what a rehearsal has for run-code: it runs the programs among its answers, so that it claims a total as a
// submission does.
func (p *Plan) runsCode() suggestion {
	if !datasets.AsksForPrograms(p.Row) || p.Config.Has("code-service") {
		return suggestion{name: "run-code"}
	}
	return suggestion{"run-code", "true"}
}

// suggestCode decides about programs before there is a data set: a synthetic one has some where they are run.
func (p *Plan) suggestCode() error {
	if p.HasDataset() {
		return nil
	}
	d := p.runsCode()
	return p.Suggest(rehearsalOrigin, d.name, d.text)
}

var rehearsalOrigin = ProgramOrigin("default of a rehearsal")

// rehearsalDefaults (docs/reference/runs.md#rehearsals) are short, and enough queries for early stopping.
func rehearsalDefaults(p *Plan, rows int) []suggestion {
	list := []suggestion{{"samples", strconv.Itoa(rows)}, p.runsCode()}
	switch p.Scenario.LoadGen {
	case models.Server:
		return append(list, suggestion{"target-qps", "50"}, suggestion{"min-queries", "512"},
			suggestion{"min-duration", "10s"})
	case models.SingleStream:
		return append(list, suggestion{"min-queries", "100"}, suggestion{"min-duration", "0"})
	default:
		return append(list, suggestion{"target-qps", "1"}, suggestion{"min-queries", "512"}, suggestion{"min-duration", "0"})
	}
}

func realDefaults(p *Plan) []suggestion {
	list := []suggestion{{"min-queries", strconv.Itoa(p.Scenario.MinQueries)},
		{"min-duration", p.Scenario.MinDuration.String()}}
	if p.Scenario.LoadGen == models.Offline {
		list = append(list, suggestion{"target-qps", "1"})
	}
	return list
}

// Deadlines: long enough for any server that works, so that a silent one can not hang a run
// (docs/reference/flags.md#limits-and-deadlines).
const (
	defaultRequestTimeout    = 30 * time.Minute
	defaultFirstTokenTimeout = 10 * time.Minute
	defaultTokenTimeout      = 2 * time.Minute
	defaultConnectTimeout    = 10 * time.Second
)

// drainSlack is how much longer than every other deadline the drain deadline is, so that a request ends by its own,
// with a code of its own.
const drainSlack = time.Minute

var deadlines = []suggestion{
	{"request-timeout", defaultRequestTimeout.String()}, {"first-token-timeout", defaultFirstTokenTimeout.String()},
	{"token-timeout", defaultTokenTimeout.String()}, {"connect-timeout", defaultConnectTimeout.String()},
}

// drainDefault lets requests take as long as they may, and an endpoint return for as long as it may: only what no other
// deadline ends is for the drain deadline to end.
func (p *Plan) drainDefault() suggestion {
	longest := defaultRequestTimeout
	if p.Config.Has("request-timeout") {
		longest = p.Config.Duration("request-timeout")
	}
	longest = max(longest, p.Config.Duration("endpoint-timeout"))
	// the first where the sum is too large for a duration
	return suggestion{"drain-timeout", max(longest, longest+drainSlack).String()}
}

// SimulatorOrigin is that of settings by which the simulator is used.
var SimulatorOrigin = ProgramOrigin("the simulator, as there is no --endpoint")

func (p *Plan) simulated() defaults {
	if p.HasEndpoint() {
		return defaults{}
	}
	return defaults{SimulatorOrigin, []suggestion{{"backend", simBackend}}}
}

// defaultBackend is the driver of vLLM.
const defaultBackend = "vllm"

// wireDefaults are the backend and its API. An unknown backend is rejected elsewhere.
func (p *Plan) wireDefaults() []suggestion {
	api := backends.DefaultAPI
	if d, err := backends.Lookup(cmp.Or(p.Config.String("backend"), defaultBackend)); err == nil {
		api = cmp.Or(d.Describe().API, api)
	}
	return []suggestion{{"backend", defaultBackend}, {"api", api}}
}

// rowDefaults are what the benchmark fixes.
func rowDefaults(p *Plan) []suggestion {
	sampling := p.Row.Sampling[p.Mode]
	list := []suggestion{
		{"api", p.Row.API},
		{"ttft-limit", positive(p.Scenario.TTFTLimit)}, {"tpot-limit", positive(p.Scenario.TPOTLimit)},
		{"min-tokens", strconv.Itoa(sampling.MinTokens)},
		{"temperature", number(sampling.Temperature)}, {"top-p", number(sampling.TopP)},
	}
	if sampling.MaxTokens > 0 { // else the rules name none
		list = append(list, suggestion{"max-tokens", strconv.Itoa(sampling.MaxTokens)})
	}
	if sampling.Seed != nil {
		list = append(list, suggestion{"seed", strconv.FormatInt(*sampling.Seed, 10)})
	}
	if sampling.TopK != nil {
		list = append(list, suggestion{"top-k", strconv.Itoa(*sampling.TopK)})
	}
	return list
}

func positive(d time.Duration) string {
	if d <= 0 {
		return ""
	}
	return d.String()
}

func number(f *float64) string {
	if f == nil {
		return ""
	}
	return strconv.FormatFloat(*f, 'g', -1, 64)
}

// SyntheticDataset is the origin of a data set that was made for the run.
var SyntheticDataset = ProgramOrigin("a synthetic set, as there is no --dataset")

func ProgramOrigin(where string) config.Origin {
	return config.Origin{Layer: config.FromProgram, Where: where}
}
