package openai

import (
	"context"
	"fmt"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/nethttp"
	"github.com/mlperf-go/mlperf-go/datasets"
)

// Driver speaks the completions and chat routes.
type Driver struct {
	name string
	vllm bool // vLLM's own fields are sent: return_token_ids, max_completion_tokens
}

func init() {
	backends.Register("vllm", &Driver{name: "vllm", vllm: true})
	backends.Register("sim", &Driver{name: "sim", vllm: true})
	backends.Register("openai", &Driver{name: "openai"})
}

// paths are the routes by the name of their API; the empty name is the default.
var paths = map[string]string{
	"":            "/v1/completions",
	"completions": "/v1/completions",
	"chat":        "/v1/chat/completions",
}

// protocol joins a route with its answers.
type protocol struct {
	path   string
	config *backends.Config
}

func (p *protocol) Path() string               { return p.path }
func (p *protocol) NewAnswer() backends.Answer { return newAnswer(p.config) }

// Protocol gives the route and the answers for an HTTP client.
func (d *Driver) Protocol(c *backends.Config) (backends.Protocol, error) {
	path, ok := paths[c.API]
	if !ok {
		return nil, fmt.Errorf("backend %q has no API %q: choose completions or chat", d.name, c.API)
	}
	return &protocol{path: path, config: c}, nil
}

// Encode appends the request body of one sample to dst, as compact JSON. Token ids outside the vocabulary are an error.
func (d *Driver) Encode(dst []byte, s *datasets.Sample, c *backends.Config) ([]byte, error) {
	return d.encode(dst, s, c)
}

// Open makes a backend on the compatible HTTP client.
func (d *Driver) Open(c *backends.Config) (backends.Backend, error) {
	p, err := d.Protocol(c)
	if err != nil {
		return nil, err
	}
	return nethttp.New(c, p)
}

// Probe asks one endpoint for its health, version and models and, with generate, for one short answer. Its errors are
// *backends.EndpointError where the endpoint is at fault.
func (d *Driver) Probe(ctx context.Context, e backends.Endpoint, c *backends.Config, sample *datasets.Sample, generate bool) (*backends.Probe, error) {
	p := &prober{driver: d, endpoint: e, config: c}
	return p.run(ctx, sample, generate)
}
