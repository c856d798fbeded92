package backends

import (
	"context"

	"github.com/mlperf-go/mlperf-go/datasets"
)

// Driver is one wire protocol family, found by name. Its methods may be called from any goroutine.
type Driver interface {
	// Describe returns what the program needs to know about the protocol and its servers; the zero value describes
	// a driver without special properties.
	Describe() Description
	// Encode appends the request body of one sample to dst.
	Encode(dst []byte, s *datasets.Sample, c *Config) ([]byte, error)
	// Open returns a backend, which is not connected yet.
	Open(c *Config) (Backend, error)
	// Probe reads what one endpoint reports about itself and, if generate is set, tests with one short answer what
	// it supports. A fault of the endpoint is an *EndpointError.
	Probe(ctx context.Context, e Endpoint, c *Config, sample *datasets.Sample, generate bool) (*Probe, error)
}

// Description is what distinguishes a driver from others.
type Description struct {
	// API is used if neither the user nor the benchmark chooses one; empty: "completions".
	API string
	// Server is the name of the inference server in records; Owner is how its /v1/models spells it (owned_by). Both are
	// empty if a driver serves several kinds of servers.
	Server, Owner string
	// TextOnly is set if the servers accept text and no token ids.
	TextOnly bool
	// EmptyCache asks one endpoint to discard the prompts that it has cached, and waits until it has done so. offered is
	// false if the server has no such route. nil: no server of this driver has one.
	EmptyCache func(ctx context.Context, e Endpoint, c *Config) (offered bool, err error)
	// AskModel reads only the model of one endpoint. The result is that of Probe.Identity; if the served name is
	// missing, the error is an *EndpointError with FaultWrongModel. nil: the servers do not report it.
	AskModel func(ctx context.Context, e Endpoint, c *Config) (identity map[string]string, err error)
}

// DefaultAPI is the API of drivers whose description names none.
const DefaultAPI = "completions"

// SendsText reports whether requests of an API contain text or messages even if a sample has token ids too.
func (d *Description) SendsText(api string) bool { return d.TextOnly || api == "chat" }
