package models

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/ordering"
)

// rows is the registry in listing order.
var rows []*Row

// register adds benchmarks; the file of a benchmark calls it from init. Rows are sorted by name, with retired
// benchmarks and then the generic row last.
func register(more ...*Row) {
	rows = append(rows, more...)
	last := func(r *Row) int {
		switch {
		case r.Name == Generic:
			return 2
		case r.Retired:
			return 1
		}
		return 0
	}
	ordering.Sort(rows, func(a, b *Row) int { return cmp.Or(last(a)-last(b), strings.Compare(a.Name, b.Name)) })
}

// Rows returns every row of the registry in listing order. Callers must not change the rows, which are shared.
func Rows() []*Row { return slices.Clone(rows) }

// Common settings of mlperf.conf (docs/reference/loadgen.md#values-of-mlperfconf): min_duration of every scenario, and
// LoadGen's default of min_query_count.
const (
	confMinDuration = 600 * time.Second
	confMinQueries  = 100
)

// offline returns the Offline row of a benchmark; minQueries is the minimum number of samples of its one query.
func offline(key string, minQueries int) ScenarioRow {
	return ScenarioRow{
		Scenario: Offline, LoadGenModel: key, LoadGen: Offline,
		MinQueries: minQueries, MinDuration: confMinDuration,
	}
}

// server returns the Server row of a benchmark with p99 limits in milliseconds; 0 means no limit.
func server(key string, ttftMS, tpotMS, latencyMS int) ScenarioRow {
	return ScenarioRow{
		Scenario: Server, LoadGenModel: key, LoadGen: Server,
		TTFTLimit: ms(ttftMS), TPOTLimit: ms(tpotMS), TargetLatency: ms(latencyMS),
		MinQueries: confMinQueries, MinDuration: confMinDuration, Stream: true,
	}
}

// interactive returns the Interactive row: Server with another key and tighter limits
// (docs/reference/benchmarks.md#names).
func interactive(key string, ttftMS, tpotMS, latencyMS int) ScenarioRow {
	s := server(key, ttftMS, tpotMS, latencyMS)
	s.Scenario = Interactive
	return s
}

func singleStream(key string) ScenarioRow {
	return ScenarioRow{
		Scenario: SingleStream, LoadGenModel: key, LoadGen: SingleStream,
		MinQueries: confMinQueries, MinDuration: confMinDuration, Stream: true,
	}
}

func ms(n int) time.Duration { return time.Duration(n) * time.Millisecond }

func ptr[T any](v T) *T { return &v }

// greedy returns the sampling of most benchmarks, which always chooses the most likely token
// (docs/reference/benchmarks.md#sampling).
func greedy(minTokens, maxTokens int) Sampling {
	return Sampling{
		MinTokens: minTokens, MaxTokens: maxTokens,
		Temperature: ptr(0.0), TopP: ptr(1.0), TopK: ptr(1),
	}
}

func (s Sampling) withSeed(seed int64) Sampling {
	s.Seed = &seed
	return s
}

func bothModes(s Sampling) map[Mode]Sampling {
	return map[Mode]Sampling{Performance: s, Accuracy: s}
}
