package check

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/mlperf-go/mlperf-go/internal/mllog"
)

// detail is what the rules ask of a LoadGen detail log, or of the files that stand for it in another client's result.
type detail struct {
	path    string
	absent  bool
	err     error          // why it can not be judged; nil: it can
	values  map[string]any // first value of each wanted key
	errors  int            // entries marked as errors
	grave   int            // of these, the ones that are not about uncommitted changes
	texts   []string       // of the first errors
	several map[string]int // wanted keys that came more than once
}

// The errors that the official checker's --submission-exceptions knows.
const uncommitted = "Loadgen built with uncommitted changes!"

const maxTexts = 10

// wanted are the keys that some rule asks for; everything else is read over.
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

// readDetail streams a detail log. What the official parser does not take is an error here: a first line without the
// marker, a marked line that is no JSON.
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
	told, err := mllog.ReadDetail(in, func(e *mllog.Entry) error {
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
	case told.Lines == 0:
		d.err = errors.New("it has no line of LoadGen's")
	case first != 1 && told.FirstBroken != 1:
		d.err = errors.New("its first line does not begin with :::MLLOG")
	case told.Broken > 0:
		d.err = fmt.Errorf("line %d is not readable, and %d of %d are not", told.FirstBroken, told.Broken, told.Lines)
	case told.Truncated:
		d.err = errors.New("its last line has no end")
	case noJSON > 0:
		d.err = fmt.Errorf("line %d has a value that is no JSON", noJSON)
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

// usable says whether the values are worth asking.
func (d *detail) usable() bool { return d.err == nil }

func (d *detail) text(key string) string {
	s, _ := d.values[key].(string)
	return s
}

// value is nil where the key is absent.
func (d *detail) value(key string) any { return d.values[key] }

// number gives a number; ok is false where the key is absent or holds something else.
func (d *detail) number(key string) (float64, bool) { return number(d.values[key]) }

// is says whether the key holds exactly true.
func (d *detail) is(key string) bool { return truthy(d.values[key]) }

// scenario is the one that LoadGen was told.
func (d *detail) scenario() string { return d.text("effective_scenario") }
