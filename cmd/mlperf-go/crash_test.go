package main

import (
	"context"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/datasets"
	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
)

// broken is a faulty backend for crash.txtar: it panics on its own goroutine, or on LoadGen's thread while it encodes a
// request.
type broken struct{ inEncode bool }

func init() {
	backends.Register("broken-serve", broken{})
	backends.Register("broken-encode", broken{inEncode: true})
}

func (broken) Describe() backends.Description { return backends.Description{} }

func (b broken) Encode(dst []byte, _ *datasets.Sample, _ *backends.Config) ([]byte, error) {
	if b.inEncode {
		panic("a bug in Encode")
	}
	return append(dst, 'x'), nil
}

func (b broken) Open(*backends.Config) (backends.Backend, error) { return b, nil }

func (broken) Features() backends.Features { return backends.Features{} }

func (b broken) Serve(ctx context.Context, _ loadgen.Source, _ backends.Sink) error {
	if b.inEncode {
		<-ctx.Done()
		return ctx.Err()
	}
	panic("a bug in Serve")
}

func (broken) Probe(_ context.Context, e backends.Endpoint, c *backends.Config, _ *datasets.Sample,
	_ bool) (*backends.Probe, error) {
	return &backends.Probe{URL: e.URL, Models: []string{c.ServedModel}, Generated: true}, nil
}
