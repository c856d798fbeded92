package servers

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/internal/plural"
	"github.com/mlperf-go/mlperf-go/internal/secret"
)

// ErrGPUs is wrapped by the error of a plan that needs more GPUs than the machine has.
var ErrGPUs = errors.New("not enough GPUs")

// Options are the settings of a command; they take precedence over the file.
type Options struct {
	Args           []string // engine arguments; each replaces the file's argument of the same name
	Dir            string   // folder for logs and state; "": the file's output_dir
	Replicas       int      // 0: from the file
	Shared         bool     // let other users read logs and state
	GPUsPerReplica int      // negative: from the file
	GPUs           GPUs
	Environ        []string         // environment of this process, KEY=VALUE
	Secrets        *secret.Redactor // collects the servers' secrets; nil: the plan uses its own
}

// Plan describes the servers to start.
type Plan struct {
	Config   string   `json:"config"` // the file, or the model's folder
	Backend  string   `json:"backend"`
	Model    string   `json:"model"`
	Served   string   `json:"served_model"` // name that /v1/models must list; "": any
	Dir      string   `json:"dir"`
	Notes    []string `json:"notes"`
	Profiler string   `json:"profiler,omitempty"`
	// Profilers lists the profile block and every other profiler found in the configuration.
	Profilers []string  `json:"profilers,omitempty"`
	PreStart  []string  `json:"pre_start,omitempty"`
	Replicas  []Replica `json:"replicas"`

	HeartbeatInterval time.Duration `json:"-"`
	HeartbeatTimeout  time.Duration `json:"-"`
	StartupTimeout    time.Duration `json:"-"`
	StopTimeout       time.Duration `json:"-"`
	ReportInterval    time.Duration `json:"-"` // between two progress lines of a starting replica
	Debug             bool          `json:"-"`

	environ []string          // environment of every replica
	set     map[string]string // the part of it that the file sets
	apiKey  string
	secrets redactor
	access  atomicfile.Access
	torch   bool // start and stop the torch profiler
}

// Replica is one server of a plan.
type Replica struct {
	Index   int               `json:"index"`
	URL     string            `json:"url"`
	GPUs    []string          `json:"gpus"` // empty: all
	Command []string          `json:"command"`
	Env     map[string]string `json:"env"` // differences from the plan's environment
	Log     string            `json:"log"`

	address    string // host:port to bind
	profileDir string // "" without a profiler
}

// NewPlan assigns ports and GPUs to the replicas of a file and builds their command lines.
func NewPlan(c *Config, o Options) (*Plan, error) {
	if len(c.Hosts) > 1 {
		return nil, fmt.Errorf("server config %s lists %d hosts (%s), but servers are started only on this machine: keep "+
			"one host, or run the command on each", c.Name, len(c.Hosts), strings.Join(c.Hosts, ", "))
	}
	args, err := c.engineArgs(o.Args)
	if err != nil {
		return nil, err
	}
	// absolute, because engines may change their working folder
	dir, err := filepath.Abs(cmp.Or(o.Dir, c.OutputDir))
	if err != nil {
		return nil, fmt.Errorf("server config %s: output_dir: %w", c.Name, err)
	}
	p := &Plan{
		Config: c.Name, Backend: c.Backend, Model: c.Model, Dir: dir, Notes: []string{}, PreStart: c.PreStart, Debug: c.Debug,
		HeartbeatInterval: c.HeartbeatInterval, HeartbeatTimeout: c.HeartbeatTimeout, StartupTimeout: c.StartupTimeout,
		StopTimeout:    c.StopTimeout,
		ReportInterval: time.Minute,
	}
	if c.Profile.Enabled {
		p.Profiler, p.torch, p.StopTimeout = c.Profile.Tool, c.Profile.Tool == "pytorch", max(p.StopTimeout, profileStop)
	}
	p.Served = c.served(args)
	ports, err := c.ports(o.Replicas)
	if err != nil {
		return nil, err
	}
	gpus := o.GPUs.within(c)
	per, args, err := c.perReplica(o, gpus, len(ports), args)
	if err != nil {
		return nil, err
	}
	if gpus.Vendor == "" {
		p.Notes = append(p.Notes, gpus.Note+": the servers are started without one")
	} else if per == 0 {
		p.Notes = append(p.Notes, "GPUs: "+gpus.Note+
			"; every server sees all of them, because gpus_per_replica is 0 or not set")
	} else {
		p.Notes = append(p.Notes, fmt.Sprintf("GPUs: %s; %s, %s", gpus.Note,
			plural.Count(per, "GPU per replica", "GPUs per replica"), plural.Count(len(ports), "replica", "replicas")))
	}
	p.environ, p.set = c.environ(o.Environ, gpus, per), c.Environment
	e, _ := c.engine()
	p.apiKey, _ = lookup(p.environ, "VLLM_API_KEY")
	if key, given := valueOf(e, args, "api-key"); given {
		p.apiKey = key
	}
	for i, port := range ports {
		p.Replicas = append(p.Replicas, c.replica(p.Dir, i, port, args, gpus, gpus.IDs[:per*len(ports)][per*i:per*(i+1)]))
	}
	p.learn(o.Secrets)
	if o.Shared {
		p.access = atomicfile.Shared
	}
	p.findProfilers()
	return p, nil
}

