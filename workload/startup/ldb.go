package startup

// LDBName is the file name of the report of LDB.
const LDBName = "benchmark_report,_result.yaml"

// Units of the report's figures.
const (
	seconds, gibibytes, gibibytesPerS = "s", "GiB", "GiB/s"
)

// LDB returns the start as llm-d-benchmark's report v0.1. No request was sent, so the mandatory figures of requests,
// latencies and rates are 0; the start is in metrics.metadata, and each figure there has its unit.
func (r *Report) LDB() map[string]any {
	result := r.Result()
	scenario, times := result["scenario"].(map[string]any), result["time"].(map[string]any)
	zero := func(units string) map[string]any { return map[string]any{"units": units, "mean": 0} }
	engine := map[string]any{"name": result["vllm_metrics"].([]any)[0].(map[string]any)["name"]}
	for key, text := range map[string]string{"version": r.Version, "args": r.Args} {
		if text != "" {
			engine[key] = text
		}
	}
	about := map[string]any{"load_format": r.LoadFormat, "sleep_mode": r.SleepMode, "gpus": r.GPUs}
	if method, known := scenario["deploy_methods"]; known {
		about["deploy_methods"] = method
	}
	period := map[string]any{"duration": times["duration"]}
	if r.Started != nil && r.Ready != nil {
		period["start"], period["stop"] = float64(r.Started.UnixNano())/1e9, float64(r.Ready.UnixNano())/1e9
	}
	return map[string]any{
		"version": "0.1",
		"scenario": map[string]any{
			"host": map[string]any{"accelerator": []any{map[string]any{"model": "auto", "count": 1}},
				"type": []string{"replica"}},
			"platform": map[string]any{"engine": []any{engine}}, "model": map[string]any{"name": r.modelName()},
			"load": map[string]any{"name": "nop"}, "metadata": about},
		"metrics": map[string]any{
			"time": period,
			"requests": map[string]any{"total": 0, "failures": 0, "input_length": zero("count"),
				"output_length": zero("count")},
			"latency":    map[string]any{"time_to_first_token": zero(seconds)},
			"throughput": map[string]any{"total_tokens_per_sec": zero("tokens/s")},
			"metadata":   []any{map[string]any{"name": "vllm_metrics", "value": []any{r.withUnits()}}}}}
}

func (r *Report) modelName() string {
	if r.Model == "" {
		return "unknown"
	}
	return r.Model
}

// withUnits returns the figures of the engine as pairs of a unit and a value. Figures that the log lacks are left out.
func (r *Report) withUnits() map[string]any {
	e := &r.Engine
	out := map[string]any{"name": r.Server}
	start := 0.0
	if r.Pod != nil {
		out["name"], start = r.Pod.Name+" "+r.Pod.Container, r.Pod.Start
	}
	for _, f := range []struct {
		group, key, units string // group is empty for out itself
		value             float64
	}{
		{"", "pod_start", seconds, start}, {"", "vllm_start", seconds, r.Elapsed()}, {"", "size", gibibytes, e.Load.Size},
		{"load", "time", seconds, e.Load.Time}, {"load", "size", gibibytes, e.Load.Size},
		{"load", "transfer_rate", gibibytesPerS, e.Load.Rate}, {"", "dynamo_bytecode_transform", seconds, e.Dynamo},
		{"", "load_cached_compiled_graph", seconds, e.CachedGraph}, {"", "compile_graph", seconds, e.CompileGraph},
		{"", "torch_compile", seconds, e.Compile}, {"memory_profiling", "initial_free", gibibytes, e.Memory.InitialFree},
		{"memory_profiling", "after_free", gibibytes, e.Memory.AfterFree},
		{"memory_profiling", "time", seconds, e.Memory.Time},
	} {
		if f.value == 0 {
			continue
		}
		to := out
		if f.group != "" {
			if out[f.group] == nil {
				out[f.group] = map[string]any{}
			}
			to = out[f.group].(map[string]any)
		}
		to[f.key] = quantityOf(f.units, f.value)
	}
	var sleeps, categories []any
	for _, s := range r.Sleeps {
		sleeps = append(sleeps, map[string]any{"type": s.Type, "time": quantityOf(seconds, s.Time),
			"gpu_freed": quantityOf(gibibytes, s.Freed), "gpu_in_use": quantityOf(gibibytes, s.InUse)})
	}
	for _, p := range r.Processes {
		for _, c := range withUnits(p.Categories) {
			c["process"] = map[string]any{"name": p.Name, "pid": p.PID}
			categories = append(categories, c)
		}
	}
	out["sleep_wake"], out["categories"] = sleeps, categories
	return out
}

func withUnits(list []Category) (out []map[string]any) {
	for _, c := range list {
		one := map[string]any{"title": c.Title, "elapsed": quantityOf(seconds, c.Elapsed)}
		if len(c.Categories) > 0 {
			one["categories"] = withUnits(c.Categories)
		}
		out = append(out, one)
	}
	return out
}

func quantityOf(units string, v float64) map[string]any {
	return map[string]any{"units": units, "value": v}
}
