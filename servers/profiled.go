package servers

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// A profiler slows a server down or pauses it, so results of a profiled server must not be published
// (docs/reference/engines.md#profilers). Besides the profile block, a variable, an argument of the engine or a wrapping
// program can enable one.

// profilerVariables enable a profiler or set its output folder.
var profilerVariables = []string{
	"VLLM_TORCH_PROFILER_DIR", "VLLM_ENABLE_PROFILER", "VLLM_TORCH_CUDA_PROFILE", "SGLANG_TORCH_PROFILER_DIR",
	"SGLANG_PROFILE_V2", "HABANA_PROFILE",
	"NSYS_PROFILING_SESSION_ID", "CUDA_INJECTION64_PATH", "ROCPROFILER_REGISTER_FORCE_LOAD", "ROCP_TOOL_LIB",
}

// profilerPrograms run another program under a profiler.
var profilerPrograms = []string{
	"nsys", "ncu", "nvprof", "rocprof", "rocprofv2", "rocprofv3", "rocprof-compute", "rocprof-sys-run", "omniperf",
	"omnitrace-run", "vtune", "py-spy", "scalene",
	"viztracer", "msprof",
}

// profilerArguments are arguments of engines that enable a profiler.
var profilerArguments = []string{"profiler-config", "profile", "enable-profiling", "enable-layerwise-nvtx-marker",
	"enable-layerwise-nvtx-tracing", "collect-detailed-traces"}

// profilersInEnviron returns the variables of an environment that enable a profiler.
func profilersInEnviron(environ map[string]string) []string {
	var found []string
	for _, name := range slices.Sorted(maps.Keys(environ)) {
		if value := environ[name]; slices.Contains(profilerVariables, name) && value != "" && value != "0" {
			found = append(found, "the variable "+name)
		}
	}
	return found
}

// profilersInCommand returns the words of a command line that enable a profiler: wrapping programs and arguments of the
// engine.
func profilersInCommand(line []string) []string {
	var found []string
	for i, w := range line {
		name, value, inline := strings.Cut(strings.TrimLeft(w, "-"), "=")
		name = strings.ReplaceAll(name, "_", "-")
		head, _, _ := strings.Cut(name, ".") // --profiler-config.profiler torch
		switch {
		case !isFlag(w):
			if slices.Contains(profilerPrograms, filepath.Base(w)) {
				found = append(found, "the program "+filepath.Base(w))
			}
		case slices.Contains(profilerArguments, head):
			if !inline && i+1 < len(line) && !isFlag(line[i+1]) {
				value = line[i+1]
			}
			if !slices.Contains(noProfiler, strings.ReplaceAll(value, " ", "")) {
				found = append(found, "the argument --"+name)
			}
		}
	}
	return found
}

// noProfiler lists values of such an argument that enable nothing.
var noProfiler = []string{"{}", "null", "None", "none", "false", "False", "0", `{"profiler":null}`}

// profilersInShell returns the words of shell commands that enable a profiler.
func profilersInShell(lines []string) []string {
	var found []string
	for _, line := range lines {
		line, _, _ = strings.Cut(line, " #")
		words := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" \t\n;&|()'\"`$", r) })
		environ := map[string]string{}
		for _, w := range words {
			if name, value, ok := strings.Cut(w, "="); ok {
				environ[name] = value
			}
		}
		found = append(found, profilersInEnviron(environ)...)
		found = append(found, profilersInCommand(words)...)
	}
	return found
}

// findProfilers records the profilers of a plan, in its profile block or elsewhere.
func (p *Plan) findProfilers() {
	var found []string
	if p.Profiler != "" {
		found = append(found, "the profile block: "+p.Profiler)
	}
	found = append(found, profilersInShell(p.PreStart)...)
	environ := map[string]string{}
	for _, pair := range p.environ {
		name, value, _ := strings.Cut(pair, "=")
		environ[name] = value
	}
	found = append(found, profilersInEnviron(environ)...)
	for _, r := range p.Replicas {
		found = append(found, profilersInEnviron(r.Env)...)
		found = append(found, profilersInCommand(r.Command)...)
	}
	p.Profilers = unique(found)
	if len(p.Profilers) > 0 {
		p.Notes = append(p.Notes, fmt.Sprintf("the servers are profiled (%s): do not publish their results",
			strings.Join(p.Profilers, ", ")))
	}
}

// unique removes repeated words and keeps the order.
func unique(words []string) []string {
	var list []string
	for _, w := range words {
		if !slices.Contains(list, w) {
			list = append(list, w)
		}
	}
	return list
}

// profilers returns the profilers of the plan and those that the variables exported by pre_start enable.
func (s *State) profilers() []string {
	found := slices.Clone(s.Plan.Profilers)
	for _, r := range s.Replicas {
		found = append(found, profilersInEnviron(r.Exported)...)
	}
	return unique(found)
}
