package openai

import (
	"context"
	"fmt"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/client"
	"github.com/mlperf-go/mlperf-go/backends/internal/probe"
	"github.com/mlperf-go/mlperf-go/backends/internal/wire/batch"
	"github.com/mlperf-go/mlperf-go/datasets"
)

// Driver speaks the completions and chat routes, and vLLM's generate route.
type Driver struct {
	name string
	dialect
}

// SGLang, LlamaCpp and Ollama are the drivers of these servers' OpenAI routes. Their native routes have packages of
// their own.
var (
	SGLang   = &Driver{name: "sglang", dialect: sglang}
	LlamaCpp = &Driver{name: "llamacpp", dialect: llamaCpp}
	Ollama   = &Driver{name: "ollama", dialect: ollama}
)

func init() {
	backends.Register("vllm", &Driver{name: "vllm", dialect: vllm})
	backends.Register("sim", &Driver{name: "sim", dialect: vllm})
	backends.Register("openai", &Driver{name: "openai", dialect: generic})
	backends.Register("trtllm", &Driver{name: "trtllm", dialect: trtllm})
}

// paths are the routes by the name of their API; the empty name is the default.
var paths = map[string]string{
	"":            "/v1/completions",
	"completions": "/v1/completions",
	"chat":        "/v1/chat/completions",
	"generate":    "/inference/v1/generate",
}

// protocol joins a route with its answers.
type protocol struct {
	path    string
	config  *backends.Config
	dialect *dialect
}

func (p *protocol) Path() string               { return p.path }
func (p *protocol) NewAnswer() backends.Answer { return newAnswer(p.dialect, p.config) }

// RequestID names the place of the id, which comes back in the member id, or request_id of vLLM's generate route, of
// every event.
func (p *protocol) RequestID() backends.RequestIDField { return p.dialect.requestID }

// Protocol gives the route and the answers for an HTTP client.
func (d *Driver) Protocol(c *backends.Config) (backends.Protocol, error) {
	path, ok := paths[c.API]
	switch {
	case !ok && d.generate:
		return nil, fmt.Errorf("backend %q has no API %q: choose completions, chat or generate", d.name, c.API)
	case !ok, c.API == "generate" && !d.generate:
		return nil, fmt.Errorf("backend %q has no API %q: choose completions or chat", d.name, c.API)
	case c.API == "generate" && c.KeepText:
		return nil, fmt.Errorf("the generate route of backend %q sends token ids and no text, which this benchmark needs: "+
			"choose completions or chat", d.name)
	case c.Batch > 0 && path != paths["completions"]:
		return nil, fmt.Errorf("backend %q takes several prompts in one request on its completions route only, not on %s: "+
			"choose --api completions, or another --offline-strategy", d.name, path)
	}
	return &protocol{path: path, config: c, dialect: &d.dialect}, nil
}

// Encode appends the request body of one sample to dst, as compact JSON. Token ids outside the vocabulary are an error.
func (d *Driver) Encode(dst []byte, s *datasets.Sample, c *backends.Config) ([]byte, error) {
	return d.encode(dst, s, c)
}

// Open makes a backend on the HTTP client that fits the endpoints.
func (d *Driver) Open(c *backends.Config) (backends.Backend, error) {
	if c.Batch > 0 {
		return batch.New(c, batch.Form{Keys: []string{"prompt"}, Encode: d.Encode}, d.open)
	}
	return d.open(c)
}

func (d *Driver) open(c *backends.Config) (backends.Backend, error) {
	p, err := d.Protocol(c)
	if err != nil {
		return nil, err
	}
	return client.New(c, p)
}

// EmptyCache tells one endpoint to forget the prompts that it has seen. It is vLLM's route, offered in its development
// mode only.
func (d *Driver) EmptyCache(ctx context.Context, e backends.Endpoint, c *backends.Config) (bool, error) {
	if d.emptyCache == "" {
		return false, nil
	}
	return probe.EmptyCache(ctx, c, e, d.emptyCache)
}

// AskModel asks one endpoint for the model that it serves.
func (d *Driver) AskModel(ctx context.Context, e backends.Endpoint, c *backends.Config) (map[string]string, error) {
	p := &probe.Prober{Wire: d, Endpoint: e, Config: c}
	return p.AskModel(ctx, p.Models)
}

// Probe asks one endpoint for its health, version and models and, with generate, for one short answer. Its errors are
// *backends.EndpointError where the endpoint is at fault.
func (d *Driver) Probe(ctx context.Context, e backends.Endpoint, c *backends.Config, sample *datasets.Sample,
	generate bool) (*backends.Probe, error) {
	p := &probe.Prober{
		Wire: d, Endpoint: e, Config: c,
		NoIDs: "Token ids: " + d.needIDs + ".", InLogprobs: d.logprobs,
	}
	return p.Run(ctx, sample, generate, p.Health, p.Version, p.Profilers, p.Models, p.Busy)
}
