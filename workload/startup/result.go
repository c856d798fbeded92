package startup

// Elapsed returns the seconds from the start to ready; 0: the log lacks one of them.
func (r *Report) Elapsed() float64 {
	if r.Started == nil || r.Ready == nil {
		return 0
	}
	return r.Ready.Sub(*r.Started).Seconds()
}

// Result returns the document of llm-d-benchmark's result.yaml (docs/reference/nop.md).
func (r *Report) Result() map[string]any {
	engine := map[string]any{
		"name": r.Server, "load": r.Engine.Load, "size": r.Engine.Load.Size,
		"dynamo_bytecode_transform": r.Engine.Dynamo, "torch_compile": r.Engine.Compile,
		"memory_profiling": r.Engine.Memory, "sleep_wake": r.Sleeps,
	}
	for key, v := range map[string]float64{"load_cached_compiled_graph": r.Engine.CachedGraph,
		"compile_graph": r.Engine.CompileGraph} {
		if v > 0 {
			engine[key] = v
		}
	}
	var categories []map[string]any
	for _, p := range r.Processes {
		for _, c := range p.Categories {
			categories = append(categories, map[string]any{"title": c.Title, "elapsed": c.Elapsed,
				"categories": c.Categories, "process": map[string]any{"name": p.Name, "pid": p.PID}})
		}
	}
	engine["categories"] = categories
	times := map[string]any{"duration": r.Elapsed()}
	if r.Started != nil {
		engine["vllm_start_timestamp"], times["start"] = *r.Started, *r.Started
	}
	if r.Ready != nil {
		engine["vllm_ready_timestamp"], times["stop"] = *r.Ready, *r.Ready
	}
	platform := map[string]any{"name": r.Server, "version": r.Version, "args": r.Args}
	scenario := map[string]any{
		"load_format": r.LoadFormat, "sleep_mode": r.SleepMode, "model": map[string]any{"name": r.Model}, "gpus": r.GPUs,
		"platform": map[string]any{"engines": []any{platform}},
	}
	if p := r.Pod; p != nil {
		engine["pod_start"], scenario["deploy_methods"], platform["image"] = p.Start, "standalone", p.Image
		engine["name"] = p.Name + " " + p.Container
		platform["name"] = engine["name"]
	}
	return map[string]any{"version": "0.1", "scenario": scenario, "vllm_metrics": []any{engine}, "time": times}
}
