package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/nethttp"
	"github.com/mlperf-go/mlperf-go/datasets"
)

const (
	// healthTimeout leaves room for servers whose health check generates a token (spec/real-servers.md §3).
	healthTimeout = 25 * time.Second
	getTimeout    = 15 * time.Second
)

// prober asks one endpoint what it is.
type prober struct {
	driver   *Driver
	endpoint backends.Endpoint
	config   *backends.Config
	found    backends.Probe
}

func (p *prober) run(ctx context.Context, sample *datasets.Sample, generate bool) (*backends.Probe, error) {
	p.found = backends.Probe{URL: p.endpoint.URL, Client: "net/http", Models: []string{}}
	for _, step := range []func(context.Context) error{p.health, p.version, p.models} {
		if err := step(ctx); err != nil {
			return &p.found, err
		}
	}
	if !generate {
		return &p.found, nil
	}
	if sample == nil {
		return &p.found, errors.New("the generation probe needs a sample, none was given")
	}
	return &p.found, p.generate(ctx, sample)
}

func (p *prober) note(format string, args ...any) {
	p.found.Notes = append(p.found.Notes, fmt.Sprintf(format, args...))
}

func (p *prober) health(ctx context.Context) error {
	r, err := nethttp.Get(ctx, p.config, p.endpoint, "/health", healthTimeout)
	if err != nil {
		return err
	}
	p.found.HealthStatus = r.Status
	if r.Status >= 500 {
		return fault(r, backends.FaultNotReady, fmt.Sprintf("the server answered HTTP %d%s", r.Status, said(r.Body)),
			"It is still loading, or its engine has died: look into its log and try again when /health answers 200.")
	}
	if r.Status != http.StatusOK {
		p.note("GET /health answered HTTP %d", r.Status)
	}
	return nil
}

// version is optional: not every server has the route.
func (p *prober) version(ctx context.Context) error {
	r, err := nethttp.Get(ctx, p.config, p.endpoint, "/version", getTimeout)
	if err != nil {
		return err
	}
	var body struct {
		Version string `json:"version"`
	}
	if r.Status != http.StatusOK || json.Unmarshal(r.Body, &body) != nil || body.Version == "" {
		p.note("GET /version tells no version (HTTP %d)", r.Status)
		return nil
	}
	p.found.Version = backends.Cut(body.Version, 100)
	return nil
}

// owners tell the server behind a model list.
var owners = map[string]string{
	"vllm": "vllm", "sglang": "sglang", "tensorrt_llm": "tensorrt-llm", "llamacpp": "llama.cpp", "library": "ollama",
}

func (p *prober) models(ctx context.Context) error {
	r, err := nethttp.Get(ctx, p.config, p.endpoint, "/v1/models", getTimeout)
	if err != nil {
		return err
	}
	if err := usable(r); err != nil {
		return err
	}
	var list struct {
		Data []struct {
			ID          string `json:"id"`
			OwnedBy     string `json:"owned_by"`
			MaxModelLen int    `json:"max_model_len"`
			Meta        struct {
				Context int `json:"n_ctx"`
			} `json:"meta"`
		} `json:"data"`
	}
	if err := json.Unmarshal(r.Body, &list); err != nil {
		return fault(r, backends.FaultNotJSON, fmt.Sprintf("the answer is no list of models (%v)%s", err, said(r.Body)),
			"Does the URL point at an inference server's own port, without a path?")
	}
	for _, m := range list.Data {
		p.found.Models = append(p.found.Models, m.ID)
		if p.found.Server == "" {
			p.found.Server = owners[strings.ToLower(m.OwnedBy)]
		}
		if m.ID == p.config.ServedModel || p.found.MaxModelLen == 0 {
			p.found.MaxModelLen = max(m.MaxModelLen, m.Meta.Context)
		}
	}
	if want := p.config.ServedModel; want != "" && !slices.Contains(p.found.Models, want) {
		e := fault(r, backends.FaultWrongModel, fmt.Sprintf("the server does not serve %q, it serves %s", want, quoted(p.found.Models)),
			"Give one of these names with --served-model, or start the server with the benchmark's model.")
		e.Models = p.found.Models
		return e
	}
	return nil
}

// usable refuses replies that are no JSON of a server that lets us in.
func usable(r *nethttp.Reply) error {
	contentType := r.Header.Get("Content-Type")
	switch {
	case r.Status == http.StatusUnauthorized || r.Status == http.StatusForbidden:
		return fault(r, backends.FaultUnauthorized, fmt.Sprintf("the server answered HTTP %d: it wants an API key, or another one", r.Status),
			"Give the key that the server was started with (--api-key).")
	case r.Status/100 == 3:
		return fault(r, backends.FaultRedirect, fmt.Sprintf("the server redirects (HTTP %d) to %q", r.Status, backends.Cut(r.Header.Get("Location"), 200)),
			"Redirects are not followed: give the address that answers itself, with the right scheme and without a path.")
	case r.Status == http.StatusOK && strings.HasPrefix(contentType, "text/html"):
		return fault(r, backends.FaultNotJSON, "the server answered a web page (text/html)",
			"Does the URL point at an inference server, and not at its front page or a proxy?")
	case r.Status != http.StatusOK:
		return fault(r, backends.FaultStatus, fmt.Sprintf("the server answered HTTP %d%s", r.Status, said(r.Body)),
			"Does the server speak OpenAI's routes, and is the URL without /v1?")
	}
	return nil
}

func fault(r *nethttp.Reply, f backends.Fault, what, try string) *backends.EndpointError {
	return &backends.EndpointError{URL: r.URL, Fault: f, Text: fmt.Sprintf("GET %s: %s. %s", r.URL, what, try)}
}

// said quotes the beginning of a body.
func said(body []byte) string {
	if len(body) == 0 {
		return ""
	}
	return fmt.Sprintf(": %q", backends.Cut(string(body), 200))
}

func quoted(names []string) string {
	if len(names) == 0 {
		return "nothing"
	}
	q := make([]string, len(names))
	for i, name := range names {
		q[i] = fmt.Sprintf("%q", name)
	}
	return strings.Join(q, ", ")
}
