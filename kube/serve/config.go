package serve

import (
	"fmt"
	"maps"
	"net"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf-go/internal/secret"
	"github.com/mlperf-go/mlperf-go/kube/objects"
	"github.com/mlperf-go/mlperf-go/servers"
)

// maxGPUs is the highest number of GPUs of a replica.
const maxGPUs = 128

// gpuLists are variables that select GPUs by number. In a cluster the device plugin assigns them.
var gpuLists = []string{"CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"}

// Overrides take precedence over the file of a server.
type Overrides struct {
	Model          string   // name on the hub, or a folder inside the pods; empty: the file's
	Replicas       int      // 0: the file's
	GPUsPerReplica int      // negative: the file's
	Args           []string // engine arguments; each replaces the file's argument of the same name
}

// FromConfig fills a server's command, environment, GPUs, port and times from the file of `mlperf-go server up`. Notes
// are about keys that have no meaning in a cluster. A file that would put a secret into the Deployment is an error.
func FromConfig(s *objects.Server, c *servers.Config, o Overrides) (notes []string, err error) {
	inside, notes := inPod(c, o)
	if model := inside.Model; strings.HasPrefix(model, ".") || strings.HasPrefix(model, "~") {
		return nil, fmt.Errorf("the model %s of %s is a folder of this machine: pass --model with a name on the hub, or "+
			"with a path in the pods such as %s", model, c.Name, path.Join(objects.CacheDir, path.Base(model)))
	}
	p, err := servers.NewPlan(inside, servers.Options{Args: o.Args, Dir: "/tmp", Replicas: 1,
		GPUsPerReplica: o.GPUsPerReplica, GPUs: anyGPUs()})
	if err != nil {
		return nil, err
	}
	if p.Profiler != "" {
		return nil, fmt.Errorf("%s has a profiler (%s), which does not work in pods: remove the key profile", c.Name,
			p.Profiler)
	}
	replica := p.Replicas[0]
	s.Command, s.PreStart, s.Port, s.GPUs = replica.Command, p.PreStart, inside.Ports[0], len(replica.GPUs)
	s.Startup, s.Stop = p.StartupTimeout, p.StopTimeout
	s.Probe, s.Silence = p.HeartbeatInterval, p.HeartbeatTimeout
	s.Env = maps.Clone(replica.Env)
	for _, pair := range p.Environ() {
		name, value, _ := strings.Cut(pair, "=")
		s.Env[name] = value
	}
	for _, name := range gpuLists {
		delete(s.Env, name)
	}
	if s.Replicas = o.Replicas; s.Replicas == 0 {
		s.Replicas = max(c.Replicas, len(c.Ports), 1)
	}
	if s.Replicas < 1 {
		return nil, fmt.Errorf("cannot start %d replicas: choose a number from 1", s.Replicas)
	}
	return notes, checkSecrets(s, p)
}

// inPod returns the file for one pod: all replicas have the same port, because each has its own network.
func inPod(c *servers.Config, o Overrides) (inside *servers.Config, notes []string) {
	pod := *c
	if o.Model != "" {
		pod.Model = o.Model
	}
	pod.Ports = c.Ports[:1]
	if ip := net.ParseIP(strings.Trim(c.Hosts[0], "[]")); ip == nil || !ip.IsUnspecified() {
		pod.Hosts = []string{"0.0.0.0"}
	}
	if len(c.GPUs) > 0 {
		notes = append(notes, "the key gpus is ignored: the cluster assigns GPUs")
	}
	pod.GPUs, pod.Environment = nil, maps.Clone(c.Environment)
	for _, name := range gpuLists {
		if _, set := pod.Environment[name]; set {
			notes = append(notes, "the variable "+name+" is ignored: the cluster assigns GPUs")
			delete(pod.Environment, name)
		}
	}
	return &pod, notes
}

// anyGPUs are more GPUs than a replica can request. The cluster chooses which ones it gets.
func anyGPUs() servers.GPUs {
	g := servers.GPUs{Vendor: "nvidia", Note: "of a node"}
	for i := range maxGPUs {
		g.IDs = append(g.IDs, strconv.Itoa(i))
	}
	return g
}

// checkSecrets rejects secrets, which everyone who may read the Deployment would see.
func checkSecrets(s *objects.Server, p *servers.Plan) error {
	const remedy = "would be readable in the Deployment: store it in a Secret, and pass --secret-env NAME=SECRET:KEY"
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		if value := s.Env[name]; secret.Name(name) && value != "" && !secret.IsSwitch(value) {
			return fmt.Errorf("the variable %s of %s %s", name, p.Config, remedy)
		}
	}
	shown := secret.Args(s.Command)
	for i, word := range s.Command {
		if shown[i] != word {
			return fmt.Errorf("an argument of the engine in %s is a secret, which %s", p.Config, remedy)
		}
	}
	for _, line := range s.PreStart {
		if secret.Text(line) != line {
			return fmt.Errorf("a pre_start command of %s has a secret, which %s", p.Config, remedy)
		}
	}
	return nil
}
