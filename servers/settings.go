package servers

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf-go/internal/config"
	"github.com/mlperf-go/mlperf-go/internal/secret"
	"github.com/mlperf-go/mlperf-go/metrics/hostinfo"
)

// SettingNames are the settings that select servers to start. The first two also find servers that run already.
var SettingNames = []string{"server-config", "server-dir", "model-path", "backend", "replicas", "gpus-per-replica",
	"python", "shared-output"}

// apiEndpoints are the names that server files use for the values of the setting api.
var apiEndpoints = map[string]string{"completions": "completions", "chat": "chat_completions", "generate": "generate"}

// ConfigFrom reads the file of the setting server-config, or makes the equivalent of one for the folder in model-path.
// It returns nil where neither is set.
func ConfigFrom(e *config.Effective) (*Config, error) {
	path, folder := e.String("server-config"), e.String("model-path")
	if path == "" && folder == "" {
		return nil, nil
	}
	c, err := Defaults(folder), error(nil)
	if path != "" {
		c, err = Load(path)
	}
	if err == nil && folder != "" {
		err = c.SetModel(folder)
	}
	if err == nil && path == "" && e.IsSet("backend") {
		err = c.SetBackend(e.String("backend"))
	}
	if err == nil && e.IsSet("host") { // of the older harness
		c.Hosts = e.Strings("host")
	}
	if err == nil && e.Has("python") {
		err = c.SetPython(e.String("python"))
	}
	return c, err
}

// PlanFrom places the servers of c on this machine. engineArgs are further arguments of the engine.
func PlanFrom(e *config.Effective, c *Config, engineArgs, environ []string, secrets *secret.Redactor) (*Plan, error) {
	perReplica := -1
	if e.Has("gpus-per-replica") {
		perReplica = e.Int("gpus-per-replica")
	}
	return NewPlan(c, Options{
		Args: engineArgs, Dir: e.String("server-dir"), Replicas: e.Int("replicas"), Shared: e.Bool("shared-output"),
		GPUsPerReplica: perReplica, GPUs: FindGPUs(hostinfo.Collect(), environ), Environ: environ, Secrets: secrets,
	})
}

// Configure sets what the client must know about the servers of c, where the user has not. With a plan these are the
// servers about to start: the client then also gets their addresses and sends warm-up requests, because a server that
// was just started is cold. The origin of the settings is returned.
func (c *Config) Configure(e *config.Effective, p *Plan) (config.Origin, error) {
	origin := config.Origin{Layer: config.FromFile, Where: c.Name}
	values := map[string]string{"backend": c.Backend, "api": c.EndpointType, "served-model": c.Served()}
	if c.MaxPoolSize > 0 {
		values["concurrency"] = strconv.Itoa(c.MaxPoolSize)
	}
	if p != nil {
		maps.Copy(values, map[string]string{"served-model": p.Served, "api-key": p.APIKey(),
			"endpoint": strings.Join(p.URLs(), ","), "server-dir": p.Dir, "warmup": "true"})
	}
	if e.IsSet("api") {
		if err := c.CheckEndpoint(apiEndpoints[e.String("api")]); err != nil {
			return origin, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if values[name] == "" || e.IsSet(name) {
			continue
		}
		if err := e.Set(name, values[name], origin); err != nil {
			return origin, err
		}
	}
	return origin, nil
}

// Arguments returns the command-line arguments of `server up` that start the same servers. Settings that come from
// origin are in the servers' file already.
func Arguments(e *config.Effective, origin config.Origin, engineArgs []string) []string {
	var args []string
	for _, name := range SettingNames {
		if o := e.Origin(name); name == "server-dir" ||
			e.IsSet(name) && o.Layer > config.FromRegistry && o != origin {
			args = append(args, "--"+name, e.Text(name))
		}
	}
	if len(engineArgs) > 0 {
		args = append(append(args, "--"), engineArgs...)
	}
	return args
}

// Quote writes a command line as a shell reads it.
func Quote(line ...string) string {
	words := slices.Clone(line)
	for i, w := range words {
		if w == "" || strings.ContainsAny(w, " \t\n'\"\\$`&|;<>(){}[]*?#~!") {
			words[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}
