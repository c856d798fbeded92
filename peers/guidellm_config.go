package peers

import "slices"

// guideTTFO is the time to the first token that is not reasoning. Only some logs have it.
const guideTTFO = "time_to_first_output_token_ms"

// What guidellm's own loader requires (GenerativeBenchmarksReport.load_file), and a log does not have. The values are
// those that guidellm writes where it has none.
var (
	// guideUntimed are averages of steps within guidellm's client.
	guideUntimed = []string{"queued_time_avg", "resolve_start_delay_avg", "resolve_targeted_start_delay_avg",
		"request_start_delay_avg", "resolve_end_delay_avg", "resolve_time_avg", "finalized_delay_avg", "processed_delay_avg"}
	// guideUnmeasured are distributions, which are written without values.
	guideUnmeasured = []string{guideTTFO, "time_to_last_round_trip_ms", "avg_round_trip_time_ms"}
	// guideMedia are the kinds of content, each with its summaries, which are null.
	guideMedia = []struct {
		kind      string
		summaries []string
	}{
		{"text", []string{"tokens", "words", "characters"}}, {"image", []string{"tokens", "images", "pixels", "bytes"}},
		{"video", []string{"tokens", "frames", "seconds", "bytes"}},
		{"audio", []string{"tokens", "samples", "seconds", "bytes"}},
		{"tool_call", []string{"tokens", "mixed_tokens", "count"}},
	}
)

// guideScenario returns the settings with which guidellm would send the same load. guidellm requires a source of data;
// the log has none, so it is an empty list in memory.
func guideScenario(l *Log, profiles []object) object {
	data := object{{"kind", "in_memory_item_list"}, {"data", []object{}}}
	backend := object{{"kind", "openai_http"}, {"target", l.Endpoint}, {"model", l.Model}}
	o := object{{"spec", object{{"backend", backend}, {"profile", profiles[0]}, {"data", []object{data}}}}}
	if len(profiles) > 1 {
		var stages []object
		for _, one := range profiles {
			stages = append(stages, object{{"profile", one}})
		}
		o.add("benchmarks", stages)
	}
	return o
}

// strategy returns guidellm's name for how requests were issued.
func (s Stage) strategy() string {
	switch {
	case s.isGuideProbe():
		return s.Probe
	case s.Poisson:
		return "poisson"
	case s.RatePerS > 0:
		return "constant"
	case s.Concurrency > 0 && !s.Burst:
		return "concurrent"
	}
	return guideThroughput
}

// Strategies with which guidellm's own sweep looks for its limits. They are benchmarks of its report.
const (
	guideSynchronous = "synchronous" // one request at a time
	guideThroughput  = "throughput"  // as many at a time as are allowed
)

// isGuideProbe reports whether a stage is a benchmark of guidellm, though a sweep looks for its limits with it.
func (s Stage) isGuideProbe() bool { return s.Probe == guideSynchronous || s.Probe == guideThroughput }

// profile returns a stage as a setting.
func (l *Log) profile(stage int) object {
	s := l.Stages[stage]
	kind := s.strategy()
	o := object{{"kind", kind}}
	switch {
	case kind == guideSynchronous:
	case kind == guideThroughput && s.Concurrency > 0:
		o.add("max_concurrency", s.Concurrency)
	case s.RatePerS > 0:
		o.add("rate", []float64{s.RatePerS})
		if s.Concurrency > 0 {
			o.add("max_concurrency", s.Concurrency)
		}
	case s.Concurrency > 0:
		o.add("streams", []int{s.Concurrency})
	default:
		o.add("max_concurrency", len(l.Requests)) // required; as many as this are no limit
	}
	return o
}

// config returns the settings of a benchmark.
func (b *guideBenchmark) config() object {
	s := b.stage
	kind := s.strategy()
	strategy := object{{"type_", kind}}
	if s.RatePerS > 0 {
		strategy.add("rate", s.RatePerS)
	}
	if s.Concurrency > 0 && kind != guideSynchronous {
		strategy.add("max_concurrency", s.Concurrency)
		if kind == "concurrent" {
			strategy.add("streams", s.Concurrency)
		}
	}
	return object{{"id_", b.id()}, {"run_id", b.log.ID}, {"run_index", b.index}, {"strategy", strategy},
		{"slo", b.log.guideSLO()}, {"constraints", object{}}, {"sample_size", 0},
		{"profile", b.log.profile(b.index)}, {"requests", object{}},
		{"backend", object{{"type_", b.log.Backend}, {"target", b.log.Endpoint}, {"model", b.log.Model}}},
		{"environment", object{}},
	}
}

// state returns the end of the test as guidellm's scheduler would see it.
func (b *guideBenchmark) state() object {
	first, last := b.extent()
	o := object{{"start_time", first}, {"end_time", last}, {"start_requests_time", first},
		{"end_requests_time", last}, {"created_requests", len(b.sent)}, {"processed_requests", len(b.sent)}}
	names := []string{"successful_requests", "errored_requests", "cancelled_requests"} // as guideStatus, without the sum
	for i, n := range guideCounts(b.sent)[:len(names)] {
		o.add(names[i], n.value)
	}
	return o
}

// addUnmeasured adds the metrics that a log does not have, and those that were too many to compute.
func (b *guideBenchmark) addUnmeasured(metrics *object) {
	var keys []string
	for _, key := range append(slices.Clone(guideUnmeasured), "output_tokens_per_second", "tokens_per_second",
		"output_tokens_per_iteration", "iter_tokens_per_iteration") {
		if !slices.ContainsFunc(b.metrics, func(m guideMetric) bool { return m.key == key }) {
			keys = append(keys, key)
		}
	}
	for _, key := range keys {
		var groups object
		for _, status := range guideStatus {
			nothing := fromValues(nil, 0)
			groups.add(status.name, nothing.object())
		}
		metrics.add(key, groups)
	}
	for _, media := range guideMedia {
		var summaries object
		for _, name := range media.summaries {
			summaries.add(name, nil)
		}
		metrics.add(media.kind, summaries)
	}
}
