package check

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/mlperf-go/mlperf-go/internal/mllog"
	"github.com/mlperf-go/mlperf-go/internal/plural"
)

// detail holds the values of a LoadGen detail log, or of the equivalent files of another client, that rules need.
type detail struct {
	path    string
	absent  bool
	err     error          // why it cannot be used, or nil
	values  map[string]any // first value of each wanted key
	errors  int            // number of entries marked as errors
	grave   int            // number of errors other than uncommitted
	texts   []string       // texts of the first errors
	several map[string]int // wanted key → number of repetitions
}

// uncommitted is the error that the official checker's --submission-exceptions tolerates.
const uncommitted = "Loadgen built with uncommitted changes!"

const maxTexts = 10

// wanted lists the keys that rules need.
var wanted = keySet(
	"effective_scenario", "effective_test_mode", "effective_performance_sample_count", "effective_accuracy_sample_count",
	"qsl_reported_total_count", "effective_qsl_rng_seed", "effective_sample_index_rng_seed", "effective_schedule_rng_seed",
	"early_stopping_met", "early_stopping_result", "effective_target_latency_ns", "effective_min_query_count",
	"effective_samples_per_query", "effective_min_duration_ms", "effective_sample_concatenate_permutation",
	"requested_use_token_latencies", "requested_server_ttft_latency", "requested_server_tpot_latency", "sut_name",
	"result_validity", "num_errors", ttftKey, tpotKey, latencyKey,
	"result_samples_per_second", "result_completed_samples_per_sec", "early_stopping_latency_ss",
	"early_stopping_latency_ms",
	"result_tokens_per_second", "result_completed_tokens_per_second", "result_90.00_percentile_latency_ns",
	"result_qps_without_loadgen_overhead", "result_mean_query_latency_ns",
)

// The keys of the tail latencies.
const (
	ttftKey    = "result_first_token_99.00_percentile_latency_ns"
	tpotKey    = "result_time_per_output_token_99.00_percentile_ns"
	latencyKey = "result_99.00_percentile_latency_ns"
)

func keySet(keys ...string) map[string]bool {
	m := make(map[string]bool, len(keys))
	for _, k := range keys {
		m[k] = true
	}
	return m
}

// readDetail streams a detail log. Like the official parser, it rejects a first line without the marker and a marked
// line that is not JSON.
func (c *checker) readDetail(ctx context.Context, name string) *detail {
	d := &detail{path: name, values: map[string]any{}, several: map[string]int{}}
	f, err := c.files.open(name)
	if err != nil {
		d.err, d.absent = err, errors.Is(err, fs.ErrNotExist)
		return d
	}
	defer f.Close()
	first, noJSON := 0, 0
	in := &io.LimitedReader{R: f, N: maxLog}
	stats, err := mllog.ReadDetail(in, func(e *mllog.Entry) error {
		if first == 0 {
			first = e.Line
		}
		if e.Line%4096 == 1 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if noJSON == 0 && !json.Valid(e.Value) {
			noJSON = e.Line
		}
		d.take(e)
		return nil
	})
	switch {
	case err != nil:
		d.err = err
	case in.N <= 0:
		d.err = fmt.Errorf("it has more than %d GiB", maxLog>>30)
	case stats.Lines == 0:
		d.err = errors.New("it has no line of LoadGen")
	case first != 1 && stats.FirstBroken != 1:
		d.err = errors.New("its first line does not begin with :::MLLOG")
	case stats.Broken > 0:
		d.err = fmt.Errorf("%s cannot be read (of %d), line %d first",
			plural.Count(stats.Broken, "line", "lines"), stats.Lines, stats.FirstBroken)
	case stats.Truncated:
		d.err = errors.New("its last line is incomplete")
	case noJSON > 0:
		d.err = fmt.Errorf("line %d has a value that is not JSON", noJSON)
	}
	return d
}

func (d *detail) take(e *mllog.Entry) {
	if e.IsError {
		d.errors++
		text := e.Value.Text()
		if text != uncommitted {
			d.grave++
		}
		if len(d.texts) < maxTexts {
			d.texts = append(d.texts, shown(text))
		}
	}
	if !wanted[e.Key] {
		return
	}
	if _, seen := d.values[e.Key]; seen {
		d.several[e.Key]++
		return
	}
	d.values[e.Key] = e.Value.Any()
}

// usable reports whether the values can be used.
func (d *detail) usable() bool { return d.err == nil }

func (d *detail) text(key string) string {
	s, _ := d.values[key].(string)
	return s
}

// value returns the value of a key, or nil.
func (d *detail) value(key string) any { return d.values[key] }

// number returns a number; ok is false if the key is absent or has another type.
func (d *detail) number(key string) (float64, bool) { return number(d.values[key]) }

// is reports whether Python would treat the value as true.
func (d *detail) is(key string) bool { return truthy(d.values[key]) }

// scenario returns the scenario with which LoadGen ran.
func (d *detail) scenario() string { return d.text("effective_scenario") }
