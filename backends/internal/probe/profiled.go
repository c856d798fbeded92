package probe

import (
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// startProfile is a route that vLLM has only where a profiler is configured. It is looked up in the server's own list
// of routes: asking the route itself could start the profiler.
const startProfile = "/start_profile"

// Profilers asks a server of vLLM's kind whether a profiler is configured: its list of routes tells, and in development
// mode /server_info. Servers that tell no version are not asked.
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
	p.ProfilersIn(info)
	return nil
}

func (p *Prober) profiler(why string) {
	if !slices.Contains(p.Found.Profilers, why) {
		p.Found.Profilers = append(p.Found.Profilers, why)
	}
}

// profilerSettings are names in a server's description of itself; a value that is no text, number or true switches
// nothing on.
var profilerSettings = []string{
	"profiler", "torch_profiler_dir", "VLLM_TORCH_PROFILER_DIR", "SGLANG_TORCH_PROFILER_DIR",
	"enable_layerwise_nvtx_marker", "enable_layerwise_nvtx_tracing",
	"enable_profiling", "collect_detailed_traces",
}

// profilerText finds the profiler in a configuration that is written as Python writes it.
var profilerText = regexp.MustCompile(`ProfilerConfig\(profiler='([a-z]+)'`)

// ProfilersIn notes the profilers that a server names in a description of itself.
func (p *Prober) ProfilersIn(info json.RawMessage) {
	var v any
	if json.Unmarshal(info, &v) == nil {
		p.walk(v, 0)
	}
}

// deepest bounds the nesting that is looked at.
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