// learn collects the secrets that the servers receive, so that logs and records hide them.
func (p *Plan) learn(r *secret.Redactor) {
	if r == nil {
		r = &secret.Redactor{}
	}
	p.secrets = redactor{r}
	r.Add(p.apiKey)
	r.AddEnviron(p.environ)
	p.secrets.learn(p.set, p.public()...)
	p.secrets.learnCommands(p.PreStart, p.public()...)
	for _, replica := range p.Replicas {
		r.AddArgs(replica.Command)
	}
}

// public returns texts that appear in records anyway and therefore are not secrets.
func (p *Plan) public() []string { return []string{p.Config, p.Backend, p.Model, p.Served, p.Dir} }

// Served returns the name under which the servers list their model.
func (c *Config) Served() string { return c.served(c.Args) }

func (c *Config) served(args []string) string {
	e, _ := c.engine()
	name, _ := valueOf(e, args, e.served)
	return cmp.Or(c.ServedModel, name, c.Model)
}

// ports returns one port per replica. replicas overrides the file's number unless it is 0.
func (c *Config) ports(replicas int) ([]int, error) {
	n := replicas
	if n == 0 {
		n = max(c.Replicas, len(c.Ports))
	}
	switch {
	case n < 1 || n > maxReplicas:
		return nil, fmt.Errorf("cannot start %d replicas: choose a number from 1 to %d", n, maxReplicas)
	case len(c.Ports) > 1 && len(c.Ports) < n:
		return nil, fmt.Errorf("server config %s has %d ports for %d replicas: list one port per replica, or set \"port\" "+
			"to the first one", c.Name, len(c.Ports), n)
	case len(c.Ports) == 1 && c.Ports[0]+n-1 > math.MaxUint16:
		return nil, fmt.Errorf("server config %s: %d replicas starting at port %d exceed port %d: choose a lower port",
			c.Name, n, c.Ports[0], math.MaxUint16)
	case n > 1 && len(c.LaunchCommand) > 0 && !c.holds("{port}") && engines[c.Backend].module == "":
		return nil, fmt.Errorf("server config %s: launch_command has no {port}, so all %d replicas would use the same "+
			"port: write {port} where the port belongs", c.Name, n)
	}
	if len(c.Ports) > 1 {
		return c.Ports[:n], nil
	}
	ports := make([]int, n)
	for i := range ports {
		ports[i] = c.Ports[0] + i
	}
	return ports, nil
}

// within restricts the GPUs to those that the file lists.
func (g GPUs) within(c *Config) GPUs {
	if len(c.GPUs) > 0 {
		g.IDs, g.Note = c.GPUs, "listed in "+c.Name
		if g.Vendor == "" {
			g.Vendor = "nvidia" // most engines read its variable
		}
		return g
	}
	for _, name := range visibleNames[g.Vendor] {
		if list, ok := c.Environment[name]; ok {
			g.IDs, g.Note = visible(list), fmt.Sprintf("%s=%s in %s", name, list, c.Name)
			return g
		}
	}
	return g
}

// perReplica returns the number of GPUs per replica, and args with the engine's argument for that number. If neither
// options nor file set the number, the engine's arguments decide; a command of an unknown engine sees all GPUs.
func (c *Config) perReplica(o Options, gpus GPUs, replicas int, args []string) (int, []string, error) {
	e, known := c.engine()
	per := o.GPUsPerReplica
	if per < 0 {
		per = c.GPUsPerReplica
	}
	isSet := per >= 0
	need, err := c.parallel(e, args)
	if err != nil {
		return 0, nil, err
	}
	switch {
	case !isSet && (!known || gpus.Vendor == ""):
		return 0, args, nil
	case !isSet:
		per = need
	case known && per > 0 && need > per:
		return 0, nil, fmt.Errorf("the engine's arguments need %s per replica, but gpus_per_replica is %d: change it "+
			"or --%s", plural.Count(need, "GPU", "GPUs"), per, e.tensor)
	case known && per > 1 && need == 1:
		args = append(slices.Clone(args), "--"+e.tensor, strconv.Itoa(per))
	}
	if per > len(gpus.IDs)/replicas {
		return 0, nil, fmt.Errorf("%w: %s %d (%d each); available: %d (%s)", ErrGPUs,
			plural.Count(replicas, "replica needs", "replicas need"), per*replicas, per, len(gpus.IDs), gpus.Note)
	}
	return per, args, nil
}

