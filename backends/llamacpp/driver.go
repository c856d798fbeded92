package llamacpp

import (
	"context"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/client"
	"github.com/mlperf-go/mlperf-go/backends/internal/wire"
	"github.com/mlperf-go/mlperf-go/backends/internal/wire/reader"
	"github.com/mlperf-go/mlperf-go/backends/openai"
	"github.com/mlperf-go/mlperf-go/datasets"
)

// Driver implements llama.cpp's native route. Package openai implements its other routes.
type Driver struct{}

func init() { backends.Register("llamacpp", Driver{}) }

// native reports whether a configuration selects /completion, which is the default.
func native(c *backends.Config) bool { return c.API == "" || c.API == "generate" }

var terms = reader.Terms{
	Count: "tokens_predicted",
	IDs: "llama.cpp omits from a stream the ids of tokens that are not a whole character, and older servers do not " +
		"support " +
		"return_tokens; answers without a stream (Offline, SingleStream without token latencies) have all ids",
	Needs: "tokens nor tokens_predicted",
	Parts: "content, tokens or stop",
}

func newAnswer(c *backends.Config) wire.Answer {
	d := decoder{keepText: reader.KeepsText(c)}
	o := reader.Options{Decoder: d, Terms: terms, MayHoldBack: true}
	if c.Batch > 0 {
		return reader.NewBatch(c, o, d)
	}
	return reader.New(c, o)
}

// Protocol returns the route and the reader of answers for an HTTP client.
func (Driver) Protocol(c *backends.Config) (wire.Protocol, error) {
	if !native(c) {
		return openai.LlamaCpp.Protocol(c)
	}
	return wire.Protocol{Path: "/completion", NewAnswer: func() wire.Answer { return newAnswer(c) }}, nil
}

// Encode appends the request body of one sample to dst, as compact JSON. Token ids outside the vocabulary are an error.
func (Driver) Encode(dst []byte, s *datasets.Sample, c *backends.Config) ([]byte, error) {
	if !native(c) {
		return openai.LlamaCpp.Encode(dst, s, c)
	}
	return appendRequest(dst, s, c)
}

// Open returns a backend on the HTTP client that fits the endpoints.
func (d Driver) Open(c *backends.Config) (backends.Backend, error) {
	return client.Open(c, d, "prompt")
}

// Describe returns the description of llama.cpp, whose native route is the default because only it sends token ids.
func (d Driver) Describe() backends.Description {
	return backends.Description{API: "generate", Server: "llama.cpp", Owner: "llamacpp", AskModel: d.askModel}
}

func (d Driver) askModel(ctx context.Context, e backends.Endpoint, c *backends.Config) (map[string]string, error) {
	p := newProber(d, e, c)
	return p.AskModel(ctx, p.props, p.Models)
}

// Probe asks one endpoint for its health, its properties and its served names and, with generate, for one short answer.
// A fault of the endpoint is a *backends.EndpointError.
func (d Driver) Probe(ctx context.Context, e backends.Endpoint, c *backends.Config, sample *datasets.Sample,
	generate bool) (*backends.Probe, error) {
	return newProber(d, e, c).run(ctx, sample, generate)
}
