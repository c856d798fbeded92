package ollama

import (
	"context"
	"errors"
	"fmt"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/client"
	"github.com/mlperf-go/mlperf-go/backends/internal/wire"
	"github.com/mlperf-go/mlperf-go/backends/internal/wire/reader"
	"github.com/mlperf-go/mlperf-go/backends/openai"
	"github.com/mlperf-go/mlperf-go/datasets"
)

// Driver implements Ollama's native routes. Package openai implements its completions route.
type Driver struct{}

func init() { backends.Register("ollama", Driver{}) }

// paths are the native routes by the name of their API; the empty name is the default.
var paths = map[string]string{"": "/api/generate", "generate": "/api/generate", "chat": "/api/chat"}

const noIDs = "Ollama sends none on any route: a benchmark whose answers are token ids needs another server"

var terms = reader.Terms{Count: "eval_count", IDs: noIDs, Needs: "eval_count", Parts: "response, message or done"}

func newAnswer(c *backends.Config) wire.Answer {
	return reader.New(c, reader.Options{Decoder: decoder{reader.KeepsText(c)}, Terms: terms, Lines: true})
}

var errBatch = errors.New("backend \"ollama\" accepts one prompt per request: choose another --offline-strategy")

// Protocol returns the route and the reader of answers for an HTTP client.
func (Driver) Protocol(c *backends.Config) (wire.Protocol, error) {
	path, native := paths[c.API]
	switch {
	case c.Batch > 0:
		return wire.Protocol{}, errBatch
	case native:
		return wire.Protocol{Path: path, NewAnswer: func() wire.Answer { return newAnswer(c) }}, nil
	case c.API == "completions", openai.IsPooled(c.API):
		return openai.Ollama.Protocol(c)
	}
	return wire.Protocol{}, fmt.Errorf("backend %q has no API %q: choose generate, chat or completions", "ollama", c.API)
}

// Encode appends the request body of one sample to dst, as compact JSON.
func (Driver) Encode(dst []byte, s *datasets.Sample, c *backends.Config) ([]byte, error) {
	if len(s.InputIDs) > 0 && s.Input == "" && len(s.Messages) == 0 {
		return dst, fmt.Errorf("sample %d has prompt ids and no text, but Ollama accepts text only: use a data set with the "+
			"prompts' text, or another server", s.Index)
	}
	if _, native := paths[c.API]; native {
		return appendRequest(dst, s, c)
	}
	text := *s
	text.InputIDs = nil
	return openai.Ollama.Encode(dst, &text, c)
}

// Open returns a backend on the HTTP client that fits the endpoints.
func (d Driver) Open(c *backends.Config) (backends.Backend, error) { return client.Open(c, d) }

// Describe returns the description of Ollama, which accepts no token ids on any route. A native route is the default
// because only those leave a prompt unchanged.
func (d Driver) Describe() backends.Description {
	return backends.Description{API: "generate", Server: "ollama", Owner: "library", TextOnly: true, AskModel: d.askModel}
}

func (d Driver) askModel(ctx context.Context, e backends.Endpoint, c *backends.Config) (map[string]string, error) {
	p := newProber(d, e, c)
	return p.AskModel(ctx, p.models)
}

// Probe asks one endpoint for its version and its models and, with generate, for one short answer. A fault of
// the endpoint is a *backends.EndpointError.
func (d Driver) Probe(ctx context.Context, e backends.Endpoint, c *backends.Config, sample *datasets.Sample,
	generate bool) (*backends.Probe, error) {
	return newProber(d, e, c).run(ctx, sample, generate)
}
