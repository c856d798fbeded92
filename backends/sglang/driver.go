package sglang

import (
	"context"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/client"
	"github.com/mlperf-go/mlperf-go/backends/internal/probe"
	"github.com/mlperf-go/mlperf-go/backends/internal/wire/batch"
	"github.com/mlperf-go/mlperf-go/backends/internal/wire/reader"
	"github.com/mlperf-go/mlperf-go/backends/openai"
	"github.com/mlperf-go/mlperf-go/datasets"
)

// Driver speaks SGLang's native route, and its OpenAI routes by way of package openai.
type Driver struct{}

func init() { backends.Register("sglang", Driver{}) }

// native says that a configuration means /generate, which is the default.
func native(c *backends.Config) bool { return c.API == "" || c.API == "generate" }

// protocol joins the native route with its answers.
type protocol struct{ config *backends.Config }

func (p protocol) Path() string               { return "/generate" }
func (p protocol) NewAnswer() backends.Answer { return newAnswer(p.config) }

// RequestID names the member rid, which comes back as meta_info.id; in a batch with the number of the prompt behind it.
func (protocol) RequestID() backends.RequestIDField { return backends.RequestIDField{Member: "rid"} }

var words = reader.Words{
	Count: "meta_info.completion_tokens",
	IDs:   "/generate sends them as output_ids since SGLang 0.4; older servers only with --skip-tokenizer-init",
	Needs: "output_ids nor meta_info.completion_tokens",
	Parts: "output_ids, text or meta_info",
}

func newAnswer(c *backends.Config) backends.Answer {
	w := &walker{Scanner: reader.NewScanner(c)}
	o := reader.Options{Decoder: w, Words: words}
	if c.Batch > 0 {
		return reader.NewBatch(c, o, w)
	}
	return reader.New(c, o)
}

// Protocol gives the route and the answers for an HTTP client.
func (Driver) Protocol(c *backends.Config) (backends.Protocol, error) {
	if !native(c) {
		return openai.SGLang.Protocol(c)
	}
	return protocol{c}, nil
}

// Encode appends the request body of one sample to dst, as compact JSON. Token ids outside the vocabulary are an error.
func (Driver) Encode(dst []byte, s *datasets.Sample, c *backends.Config) ([]byte, error) {
	if !native(c) {
		return openai.SGLang.Encode(dst, s, c)
	}
	return appendRequest(dst, s, c)
}

// Open makes a backend on the HTTP client that fits the endpoints.
func (d Driver) Open(c *backends.Config) (backends.Backend, error) {
	if c.Batch > 0 {
		return batch.New(c, batch.Form{Keys: []string{"input_ids", "text", "prompt"}, Encode: d.Encode}, d.open)
	}
	return d.open(c)
}

func (d Driver) open(c *backends.Config) (backends.Backend, error) {
	p, err := d.Protocol(c)
	if err != nil {
		return nil, err
	}
	return client.New(c, p)
}

// EmptyCache tells one endpoint to forget the prompts that it has seen; it does so where no request is running.
func (Driver) EmptyCache(ctx context.Context, e backends.Endpoint, c *backends.Config) (bool, error) {
	return probe.EmptyCache(ctx, c, e, "/flush_cache")
}

// AskModel asks one endpoint for the model that it serves.
func (d Driver) AskModel(ctx context.Context, e backends.Endpoint, c *backends.Config) (map[string]string, error) {
	p := newProber(d, e, c)
	return p.AskModel(ctx, p.model, p.Models)
}

// Probe asks one endpoint for its health, arguments, model and served names and, with generate, for one short answer.
// Its errors are *backends.EndpointError where the endpoint is at fault.
func (d Driver) Probe(ctx context.Context, e backends.Endpoint, c *backends.Config, sample *datasets.Sample,
	generate bool) (*backends.Probe, error) {
	return newProber(d, e, c).run(ctx, sample, generate)
}
