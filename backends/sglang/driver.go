package sglang

import (
	"context"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/client"
	"github.com/mlperf-go/mlperf-go/backends/internal/probe"
	"github.com/mlperf-go/mlperf-go/backends/internal/wire"
	"github.com/mlperf-go/mlperf-go/backends/internal/wire/reader"
	"github.com/mlperf-go/mlperf-go/backends/openai"
	"github.com/mlperf-go/mlperf-go/datasets"
)

// Driver implements SGLang's native route. Package openai implements its other routes.
type Driver struct{}

func init() { backends.Register("sglang", Driver{}) }

// native reports whether a configuration selects /generate, which is the default.
func native(c *backends.Config) bool { return c.API == "" || c.API == "generate" }

var terms = reader.Terms{
	Count: "meta_info.completion_tokens",
	IDs:   "/generate sends them as output_ids since SGLang 0.4; older servers only with --skip-tokenizer-init",
	Needs: "output_ids nor meta_info.completion_tokens",
	Parts: "output_ids, text or meta_info",
}

func newAnswer(c *backends.Config) wire.Answer {
	w := &walker{Scanner: reader.NewScanner(c)}
	o := reader.Options{Decoder: w, Terms: terms}
	if c.Batch > 0 {
		return reader.NewBatch(c, o, w)
	}
	return reader.New(c, o)
}

// Protocol returns the route and the reader of answers for an HTTP client.
func (Driver) Protocol(c *backends.Config) (wire.Protocol, error) {
	if !native(c) {
		return openai.SGLang.Protocol(c)
	}
	// The server returns the member rid as meta_info.id; in a batch it appends the number of the prompt.
	return wire.Protocol{Path: "/generate", RequestID: wire.RequestIDField{Member: "rid"},
		NewAnswer: func() wire.Answer { return newAnswer(c) }}, nil
}

// Encode appends the request body of one sample to dst, as compact JSON. Token ids outside the vocabulary are an error.
func (Driver) Encode(dst []byte, s *datasets.Sample, c *backends.Config) ([]byte, error) {
	if !native(c) {
		return openai.SGLang.Encode(dst, s, c)
	}
	return appendRequest(dst, s, c)
}

// Open returns a backend on the HTTP client that fits the endpoints.
func (d Driver) Open(c *backends.Config) (backends.Backend, error) {
	return client.Open(c, d, "input_ids", "text", "prompt")
}

// Describe returns the description of SGLang, whose native route is the default because only it sends token ids. The
// server empties its cache while no request is running.
func (d Driver) Describe() backends.Description {
	return backends.Description{API: "generate", Server: "sglang", Owner: "sglang", AskModel: d.askModel,
		EmptyCache: probe.CacheEmptier("/flush_cache")}
}

func (d Driver) askModel(ctx context.Context, e backends.Endpoint, c *backends.Config) (map[string]string, error) {
	p := newProber(d, e, c)
	return p.AskModel(ctx, p.model, p.Models)
}

// Probe asks one endpoint for its health, arguments, model and served names and, with generate, for one short answer.
// A fault of the endpoint is a *backends.EndpointError.
func (d Driver) Probe(ctx context.Context, e backends.Endpoint, c *backends.Config, sample *datasets.Sample,
	generate bool) (*backends.Probe, error) {
	return newProber(d, e, c).run(ctx, sample, generate)
}
