package openai

import (
	"context"
	"fmt"
	"slices"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/client"
	"github.com/mlperf-go/mlperf-go/backends/internal/probe"
	"github.com/mlperf-go/mlperf-go/backends/internal/wire"
	"github.com/mlperf-go/mlperf-go/datasets"
)

// Driver implements the completions and chat routes, and vLLM's generate route, in one dialect.
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
	embeddings:    "/v1/embeddings",
	rerank:        "/v1/rerank",
	messages:      "/v1/messages",
	responses:     "/v1/responses",
}

// Protocol returns the route and the reader of answers for an HTTP client.
func (d *Driver) Protocol(c *backends.Config) (wire.Protocol, error) {
	path, ok := paths[c.API]
	switch {
	case slices.Contains(d.without, c.API):
		return wire.Protocol{}, fmt.Errorf("backend %q offers no supported route for the API %q", d.name, c.API)
	case !ok && d.generate:
		return wire.Protocol{}, fmt.Errorf("backend %q has no API %q: choose completions, chat or generate", d.name, c.API)
	case !ok, c.API == "generate" && !d.generate:
		return wire.Protocol{}, fmt.Errorf("backend %q has no API %q: choose completions or chat", d.name, c.API)
	case c.API == "generate" && c.KeepText:
		return wire.Protocol{}, fmt.Errorf("the generate route of backend %q returns token ids without text, but this "+
			"benchmark needs text: choose completions or chat", d.name)
	case c.Batch > 0 && path != paths["completions"]:
		return wire.Protocol{}, fmt.Errorf("backend %q accepts several prompts in one request on its completions route "+
			"only, not on %s: choose --api completions, or another --offline-strategy", d.name, path)
	}
	return wire.Protocol{Path: path, RequestID: d.requestID,
		NewAnswer: func() wire.Answer { return newAnswer(&d.dialect, c) }}, nil
}

// Encode appends the request body of one sample to dst, as compact JSON. Token ids outside the vocabulary are an error.
func (d *Driver) Encode(dst []byte, s *datasets.Sample, c *backends.Config) ([]byte, error) {
	return d.encode(dst, s, c)
}

// Open returns a backend on the HTTP client that fits the endpoints.
func (d *Driver) Open(c *backends.Config) (backends.Backend, error) {
	return client.Open(c, d, "prompt")
}

// Describe returns the description of the dialect.
func (d *Driver) Describe() backends.Description {
	is := backends.Description{Server: d.server, Owner: d.owner, AskModel: d.askModel}
	if d.emptyCache != "" {
		is.EmptyCache = probe.CacheEmptier(d.emptyCache)
	}
	return is
}

func (d *Driver) askModel(ctx context.Context, e backends.Endpoint, c *backends.Config) (map[string]string, error) {
	p := &probe.Prober{Wire: d, Endpoint: e, Config: c}
	return p.AskModel(ctx, p.Models)
}

// Probe asks one endpoint for its health, version and models and, with generate, for one short answer. A fault of
// the endpoint is a *backends.EndpointError.
func (d *Driver) Probe(ctx context.Context, e backends.Endpoint, c *backends.Config, sample *datasets.Sample,
	generate bool) (*backends.Probe, error) {
	p := &probe.Prober{
		Wire: d, Endpoint: e, Config: c,
		NoIDs: "Token ids: " + d.needIDs + ".", InLogprobs: d.logprobs,
	}
	return p.Run(ctx, sample, generate, p.Health, p.Version, p.Profilers, p.Models, p.Busy)
}
