package servers

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

// Values that count where the file has none.
const (
	defaultBackend           = "vllm"
	defaultHost              = "127.0.0.1"
	defaultPort              = 8000
	defaultDir               = "server_logs"
	defaultBinary            = "python3"
	defaultHeartbeatInterval = 5 * time.Second
	defaultHeartbeatTimeout  = 30 * time.Second
	// loading, compiling and graph capture take up to 20 minutes; docs/reference/engines.md#start-up
	defaultStartupTimeout = time.Hour
	defaultStopTimeout    = 30 * time.Second
)

// Config is a server's YAML file. Fields that no server process needs (endpoint type, pool size) are for the client
// that follows.
type Config struct {
	Name              string // of the file, for errors
	Backend           string // vllm, sglang, or another one that has a launch command
	Model             string // name or folder
	ServedModel       string // what /v1/models lists, where it is not the model
	Hosts             []string
	Ports             []int // one per replica, or the first of them
	OutputDir         string
	HeartbeatInterval time.Duration // between two probes of a server that is ready
	HeartbeatTimeout  time.Duration // without an answer, after which a server counts as unhealthy
	StartupTimeout    time.Duration // from the start of the process to the model being listed
	StopTimeout       time.Duration // for the leader to end after SIGTERM
	Environment       map[string]string
	LaunchCommand     []string // replaces the command of the backend; {model}, {host} and {port} are filled in
	Binary            string   // the Python interpreter, or the vllm program
	Venv              string   // the virtual environment of the interpreter; "": none that was named
	Args              []string // of the engine, as words
	PreStart          []string // shell commands before the server, in its environment
	LoadFormat        string
	LoggingLevel      string
	Replicas          int      // 0: not told
	GPUsPerReplica    int      // unset: not told
	GPUs              []string // unset: what the machine has
	Debug             bool     // record the processes of each replica when it is ready
	EndpointType      string   // completions, chat_completions or generate; "": the backend's own
	Endpoints         []string // types that the server has; empty: not told
	Title, Text       string   // for people
	MaxPoolSize       int      // connections of the client; 0: not told
	Profile           Profile

	defaultEndpoint string
}

const unset = -1

// Load reads a server's YAML file of at most 1 MiB. Unknown and double keys, aliases, and values of another form are
// errors with their line.
func Load(path string) (*Config, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("server config: %w; give a readable YAML file, as docs/how-to/servers.md shows one", err)
	}
	defer f.Close()
	return Parse(path, f)
}

// Defaults is what a file without a line says, but for the model; name stands in errors and records.
func Defaults(name string) *Config {
	return &Config{
		Name: name, Backend: defaultBackend, Hosts: []string{defaultHost}, Ports: []int{defaultPort}, OutputDir: defaultDir,
		Binary:            defaultBinary,
		HeartbeatInterval: defaultHeartbeatInterval, HeartbeatTimeout: defaultHeartbeatTimeout,
		StartupTimeout: defaultStartupTimeout, StopTimeout: defaultStopTimeout, GPUsPerReplica: unset,
	}
}

// Parse reads a server's YAML from r; name stands in errors.
func Parse(name string, r io.Reader) (*Config, error) {
	c := Defaults(name)
	p := parser{config: c}
	if err := p.file(r); err != nil {
		return nil, err
	}
	return c, c.check(&p)
}

// check finds what no single key can show.
func (c *Config) check(p *parser) error {
	_, known := engines[c.Backend]
	switch {
	case c.Model == "" && (known || len(c.LaunchCommand) == 0):
		return fmt.Errorf("server config %s has no model: write \"model: NAME\", a name of the hub or a folder", c.Name)
	case !known && len(c.LaunchCommand) == 0:
		return fmt.Errorf("server config %s: backend %s needs a launch_command, because only vllm and sglang have one of "+
			"their own", c.Name, c.Backend)
	case p.seen["port"] > 0 && p.seen["ports"] > 0:
		return fmt.Errorf("server config %s line %d: ports is given beside port (line %d): keep one", c.Name, p.seen["ports"],
			p.seen["port"])
	case c.Replicas > 0 && p.seen["ports"] > 0 && len(c.Ports) != c.Replicas:
		return fmt.Errorf("server config %s line %d: %d ports for %d replicas: give one each, or \"port\" for the first",
			c.Name, p.seen["ports"], len(c.Ports), c.Replicas)
	}
	for _, e := range c.Endpoints {
		if !slices.Contains(endpointTypes, e) {
			return fmt.Errorf("server config %s line %d: endpoints has %q, which is none of %s", c.Name, p.seen["endpoints"], e,
				strings.Join(endpointTypes, ", "))
		}
	}
	c.EndpointType = first(c.EndpointType, c.defaultEndpoint)
	if err := c.CheckEndpoint(c.EndpointType); c.EndpointType != "" && err != nil {
		return err
	}
	return nil
}

// CheckEndpoint refuses an endpoint type that the servers do not have, where the file says which they have.
func (c *Config) CheckEndpoint(name string) error {
	if len(c.Endpoints) == 0 || slices.Contains(c.Endpoints, name) {
		return nil
	}
	return fmt.Errorf("server config %s: the endpoint %s is none of its endpoints: %s; choose one of them, or correct "+
		"the list", c.Name, name, strings.Join(c.Endpoints, ", "))
}
