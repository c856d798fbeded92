package sglang

import (
	"context"
	"encoding/json"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/probe"
	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/internal/foreign"
)

// prober reads the routes that SGLang has besides OpenAI's.
type prober struct{ probe.Prober }

func newProber(d Driver, e backends.Endpoint, c *backends.Config) *prober {
	return &prober{probe.Prober{
		Wire: d, Endpoint: e, Config: c,
		NoIDs: "The route /generate (--api generate) of SGLang >= 0.4 sends them as output_ids: use it.",
	}}
}

// run asks for health first, because that generates a token and takes a second or more
// (docs/reference/wire-protocols.md#health), so it must not be called while a test runs.
func (p *prober) run(ctx context.Context, sample *datasets.Sample, generate bool) (*backends.Probe, error) {
	if p.Config.Vocabulary == 0 && sample != nil && len(sample.InputIDs) > 0 {
		p.Note("the vocabulary is unknown, so prompt ids cannot be checked: one id outside of it crashes SGLang")
	}
	return p.Run(ctx, sample, generate, p.Health, p.info, p.model, p.Models, p.Busy)
}

// info reads the server's arguments, from the route of today or from that before 2025-11-17.
func (p *prober) info(ctx context.Context) error {
	var server struct {
		Version       string `json:"version"`
		ContextLength int    `json:"context_length"`
		Incremental   *bool  `json:"incremental_streaming_output"`
		StreamOutput  *bool  `json:"stream_output"`
	}
	var info json.RawMessage
	if err := p.first(ctx, &info, "/server_info", "/get_server_info"); err != nil || info == nil {
		return err
	}
	if err := json.Unmarshal(info, &server); err != nil {
		p.Note("GET /server_info returned no arguments (%v)", err)
		return nil
	}
	p.Found.Info = info
	p.ProfilersIn(info)
	p.Found.Version = foreign.Line(server.Version, 100)
	p.Found.MaxModelLen = max(0, server.ContextLength)
	p.Endpoint.StreamMode = streamMode(server.Incremental, server.StreamOutput)
	if server.Version != "" {
		p.Found.Server = "sglang"
	}
	return nil
}

// model reads the model, from the route of today or from that before 2025-11-17.
func (p *prober) model(ctx context.Context) error {
	var model struct {
		Path         string `json:"model_path"`
		IsGeneration *bool  `json:"is_generation"`
	}
	if err := p.first(ctx, &model, "/model_info", "/get_model_info"); err != nil {
		return err
	}
	if model.Path != "" {
		p.Found.Server = "sglang"
		p.Identify("model_path", model.Path)
	}
	if model.IsGeneration != nil && !*model.IsGeneration {
		return &backends.EndpointError{URL: p.Endpoint.URL, Fault: backends.FaultGenerate,
			Text: "GET " + p.Endpoint.URL + "/model_info: the server's model does not generate text (is_generation is " +
				"false). Start it with a model for text generation and without --is-embedding."}
	}
	return nil
}

// streamMode returns the mode that the server's arguments select; empty: they select none. In March 2026
// --incremental-streaming-output replaced --stream-output, whose events had new ids but all text.
func streamMode(incremental, output *bool) backends.StreamMode {
	switch {
	case incremental != nil && *incremental:
		return backends.StreamIncremental
	case incremental == nil && output != nil && *output:
		return backends.StreamIncrementalIDs
	case incremental != nil || output != nil:
		return backends.StreamCumulative
	}
	return ""
}

// first reads the first path that exists of several paths of one route.
func (p *prober) first(ctx context.Context, v any, paths ...string) error {
	var instead string
	for _, path := range paths {
		var err error
		if instead, err = p.Ask(ctx, path, v); err != nil || instead == "" {
			return err
		}
	}
	p.Note("GET %s returned nothing (%s)", paths[0], instead)
	return nil
}
