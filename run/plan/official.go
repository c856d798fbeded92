package plan

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/config"
	"github.com/mlperf-go/mlperf-go/internal/earlystop"
	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
	"github.com/mlperf-go/mlperf-go/models"
)

// fixedKey is a key of LoadGen's configuration that the rules fix and that this program has no setting for: a user.conf
// may carry it, and LoadGen then measures something else than the benchmark and still reports VALID
// (docs/reference/loadgen.md#configuration-keys).
type fixedKey struct {
	name     string
	official func(s *loadgen.TestSettings) float64 // in the file's unit
}

func oneIf(on bool) float64 {
	if on {
		return 1
	}
	return 0
}

// fixedKeys are the keys whose values in a user.conf are compared with the benchmark's. Keys that end a test early with
// an error (max_async_queries) or that only log more (print_timestamps, accuracy_log_*) change no result.
var fixedKeys = []fixedKey{
	{keyTargetLatency, func(s *loadgen.TestSettings) float64 {
		return float64(s.ServerTargetLatencyNS) / float64(time.Millisecond)
	}},
	{"performance_issue_unique", func(s *loadgen.TestSettings) float64 { return oneIf(s.PerformanceIssueUnique) }},
	{"performance_issue_same", func(s *loadgen.TestSettings) float64 { return oneIf(s.PerformanceIssueSame) }},
	{"sample_concatenate_permutation", func(s *loadgen.TestSettings) float64 {
		return oneIf(s.SampleConcatenatePermutation)
	}},
	{"performance_sample_count_override", func(s *loadgen.TestSettings) float64 {
		return float64(s.PerformanceSampleCountOverride)
	}},
	{"accuracy_sample_count_override", func(s *loadgen.TestSettings) float64 {
		return float64(s.AccuracySampleCountOverride)
	}},
	{"infer_token_latencies", func(s *loadgen.TestSettings) float64 { return oneIf(s.InferTokenLatencies) }},
	{"token_latency_scaling_factor", func(s *loadgen.TestSettings) float64 {
		return float64(s.TokenLatencyScalingFactor)
	}},
}

// keyTargetLatency is the limit of the whole answer in Server.
const keyTargetLatency = "target_latency"

// OfficialPercentile returns the percentile that LoadGen's built-in mlperf.conf judges; 0: it judges no percentile.
func (l *Load) OfficialPercentile() float64 {
	if !loadgen.Built {
		return 0
	}
	const percent = 100
	switch s := l.builtIn(); {
	case l.Scenario.LoadGen == models.Server:
		return s.ServerTargetLatencyPercentile * percent
	case l.Scenario.LoadGen == models.SingleStream:
		return s.SingleStreamTargetLatencyPercentile * percent
	}
	return 0
}

// LeastQueries returns the number of queries below which LoadGen's early stopping makes every Server test INVALID, at
// any latency (docs/reference/loadgen.md#early-stopping); 0: the test has no such number.
func (l *Load) LeastQueries() int {
	if l.Scenario.LoadGen != models.Server || l.Mode != models.Performance || l.Config.Has("audit-config") {
		return 0
	}
	const percent = 100
	percentile := l.OfficialPercentile()
	if l.Config.Has("latency-percentile") {
		percentile = l.Config.Float("latency-percentile")
	}
	return earlystop.Need(percentile/percent, 0)
}

// TunedQueries returns the least number of queries of a run whose rate a tune finds, and whether it is higher than the
// test's own, because early stopping would make shorter runs INVALID at rates that the server can serve.
func (l *Load) TunedQueries() (least int, raised bool) {
	own := l.Scenario.MinQueries
	if l.Config.IsSet("min-queries") {
		own = l.Config.Int("min-queries")
	}
	least = l.LeastQueries()
	return max(own, least), own < least
}

// builtIn returns the settings of LoadGen's built-in mlperf.conf.
func (l *Load) builtIn() loadgen.TestSettings {
	official := loadgen.DefaultTestSettings()
	official.FromConfig("", l.LoadGenModel(), string(l.Scenario.LoadGen), loadgen.ConfBuiltIn)
	return official
}

// confReasons returns the lines of a user.conf that make the run a rehearsal, because they differ from LoadGen's
// built-in mlperf.conf.
func (l *Load) confReasons() []string {
	if len(l.confRest) == 0 || !loadgen.Built {
		return nil
	}
	official := l.builtIn()
	if limit := l.Scenario.TargetLatency; limit > 0 {
		official.ServerTargetLatencyNS = uint64(limit)
	}
	var why []string
	for _, k := range fixedKeys {
		i := slices.IndexFunc(l.confRest, func(kv config.KV) bool { return kv.Key == k.name })
		if i < 0 || l.restFollows(k.name) {
			continue
		}
		if is, want := l.confRest[i].Text, k.official(&official); !isNumber(is, want) {
			why = append(why, fmt.Sprintf("the user.conf's %s %s is not the benchmark's %s", k.name, is,
				strconv.FormatFloat(want, 'g', 6, 64)))
		}
	}
	return why
}

// EqualIssueSet returns the number of samples that a bound plan's performance test issues equally often; 0: it does
// not use equal issue and issues any number of queries (docs/reference/loadgen.md#effective-settings).
func (p *Plan) EqualIssueSet() int {
	if !loadgen.Built || p.Mode != models.Performance || p.AuditRows > 0 || p.Config.Has("audit-config") {
		return 0
	}
	equal := p.builtIn().SampleConcatenatePermutation
	for _, kv := range p.confRest {
		if kv.Key == "sample_concatenate_permutation" {
			equal = isNumber(kv.Text, 1)
		}
	}
	switch {
	case !equal:
		return 0
	case p.Row.PerformanceCount > 0:
		return min(p.rows, p.Row.PerformanceCount)
	}
	return p.rows
}

// restFollows reports whether a key follows from --samples. Fewer rows are a reason of their own.
func (l *Load) restFollows(key string) bool {
	return l.Config.Int("samples") > 0 && slices.Contains(sampleCounts, key)
}

// isNumber compares a number of a user.conf, which may be hexadecimal, with a number of LoadGen's, which has been
// rounded.
func isNumber(text string, want float64) bool {
	const rounding = 1e-9
	n, err := strconv.ParseUint(text, 0, 64)
	is := float64(n)
	if err != nil {
		if is, err = strconv.ParseFloat(text, 64); err != nil {
			return false
		}
	}
	return is >= want-rounding*want && is <= want+rounding*want
}

// writesLatencyLimit reports whether mlperf.conf lacks the limit. Interactive of a benchmark without an interactive key
// would get Server's (docs/reference/benchmarks.md#names).
func (l *Load) writesLatencyLimit() bool {
	return l.latencyLimit() > 0 && l.Scenario.Scenario == models.Interactive
}

// expectedLatencyLimit returns the limit that LoadGen must have for the whole answer; false: any.
func (l *Load) expectedLatencyLimit() (time.Duration, bool) {
	for _, kv := range l.confRest {
		if kv.Key == keyTargetLatency {
			n, err := strconv.ParseUint(kv.Text, 0, 63)
			return time.Duration(n) * time.Millisecond, err == nil
		}
	}
	limit := l.latencyLimit()
	return limit, limit > 0
}
