package plan

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/internal/config"
	"github.com/mlperf-go/mlperf-go/internal/nvtx"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run/exit"
)

// simBackend names the driver of the simulator: the wire is vLLM's, the run a rehearsal.
const simBackend = "sim"

// Bind sets everything that depends on the number of rows: sample counts, the reasons of a rehearsal, and then the
// defaults of all settings that are not set.
func (p *Plan) Bind(rows int) error {
	if err := p.CheckInput(rows); err != nil {
		return err
	}
	p.rows = rows
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
	if err := p.checkBounds(); err != nil {
		return err
	}
	p.addShortfalls(p.settingShortfalls())
	if text := p.Config.String("profile-window"); text != "" {
		p.addShortfalls([]shortfall{{"profile-window", "profiled: --profile-window " + text + " profiles the servers"}})
	}
	if nvtx.On {
		p.addShortfalls([]shortfall{{"", "profiled: the client marks ranges for NVTX (build tag nvtx)"}})
	}
	if why := Profiled(p.Profilers); why != "" {
		p.addShortfalls([]shortfall{{"", why}})
	}
	return nil
}

// CheckInput rejects settings and a number of rows that make the test impossible whatever the servers are. Bind does so
// too.
func (p *Plan) CheckInput(rows int) error {
	p.Rehearsal, p.chosen, p.Causes = nil, nil, nil
	p.addShortfalls(p.dataShortfalls(rows))
	if err := p.checkRows(rows, len(p.Rehearsal) > 0); err != nil {
		return err
	}
	if p.needsQPS() && len(p.Rehearsal) == 0 && !p.Config.Has("target-qps") {
		return exit.Usage(exit.CodeTargetQPS, "Give --target-qps QUERIES_PER_SECOND, here or in --user-conf",
			"a %s test needs a load, and --target-qps is not given",
			p.Scenario.Scenario)
	}
	if p.Config.String("served-model") == "" {
		return exit.Usage(exit.CodeServedModel, "Give the name that the server lists at /v1/models",
			"no --served-model is given, and the model's row names none")
	}
	return nil
}

type suggestion struct{ name, text string }

// defaults are the suggestions of one source for settings that are not set.
type defaults struct {
	from config.Origin
	list []suggestion
}

var rehearsalOrigin = ProgramOrigin("default of a rehearsal")

// SizeOrigin is the origin of the defaults of a rehearsal of a size (--rehearsal-size).
func SizeOrigin(size string) config.Origin {
	return ProgramOrigin(rehearsalOrigin.Where + " of --rehearsal-size " + size)
}

// RateOfRehearsal returns the origin of the target QPS if it is the default of a rehearsal, which is chosen for the
// simulator; empty: it has another origin.
func (p *Plan) RateOfRehearsal() string {
	if from := p.Config.Origin("target-qps"); strings.HasPrefix(from.Where, rehearsalOrigin.Where) {
		return from.Where
	}
	return ""
}

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

// The default deadlines are long enough for any server that works, and end a test with a silent one
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

// drainDefault returns a drain deadline above the request deadline and the endpoint timeout: it only ends what no other
// deadline ends.
func (p *Plan) drainDefault() suggestion {
	longest := defaultRequestTimeout
	if p.Config.Has("request-timeout") {
		longest = p.Config.Duration("request-timeout")
	}
	longest = max(longest, p.Config.Duration("endpoint-timeout"))
	// the first where the sum is too large for a duration
	return suggestion{"drain-timeout", max(longest, longest+drainSlack).String()}
}

// SimulatorOrigin is the origin of settings that select the simulator.
var SimulatorOrigin = ProgramOrigin("the simulator, because there is no --endpoint")

func (p *Plan) simulated() defaults {
	if p.HasEndpoint() {
		return defaults{}
	}
	return defaults{SimulatorOrigin, []suggestion{{"backend", simBackend}}}
}

// wireDefaults are the API of the backend, unless the backend is still to be chosen.
func (p *Plan) wireDefaults() []suggestion {
	name, api := p.Config.String("backend"), backends.DefaultAPI
	if p.BackendUnchosen() {
		return nil
	}
	if d, err := backends.Lookup(name); err == nil {
		api = cmp.Or(d.Describe().API, api)
	}
	return []suggestion{{"api", api}}
}

// rowDefaults are the values that the benchmark fixes.
func rowDefaults(p *Plan) []suggestion {
	sampling := p.Row.Sampling[p.Mode]
	list := []suggestion{
		{"api", p.Row.API},
		{"ttft-limit", positive(p.Scenario.TTFTLimit)}, {"tpot-limit", positive(p.Scenario.TPOTLimit)},
		{"min-tokens", strconv.Itoa(sampling.MinTokens)},
		{"temperature", number(sampling.Temperature)}, {"top-p", number(sampling.TopP)},
	}
	if sampling.MaxTokens > 0 { // otherwise the rules name none
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
var SyntheticDataset = ProgramOrigin("a synthetic set, because there is no --dataset")

// NoRate is the origin of a placeholder for the target QPS of a plan whose test is not run.
var NoRate = ProgramOrigin("not used by a preflight")

func ProgramOrigin(where string) config.Origin {
	return config.Origin{Layer: config.FromProgram, Where: where}
}
