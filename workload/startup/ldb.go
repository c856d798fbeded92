package startup

import (
	"cmp"

	"gopkg.in/yaml.v3"
)

// LDBName is the file name of the report of LDB.
const LDBName = "benchmark_report,_result.yaml"

// emptyReport is llm-d-benchmark's report v0.1 of a run that sent no request, with its mandatory figures.
const emptyReport = `version: "0.1"
scenario:
  host: {accelerator: [{model: auto, count: 1}], type: [replica]}
  load: {name: nop}
metrics:
  requests:
    total: 0
    failures: 0
    input_length: {units: count, mean: 0}
    output_length: {units: count, mean: 0}
  latency: {time_to_first_token: {units: s, mean: 0}}
  throughput: {total_tokens_per_sec: {units: tokens/s, mean: 0}}
`

// unitOf are the units of the figures that are not seconds.
var unitOf = map[string]string{"size": "GiB", "transfer_rate": "GiB/s", "initial_free": "GiB", "after_free": "GiB",
	"gpu_freed": "GiB", "gpu_in_use": "GiB"}

// LDB returns the start as llm-d-benchmark's report v0.1. The figures of requests are 0; the start is in
// metrics.metadata, and each figure there has its unit.
func (r *Report) LDB() (map[string]any, error) {
	var report, result map[string]any
	text, err := yaml.Marshal(r.Result())
	if err == nil {
		err = yaml.Unmarshal(text, &result)
	}
	if err == nil {
		err = yaml.Unmarshal([]byte(emptyReport), &report)
	}
	if err != nil {
		return nil, err
	}
	scenario, metrics := report["scenario"].(map[string]any), report["metrics"].(map[string]any)
	about, engines := result["scenario"].(map[string]any), result["vllm_metrics"]
	scenario["model"] = map[string]any{"name": cmp.Or(r.Model, "unknown")}
	list := about["platform"].(map[string]any)["engines"].([]any)
	if engine := list[0].(map[string]any); engine["image"] != nil {
		engine["metadata"] = map[string]any{"image": engine["image"]}
		delete(engine, "image")
	}
	scenario["platform"] = map[string]any{"engine": list}
	delete(about, "model")
	delete(about, "platform")
	scenario["metadata"] = about
	period := map[string]any{"duration": r.Elapsed()}
	if r.Started != nil && r.Ready != nil {
		period["start"], period["stop"] = float64(r.Started.UnixNano())/1e9, float64(r.Ready.UnixNano())/1e9
	}
	metrics["time"] = period
	metrics["metadata"] = []any{map[string]any{"name": "vllm_metrics", "value": withUnits("", engines)}}
	return report, nil
}

// withUnits replaces every figure in a document by a pair of its unit and its value.
func withUnits(key string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			if v[k] == 0 && k != "elapsed" { // the log lacks it
				delete(v, k)
				continue
			}
			v[k] = withUnits(k, v[k])
		}
	case []any:
		for i := range v {
			v[i] = withUnits(key, v[i])
		}
	case int, float64:
		if key != "pid" {
			return map[string]any{"units": cmp.Or(unitOf[key], "s"), "value": v}
		}
	}
	return v
}
