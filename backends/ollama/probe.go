package ollama

import (
	"context"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/probe"
	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/internal/foreign"
)

// prober reads Ollama's routes.
type prober struct{ probe.Prober }

func newProber(d Driver, e backends.Endpoint, c *backends.Config) *prober {
	return &prober{probe.Prober{Wire: d, Endpoint: e, Config: c, NoIDs: noIDs + "."}}
}

func (p *prober) run(ctx context.Context, sample *datasets.Sample, generate bool) (*backends.Probe, error) {
	if s := &p.Config.Sampling; s.MinTokens > 1 || len(s.StopTokenIDs) > 0 || s.IgnoreEOS {
		p.Note("Ollama supports neither min_tokens, stop_token_ids nor ignore_eos: the model's file decides where answers " +
			"end, " +
			"and one shorter than the benchmark's minimum fails")
	}
	return p.Run(ctx, sample, generate, p.version, p.models)
}

// version reads the version. It also replaces the missing route /health.
func (p *prober) version(ctx context.Context) error {
	if err := p.HealthAt(ctx, "/api/version"); err != nil {
		return err
	}
	var body struct {
		Version string `json:"version"`
	}
	instead, err := p.Ask(ctx, "/api/version", &body)
	if err != nil {
		return err
	}
	if body.Version == "" {
		p.Note("GET /api/version returned no version (%s)", instead)
		return nil
	}
	p.Found.Version, p.Found.Server = foreign.Line(body.Version, 100), "ollama"
	return nil
}

// models reads the names of the models. A name without a tag means the tag "latest".
func (p *prober) models(ctx context.Context) error {
	var list struct {
		Models []struct {
			Name   string `json:"name"`
			Model  string `json:"model"`
			Digest string `json:"digest"`
		} `json:"models"`
	}
	r, err := p.Must(ctx, "/api/tags", &list)
	if err != nil {
		return err
	}
	want := p.Config.ServedModel
	for _, m := range list.Models {
		name := m.Name
		if m.Model == want || name == want+":latest" {
			name = want
		}
		if name == want {
			p.Identify("digest", m.Digest)
		}
		p.Found.Models = append(p.Found.Models, name)
	}
	return p.Serves(r)
}
