package probe

import (
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// startProfile is a route that vLLM has only if a profiler is configured. It is looked up in the server's list of
// routes, because a request to the route could start the profiler.
const startProfile = "/start_profile"

// Profilers asks a server with vLLM's routes whether a profiler is configured. Its list of routes shows that, and
// /server_info in development mode. Servers without a version are not asked.
func (p *Prober) Profilers(ctx context.Context) error {
	if p.Found.Version == "" {
		return nil
	}
	var api struct {
		Paths map[string]json.RawMessage `json:"paths"`
	}
	instead, err := p.Ask(ctx, "/openapi.json", &api)
	if err != nil {
		return err
	}
	if _, has := api.Paths[startProfile]; instead == "" && has {
		p.profiler("it has the route " + startProfile)
	}
	var info json.RawMessage
	if instead, err = p.Ask(ctx, "/server_info", &info); err != nil || instead != "" {
		return err
	}
	p.Found.Info = info
	p.ProfilersIn(info)
	return nil
}

func (p *Prober) profiler(why string) {
	if !slices.Contains(p.Found.Profilers, why) {
		p.Found.Profilers = append(p.Found.Profilers, why)
	}
}

// profilerSettings are the settings of a server that switch a profiler on, if their value is a text, a number or true.
var profilerSettings = []string{
	"profiler", "torch_profiler_dir", "VLLM_TORCH_PROFILER_DIR", "SGLANG_TORCH_PROFILER_DIR",
	"enable_layerwise_nvtx_marker", "enable_layerwise_nvtx_tracing",
	"enable_profiling", "collect_detailed_traces",
}

// profilerText matches the profiler in the Python representation of a configuration.
var profilerText = regexp.MustCompile(`ProfilerConfig\(profiler='([a-z]+)'`)

// ProfilersIn notes the profilers in the settings that a server reports.
func (p *Prober) ProfilersIn(info json.RawMessage) {
	var v any
	if json.Unmarshal(info, &v) == nil {
		p.walk(v, 0)
	}
}

// deepest bounds the nesting that is searched.
const deepest = 16

func (p *Prober) walk(v any, depth int) {
	if depth > deepest {
		return
	}
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			p.walk(e, depth+1)
		}
	case map[string]any:
		for _, name := range profilerSettings {
			if isOn(v[name]) {
				p.profiler("its setting " + name)
			}
		}
		for _, e := range v {
			p.walk(e, depth+1)
		}
	case string:
		if m := profilerText.FindStringSubmatch(v); m != nil {
			p.profiler("its setting profiler")
		}
	}
}

func isOn(v any) bool {
	switch v := v.(type) {
	case bool:
		return v
	case string:
		return v != "" && !strings.EqualFold(v, "none") && v != "0" && !strings.EqualFold(v, "false")
	case float64:
		return v != 0
	case []any:
		return len(v) > 0
	}
	return false
}
