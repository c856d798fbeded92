package check

import (
	"fmt"
	"strings"
)

// metric is the performance figure of a result.
type metric struct {
	value float64
	unit  string
	err   error // why value is missing
	key   string
}

// metricKeys maps the scenario of a log to the key of its metric (docs/reference/submission-rules.md#metrics).
var metricKeys = map[string]string{
	"Offline":      "result_samples_per_second",
	"Server":       "result_completed_samples_per_sec",
	"SingleStream": "early_stopping_latency_ss",
	"MultiStream":  "early_stopping_latency_ms",
}

// tokenKeys replaces metricKeys for benchmarks measured in tokens. The official table lacks another client's "offline",
// so that such a result is in samples.
var tokenKeys = map[string]string{
	"Offline":     "result_tokens_per_second",
	"Server":      "result_completed_tokens_per_second",
	"server":      "result_completed_tokens_per_second",
	"interactive": "result_completed_tokens_per_second",
}

// fromV61 extends metricKeys in round v6.1 for results of another client.
var fromV61 = map[string]string{
	"Interactive":  "result_completed_samples_per_sec",
	"offline":      "result_samples_per_second",
	"server":       "result_completed_samples_per_sec",
	"interactive":  "result_completed_samples_per_sec",
	"singlestream": "result_mean_latency_ns",
	"multistream":  "result_mean_latency_ns",
}

const nsPerMS = 1e6

// measure reads the metric from a performance log.
func (s *scope) measure(d *detail, b *benchmark) metric {
	m := metric{unit: b.unit(canonical(s.name))}
	ran := d.scenario()
	m.key = metricKeys[ran]
	if m.key == "" && s.round.Checker.OtherClient {
		m.key = fromV61[ran]
	}
	if m.key == "" {
		m.err = fmt.Errorf("the log's scenario %.40q has no metric in round %s", ran, s.round.Name)
		return m
	}
	if m.take(d, m.key); m.err != nil {
		return m
	}
	if key := b.instead(ran); key != "" {
		m.key = key
		if m.take(d, key); m.err != nil {
			return m
		}
	}
	if ran == "SingleStream" || ran == "MultiStream" {
		m.value /= nsPerMS
	}
	if isInferred(ran, s.name) {
		m.infer(d, ran, s.name)
	}
	return m
}

// take reads a figure like the official checker, which also accepts a number in a string.
func (m *metric) take(d *detail, key string) {
	v, ok := pyFloat(d.value(key))
	if !ok {
		m.key = key
		m.err = fmt.Errorf("the log has no number for %s", key)
		return
	}
	m.value = v
}

// instead returns the key that replaces the one of the scenario, or "".
func (b *benchmark) instead(ran string) string {
	if ran == "SingleStream" {
		return b.SingleStream
	}
	if b.isLLM() {
		return tokenKeys[ran]
	}
	return ""
}

// units maps the folder's scenario to the units of samples and of tokens.
var units = map[string][2]string{
	"Offline":     {"Samples/s", "Tokens/s"},
	"Server":      {"Queries/s", "Tokens/s"},
	"Interactive": {"Queries/s", "Tokens/s"},
}

// unit returns the unit for the folder's scenario, even if the value was inferred from the log of another one.
func (b *benchmark) unit(folder string) string {
	u, ok := units[folder]
	switch {
	case !ok:
		return "Latency (ms)"
	case b.isLLM():
		return u[1]
	}
	return u[0]
}

// isInferred reports whether the result of a folder comes from another scenario's log. The log of Interactive is always
// a Server log.
func isInferred(ran, folder string) bool {
	log, folder := strings.ToLower(ran), strings.ToLower(folder)
	return log != folder && (log != "server" || folder != "interactive")
}

// inferable lists the pairs of log and folder for which the rules let an edge system infer the result.
var inferable = map[[2]string]bool{
	{"singlestream", "multistream"}: true,
	{"multistream", "offline"}:      true,
	{"singlestream", "offline"}:     true,
}

// streams is the number of samples in a MultiStream query.
const streams = 8

func (m *metric) infer(d *detail, ran, folder string) {
	switch [2]string{ran, folder} {
	case [2]string{"SingleStream", "Offline"}:
		m.take(d, "result_qps_without_loadgen_overhead")
	case [2]string{"MultiStream", "Offline"}:
		perQuery, ok := d.number("effective_samples_per_query")
		if m.take(d, "result_mean_query_latency_ns"); m.err == nil && (!ok || m.value == 0) {
			m.err = fmt.Errorf("no rate can be computed from %v samples per query in %v ns",
				d.value("effective_samples_per_query"), m.value)
		}
		if m.err == nil {
			m.value = perQuery * 1000 / (m.value / nsPerMS)
		}
	case [2]string{"SingleStream", "MultiStream"}:
		if m.take(d, "early_stopping_latency_ms"); m.err == nil && m.value == 0 {
			m.err = fmt.Errorf("early_stopping_latency_ms is 0: too few queries for an estimate")
		}
		m.value = m.value * streams / nsPerMS
	}
}