// parallel returns the number of GPUs per replica that the engine's arguments require.
func (c *Config) parallel(e engine, args []string) (int, error) {
	need := 1
	for _, name := range append([]string{e.tensor}, e.parallel...) {
		value, given := valueOf(e, args, name)
		if !given {
			continue
		}
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 || n > maxReplicas {
			return 0, fmt.Errorf("the engine's argument --%s is %q; it must be a number of GPUs from 1 to %d", name, value,
				maxReplicas)
		}
		need = min(need*n, maxReplicas*maxReplicas)
	}
	return need, nil
}

// environ returns the environment of every replica: inherited without MLPERF_GO_ variables, and without lists of GPUs
// if the plan assigns GPUs (per > 0).
func (c *Config) environ(inherited []string, gpus GPUs, per int) []string {
	kept := slices.DeleteFunc(slices.Clone(inherited), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return strings.HasPrefix(name, "MLPERF_GO_") || per > 0 && slices.Contains(visibleNames[gpus.Vendor], name)
	})
	e, _ := c.engine()
	if c.LoggingLevel != "" && e.logEnv != "" {
		kept = append(kept, e.logEnv+"="+strings.ToUpper(c.LoggingLevel))
	}
	if c.Venv != "" { // like its activate script, because engines call compilers by name
		path, _ := lookup(inherited, "PATH")
		bin := filepath.Join(c.Venv, "bin") + string(filepath.ListSeparator) + path
		// a trailing separator would add the working folder to the PATH
		kept = append(kept, "VIRTUAL_ENV="+c.Venv, "PATH="+strings.TrimSuffix(bin, string(filepath.ListSeparator)))
	}
	return append(kept, pairs(c.Environment, func(name string) bool {
		return per == 0 || !slices.Contains(visibleNames[gpus.Vendor], name)
	})...)
}

func pairs(m map[string]string, keep func(name string) bool) []string {
	var list []string
	for name, value := range m {
		if keep(name) {
			list = append(list, name+"="+value)
		}
	}
	slices.Sort(list)
	return list
}

func (c *Config) replica(dir string, i, port int, args []string, gpus GPUs, ids []string) Replica {
	e, _ := c.engine()
	r := Replica{
		Index: i, GPUs: ids, Command: c.command(c.Hosts[0], port, args), Env: map[string]string{},
		Log:     filepath.Join(dir, fmt.Sprintf("replica-%d.log", i)),
		address: net.JoinHostPort(strings.Trim(c.Hosts[0], "[]"), strconv.Itoa(port)),
	}
	r.URL = "http://" + net.JoinHostPort(reachable(c.Hosts[0]), strconv.Itoa(port))
	if len(ids) > 0 {
		r.Env = gpus.devices(ids)
	}
	for _, name := range e.caches {
		if _, set := c.Environment[name]; !set {
			r.Env[name] = filepath.Join(dir, "cache", fmt.Sprintf("replica-%d", i), strings.ToLower(name))
		}
	}
	c.Profile.apply(&r, dir)
	return r
}

// reachable returns the host at which a server that binds to host can be reached from this machine.
func reachable(host string) string {
	host = strings.Trim(host, "[]")
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		if ip.To4() == nil {
			return "::1"
		}
		return "127.0.0.1"
	}
	return host
}

// Shown returns a copy of the plan without secrets, for display and files.
func (p *Plan) Shown() *Plan {
	shown := *p
	shown.PreStart = p.secrets.commands(p.PreStart)
	shown.Replicas = slices.Clone(p.Replicas)
	for i := range shown.Replicas {
		shown.Replicas[i].Command = p.secrets.commandLine(p.Replicas[i].Command)
		shown.Replicas[i].Env = p.secrets.variables(p.Replicas[i].Env)
	}
	return &shown
}

// APIKey returns the bearer token that the servers require, or "".
func (p *Plan) APIKey() string { return p.apiKey }

// Environ returns the environment of every replica as KEY=VALUE, with its secrets.
func (p *Plan) Environ() []string { return slices.Clone(p.environ) }

// URLs returns the base URLs of the replicas, in order.
func (p *Plan) URLs() []string {
	var urls []string
	for _, r := range p.Replicas {
		urls = append(urls, r.URL)
	}
	return urls
}
