package servers

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// A profiler in a server's configuration slows the server down, or stops it now and then, so that no result of it may
// be published (docs/reference/engines.md#profilers). It can be there without a profile block: as a variable, an
// argument of the engine, or a program around it.

// profilerVariables switch a profiler on, or name where it writes.
var profilerVariables = []string{
	"VLLM_TORCH_PROFILER_DIR", "VLLM_ENABLE_PROFILER", "VLLM_TORCH_CUDA_PROFILE", "SGLANG_TORCH_PROFILER_DIR",
	"SGLANG_PROFILE_V2", "HABANA_PROFILE",
	"NSYS_PROFILING_SESSION_ID", "CUDA_INJECTION64_PATH", "ROCPROFILER_REGISTER_FORCE_LOAD", "ROCP_TOOL_LIB",
}

// profilerPrograms run another program and watch it.
var profilerPrograms = []string{
	"nsys", "ncu", "nvprof", "rocprof", "rocprofv2", "rocprofv3", "rocprof-compute", "rocprof-sys-run", "omniperf",
	"omnitrace-run", "vtune", "py-spy", "scalene",
	"viztracer", "msprof",
}

// profilerArguments are the engines' own.
var profilerArguments = []string{"profiler-config", "profile", "enable-profiling", "enable-layerwise-nvtx-marker",
	"enable-layerwise-nvtx-tracing", "collect-detailed-traces"}

// profilersInEnviron are the variables of an environment that ask for a profiler.
func profilersInEnviron(environ map[string]string) []string {
	var found []string
	for _, name := range slices.Sorted(maps.Keys(environ)) {
		if value := environ[name]; slices.Contains(profilerVariables, name) && value != "" && value != "0" {
			found = append(found, "the variable "+name)
		}
	}
	return found
}

// profilersInCommand are the words of a command line that ask for a profiler: programs in front of the engine, and its
// arguments.
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

// noProfiler are values of such an argument that switch nothing on.
var noProfiler = []string{"{}", "null", "None", "none", "false", "False", "0", `{"profiler":null}`}

// profilersInShell are the words of shell commands that ask for a profiler.
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

// findProfilers notes what profilers a plan has, in its profile block or elsewhere.
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
		p.Notes = append(p.Notes, fmt.Sprintf("the servers are profiled (%s): no result of them is to be published",
			strings.Join(p.Profilers, ", ")))
	}
}

// unique drops what came before.
func unique(words []string) []string {
	var list []string
	for _, w := range words {
		if !slices.Contains(list, w) {
			list = append(list, w)
		}
	}
	return list
}

// profilers are the plan's and what pre_start has exported since.
func (s *State) profilers() []string {
	found := slices.Clone(s.Plan.Profilers)
	for _, r := range s.Replicas {
		found = append(found, profilersInEnviron(r.Exported)...)
	}
	return unique(found)
}
