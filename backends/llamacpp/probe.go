package llamacpp

import (
	"context"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/probe"
	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/internal/foreign"
)

// prober asks one server for what llama.cpp tells beside OpenAI's routes.
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
		p.Note("/completion knows neither min_tokens nor stop_token_ids: answers end where the model's file says, and one " +
			"shorter than the benchmark's minimum fails")
	}
	return p.Run(ctx, sample, generate, p.Health, p.props, p.Models, p.Busy)
}

// props asks for the server's build and its slots: each has a context of its own, and one request at a time.
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
		p.Note("GET /props tells nothing (%s)", instead)
		return nil
	}
	p.Found.Version, p.Found.Server = foreign.Line(props.Build, 100), "llama.cpp"
	p.Found.MaxModelLen = max(0, props.Settings.Context)
	p.Identify("model_path", props.Model)
	if props.Slots > 0 {
		p.Note("the server works on %d requests at a time; others wait in it", props.Slots)
	}
	return nil
}
