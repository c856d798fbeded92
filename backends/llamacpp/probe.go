package llamacpp

import (
	"context"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/probe"
	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/internal/foreign"
	"github.com/mlperf-go/mlperf-go/internal/plural"
)

// prober reads the routes that llama.cpp has besides OpenAI's.
type prober struct{ probe.Prober }

func newProber(d Driver, e backends.Endpoint, c *backends.Config) *prober {
	return &prober{probe.Prober{
		Wire: d, Endpoint: e, Config: c,
		NoIDs: "The route /completion (--api generate) sends them as tokens, asked with return_tokens; in a stream only " +
			"those of whole characters.",
	}}
}

func (p *prober) run(ctx context.Context, sample *datasets.Sample, generate bool) (*backends.Probe, error) {
	if s := &p.Config.Sampling; native(p.Config) && (s.MinTokens > 1 || len(s.StopTokenIDs) > 0) {
		p.Note("/completion supports neither min_tokens nor stop_token_ids: the model's file decides where answers end, " +
			"and one " +
			"shorter than the benchmark's minimum fails")
	}
	return p.Run(ctx, sample, generate, p.Health, p.props, p.Models, p.Busy)
}

// props reads the server's build and its slots. Each slot has its own context and processes one request at a time.
func (p *prober) props(ctx context.Context) error {
	var props struct {
		Build    string `json:"build_info"`
		Model    string `json:"model_path"`
		Slots    int    `json:"total_slots"`
		Settings struct {
			Context int `json:"n_ctx"`
		} `json:"default_generation_settings"`
	}
	instead, err := p.Ask(ctx, "/props", &props)
	if err != nil {
		return err
	}
	if instead != "" {
		p.Note("GET /props returned nothing (%s)", instead)
		return nil
	}
	p.Found.Version, p.Found.Server = foreign.Line(props.Build, 100), "llama.cpp"
	p.Found.MaxModelLen = max(0, props.Settings.Context)
	p.Identify("model_path", props.Model)
	if props.Slots > 0 {
		p.Note("the server processes %s at a time and queues the others",
			plural.Count(props.Slots, "request", "requests"))
	}
	return nil
}
