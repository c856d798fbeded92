package servers

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Defaults of the file.
const (
	defaultBackend           = "vllm"
	defaultHost              = "127.0.0.1"
	defaultPort              = 8000
	defaultDir               = "server_logs"
	defaultBinary            = "python3"
	defaultHeartbeatInterval = 5 * time.Second
	defaultHeartbeatTimeout  = 30 * time.Second
	// Loading, compilation and graph capture take up to 20 minutes; docs/reference/engines.md#start-up.
	defaultStartupTimeout = time.Hour
	defaultStopTimeout    = 30 * time.Second
)

// Config is the YAML file of a server. The client that measures the server uses the endpoint type and the pool size.
type Config struct {
	Name              string // file name, for errors
	Backend           string // vllm, sglang, or another with a launch command
	Model             string // name or folder
	ServedModel       string // name that /v1/models lists, if it is not Model
	Hosts             []string
	Ports             []int // one per replica, or the first one
	OutputDir         string
	HeartbeatInterval time.Duration // between two probes of a ready server
	HeartbeatTimeout  time.Duration // without an answer until a server counts as unhealthy
	StartupTimeout    time.Duration // from the start of the process until the model is listed
	StopTimeout       time.Duration // for the leader to exit after SIGTERM
	Environment       map[string]string
	LaunchCommand     []string // replaces the backend's command; {model}, {host} and {port} are filled in
	Binary            string   // Python interpreter or vllm program
	Venv              string   // virtual environment of the interpreter; "": none given
	Args              []string // arguments of the engine
	PreStart          []string // shell commands to run before the server, in its environment
	LoadFormat        string
	LoggingLevel      string
	Replicas          int      // 0: not set
	GPUsPerReplica    int      // unset: not set
	GPUs              []string // empty: all GPUs of the machine
	Debug             bool     // record the processes of each replica when it is ready
	EndpointType      string   // completions, chat_completions or generate; "": chosen by the backend
	Endpoints         []string // endpoint types that the server offers; empty: not set
	Title, Text       string   // name and description, for display
	MaxPoolSize       int      // connections of the client; 0: not set
	Profile           Profile

	defaultEndpoint string
}

const unset = -1

// Load reads the YAML file of a server, of at most 1 MiB. Unknown and repeated keys, aliases, and values of the wrong
// form are errors with their line.
func Load(path string) (*Config, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the server config: %w; pass a YAML file as shown in docs/how-to/servers.md", err)
	}
	defer f.Close()
	return Parse(path, f)
}

// Defaults returns the configuration of an empty file, without a model. name appears in errors and records.
func Defaults(name string) *Config {
	return &Config{
		Name: name, Backend: defaultBackend, Hosts: []string{defaultHost}, Ports: []int{defaultPort}, OutputDir: defaultDir,
		Binary:            defaultBinary,
		HeartbeatInterval: defaultHeartbeatInterval, HeartbeatTimeout: defaultHeartbeatTimeout,
		StartupTimeout: defaultStartupTimeout, StopTimeout: defaultStopTimeout, GPUsPerReplica: unset,
	}
}

// Parse is Load for a reader. name appears in errors and records.
func Parse(name string, r io.Reader) (*Config, error) {
	c := Defaults(name)
	p := parser{config: c}
	if err := p.file(r); err != nil {
		return nil, err
	}
	return c, c.check(&p)
}

// check validates combinations of keys.
func (c *Config) check(p *parser) error {
	_, known := engines[c.Backend]
	switch {
	case c.Model == "" && (known || len(c.LaunchCommand) == 0):
		return fmt.Errorf("server config %s has no model: write \"model: NAME\" with a name of the hub or a folder", c.Name)
	case !known && len(c.LaunchCommand) == 0:
		return fmt.Errorf("server config %s: backend %s needs a launch_command; only vllm and sglang have a default one",
			c.Name, c.Backend)
	case p.seen["port"] > 0 && p.seen["ports"] > 0:
		return fmt.Errorf("server config %s line %d: both ports and port (line %d) are set: keep one", c.Name,
			p.seen["ports"], p.seen["port"])
	case c.Replicas > 0 && p.seen["ports"] > 0 && len(c.Ports) != c.Replicas:
		return fmt.Errorf("server config %s line %d: %d ports for %d replicas: list one port per replica, or set \"port\" "+
			"to the first one", c.Name, p.seen["ports"], len(c.Ports), c.Replicas)
	}
	for _, e := range c.Endpoints {
		if !slices.Contains(endpointTypes, e) {
			return fmt.Errorf("server config %s line %d: endpoints has %q, which is not one of %s", c.Name,
				p.seen["endpoints"], e, strings.Join(endpointTypes, ", "))
		}
	}
	c.EndpointType = cmp.Or(c.EndpointType, c.defaultEndpoint)
	if err := c.CheckEndpoint(c.EndpointType); c.EndpointType != "" && err != nil {
		return err
	}
	return nil
}

// CheckEndpoint returns an error if the file lists endpoint types and name is not one of them.
func (c *Config) CheckEndpoint(name string) error {
	if len(c.Endpoints) == 0 || slices.Contains(c.Endpoints, name) {
		return nil
	}
	return fmt.Errorf("server config %s: endpoint %s is not one of its endpoints (%s); choose one of them, or correct "+
		"the list", c.Name, name, strings.Join(c.Endpoints, ", "))
}

// SetModel makes the servers load the model from a folder.
func (c *Config) SetModel(folder string) error {
	s, err := os.Stat(folder)
	if err == nil && !s.IsDir() {
		err = fmt.Errorf("%s is not a folder", folder)
	}
	if err != nil {
		return fmt.Errorf("cannot use the model's folder: %w; pass the folder with config.json and the weights", err)
	}
	c.Model = folder
	return nil
}

// SetBackend selects the engine of servers that have no file.
func (c *Config) SetBackend(name string) error {
	if _, known := engines[name]; !known {
		return fmt.Errorf("backend %s needs a server config with a launch_command; only %s start without one", name,
			strings.Join(slices.Sorted(maps.Keys(engines)), " and "))
	}
	c.Backend = name
	return nil
}

// SetPython makes the servers run in the virtual environment of a folder, or with an interpreter.
func (c *Config) SetPython(path string) error {
	if len(c.LaunchCommand) > 0 {
		return fmt.Errorf("server config %s: launch_command has its own program, which the Python %s cannot replace: "+
			"remove one of them", c.Name, path)
	}
	s, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("cannot use the servers' Python: %w; pass an interpreter or the folder of a virtual environment "+
			"(made by `python3 -m venv`)", err)
	}
	if !s.IsDir() {
		c.Binary = path
		return nil
	}
	if c.Venv, err = filepath.Abs(path); err != nil {
		return fmt.Errorf("cannot use the servers' Python: %w", err)
	}
	c.Binary = filepath.Join(c.Venv, "bin", "python")
	if _, err := os.Stat(c.Binary); errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("the folder %s is not a virtual environment, because it has no bin/python: create one with "+
			"`python3 -m venv`", path)
	}
	return nil
}
