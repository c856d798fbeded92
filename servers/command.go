package servers

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// engine holds the argument names of one engine, without dashes (docs/reference/engines.md#arguments).
type engine struct {
	module     string // Python module
	model      string
	served     string
	tensor     string // a replica uses as many GPUs as the product of tensor and parallel
	parallel   []string
	loadFormat string
	logLevel   string            // argument of the log level, or
	logEnv     string            // variable of the log level
	short      map[string]string // other spelling → name
	caches     []string          // variables of folders for compiled code
}

// compilerCaches are the cache variables of the compilers that every engine uses.
var compilerCaches = []string{"TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR"}

var engines = map[string]engine{
	"vllm": {
		module: "vllm.entrypoints.openai.api_server", model: "model", served: "served-model-name", loadFormat: "load-format",
		logEnv: "VLLM_LOGGING_LEVEL",
		tensor: "tensor-parallel-size", parallel: []string{"pipeline-parallel-size", "data-parallel-size"},
		short: map[string]string{"tp": "tensor-parallel-size", "pp": "pipeline-parallel-size", "dp": "data-parallel-size",
			"ep": "enable-expert-parallel", "q": "quantization"},
		caches: append([]string{"VLLM_CACHE_ROOT"}, compilerCaches...),
	},
	"sglang": {
		module: "sglang.launch_server", model: "model-path", served: "served-model-name", loadFormat: "load-format",
		logLevel: "log-level",
		tensor:   "tp-size", parallel: []string{"pp-size", "dp-size"},
		short: map[string]string{
			"model": "model-path", "tp": "tp-size", "tensor-parallel-size": "tp-size", "pp": "pp-size",
			"pipeline-parallel-size": "pp-size",
			"dp":                     "dp-size", "data-parallel-size": "dp-size", "ep": "ep-size",
			"expert-parallel-size": "ep-size",
		},
		caches: append([]string{"FLASHINFER_WORKSPACE_BASE"}, compilerCaches...),
	},
}

// engine returns the engine of the backend, or one with only the compilers' caches and false if it is unknown.
func (c *Config) engine() (engine, bool) {
	e, ok := engines[c.Backend]
	if !ok {
		e.caches = compilerCaches
	}
	return e, ok
}

// engineArgs returns the file's arguments, overridden by extra, without those that the plan sets itself.
func (c *Config) engineArgs(extra []string) ([]string, error) {
	e, _ := c.engine()
	args := merge(e, c.Args, extra)
	if _, given := valueOf(e, args, e.loadFormat); c.LoadFormat != "" && e.loadFormat != "" && !given {
		args = append(args, "--"+e.loadFormat, c.LoadFormat)
	}
	if _, given := valueOf(e, args, e.logLevel); c.LoggingLevel != "" && e.logLevel != "" && !given {
		args = append(args, "--"+e.logLevel, strings.ToLower(c.LoggingLevel))
	}
	for _, set := range []struct{ name, key, value string }{{"host", "host", c.Hosts[0]},
		{"port", "port", strconv.Itoa(c.Ports[0])}, {e.model, "model", c.Model}} {
		got, given := valueOf(e, args, set.name)
		if given && got != set.value {
			return nil, fmt.Errorf("server config %s: the engine's arguments have --%s %s, but the file has %s %s: set only "+
				"\"%s\", from which the argument of each replica is made", c.Name, set.name, got, set.key, set.value, set.key)
		}
		args = without(e, args, set.name)
	}
	return args, nil
}

// command returns the command line of one replica.
func (c *Config) command(host string, port int, args []string) []string {
	e, known := c.engine()
	address := []string{"--host", host, "--port", strconv.Itoa(port)}
	switch {
	case len(c.LaunchCommand) > 0:
		return c.launch(e, known, host, address, args)
	case c.Backend == "vllm" && isVLLM(c.Binary):
		return slices.Concat([]string{c.Binary, "serve", c.Model}, address, args)
	}
	return slices.Concat([]string{c.Binary, "-m", e.module, "--" + e.model, c.Model}, address, args)
}

func isVLLM(program string) bool { return filepath.Base(program) == "vllm" }

// launch returns launch_command with {model}, {host} and {port} filled in. If a command of vLLM or SGLang lacks one of
// them, launch appends the engine's argument.
func (c *Config) launch(e engine, known bool, host string, address, args []string) []string {
	fill := strings.NewReplacer("{model}", c.Model, "{host}", host, "{port}", address[3])
	line := make([]string, len(c.LaunchCommand))
	for i, w := range c.LaunchCommand {
		line[i] = fill.Replace(w)
	}
	if !known {
		return append(line, args...)
	}
	named := []string{}
	switch {
	case c.holds("{model}") || slices.Contains(line[1:], c.Model) && serves(line):
	case serves(line) && line[len(line)-1] == "serve":
		line = append(line, c.Model)
	default:
		named = append(named, "--"+e.model, c.Model)
	}
	if !c.holds("{host}") {
		named = append(named, address[:2]...)
	}
	if !c.holds("{port}") {
		named = append(named, address[2:]...)
	}
	return append(line[:1], merge(e, line[1:], append(named, args...))...)
}

// serves reports whether a command is `vllm serve`, which accepts the model as a positional argument.
func serves(line []string) bool {
	i := slices.IndexFunc(line, isVLLM)
	return i >= 0 && i+1 < len(line) && line[i+1] == "serve"
}

func (c *Config) holds(placeholder string) bool {
	return slices.ContainsFunc(c.LaunchCommand, func(w string) bool { return strings.Contains(w, placeholder) })
}
