package check

import (
	"errors"
	"fmt"
	"path"

	"gopkg.in/yaml.v3"

	"github.com/mlperf-go/mlperf-go/internal/mllog"
	"github.com/mlperf-go/mlperf-go/submission/layout"
)

// The files of a result of the organisers' newer client
// (docs/reference/submission-rules.md#results-of-the-endpoints-client).
const (
	clientConfig      = "config.yaml"
	clientPerformance = "performance/result_summary.json"
	clientAccuracy    = "accuracy/accuracy_results.json"
)

// Paths of LoadGen's keys in the client's files.
var (
	summaryKeys = map[string][]string{
		latencyKey:                           {"latency", "early_stopping_percentiles", "99.0"},
		ttftKey:                              {"ttft", "early_stopping_percentiles", "99.0"},
		tpotKey:                              {"tpot", "early_stopping_percentiles", "99.0"},
		"result_mean_latency_ns":             {"latency", "avg"},
		"result_completed_tokens_per_second": {"tps"},
		"result_completed_samples_per_sec":   {"qps"},
		"qsl_reported_total_count":           {"n_samples_issued"},
		"generated_query_count":              {"n_samples_issued"},
		"generated_query_duration":           {"duration_ns"},
		"mean_output_tokens":                 {"output_sequence_lengths", "avg"},
	}
	configKeys = map[string][]string{
		"effective_scenario":              {"type"},
		"effective_min_duration_ms":       {"settings", "runtime", "min_duration_ms"},
		"effective_sample_index_rng_seed": {"settings", "runtime", "dataloader_random_seed"},
		"effective_schedule_rng_seed":     {"settings", "runtime", "scheduler_random_seed"},
		"requested_use_token_latencies":   {"model_params", "streaming"},
	}
)

// readOtherClient reads the client's files instead of LoadGen's logs.
func (c *checker) readOtherClient(dir string, r *result) {
	config, err := c.readClientConfig(dir)
	summary := c.readDocument(path.Join(dir, clientPerformance))
	results := c.readDocument(path.Join(dir, clientAccuracy))
	r.performance = &detail{path: summary.path, absent: summary.absent, values: map[string]any{}}
	r.accuracy = &detail{path: results.path, absent: results.absent, values: map[string]any{}}
	if summary.absent && results.absent && err != nil {
		// No file of that client exists either, so report LoadGen's logs as missing.
		r.performance.path = path.Join(dir, layout.PerformanceRun, mllog.DetailName)
		r.accuracy.path = path.Join(dir, "accuracy", mllog.DetailName)
	}
	if r.performance.err = summary.err; summary.err == nil {
		r.performance.err = err
	}
	r.accuracy.err = results.err
	r.performance.translate(summary.values, config)
	r.scores = clientScores(results, r.accuracy)
}

func (c *checker) readClientConfig(dir string) (map[string]any, error) {
	for _, name := range []string{clientConfig, "config.yml"} {
		b, err := c.files.read(path.Join(dir, name), maxDocument)
		if err != nil {
			continue
		}
		var v map[string]any
		if err := decodeYAML(b, &v); err != nil {
			return nil, fmt.Errorf("cannot read %s: %w", name, err)
		}
		return v, nil
	}
	return nil, fmt.Errorf("there is no %s", clientConfig)
}

// decodeYAML turns a panic of the YAML reader into an error; some broken input makes it panic.
func decodeYAML(b []byte, v any) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the YAML reader failed: %v", p)
		}
	}()
	return yaml.Unmarshal(b, v)
}

func (d *detail) translate(summary, config map[string]any) {
	for key, at := range summaryKeys {
		d.put(key, nested(summary, at))
	}
	for key, at := range configKeys {
		d.put(key, nested(config, at))
	}
	if d.text("effective_scenario") == "online" { // the client's name of Server
		d.values["effective_scenario"] = "server"
	}
	count, counted := d.number("generated_query_count")
	ns, timed := d.number("generated_query_duration")
	if counted && timed && ns > 0 {
		if _, given := d.values["result_samples_per_second"]; !given {
			d.values["result_samples_per_second"] = count / (ns / 1e9)
		}
	}
}

func (d *detail) put(key string, v any) {
	if v != nil {
		d.values[key] = v
	}
}

func nested(v any, at []string) any {
	for _, key := range at {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[key]
	}
	return v
}

// clientScores reads accuracy_results.json: the scores of the first data set, and the sample counts of all.
func clientScores(results *document, accuracy *detail) *scores {
	t := &scores{path: results.path, absent: results.absent, err: results.err, found: map[string]string{}}
	list, _ := results.values["accuracy_scores"].([]any)
	total, counted := 0.0, false
	for _, e := range list {
		entry, _ := e.(map[string]any)
		if kind, given := entry["dataset_type"]; given && kind != "accuracy" {
			continue
		}
		n, ok := number(entry["total_samples"])
		if !ok {
			n, ok = number(nested(entry, []string{"response_counts", "issued"}))
		}
		total, counted = total+n, counted || ok
		if score, ok := entry["score"].(map[string]any); ok && len(t.found) == 0 {
			for _, k := range sortedKeys(score) {
				t.put(k, pyStr(score[k]))
			}
		}
	}
	if counted {
		accuracy.values["effective_accuracy_sample_count"] = total
	}
	if t.err == nil && len(t.found) == 0 {
		t.err = errors.New("accuracy_scores has no score")
	}
	return t
}
