package probe

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/client"
	"github.com/mlperf-go/mlperf-go/backends/internal/nethttp"
	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/internal/foreign"
)

const (
	// healthTimeout leaves room for servers whose health check generates a token
	// (docs/reference/wire-protocols.md#health).
	healthTimeout = 25 * time.Second
	getTimeout    = 15 * time.Second
)

// Prober asks one endpoint what it is.
type Prober struct {
	Wire     client.Wire
	Endpoint backends.Endpoint
	Config   *backends.Config
	NoIDs    string // what to do if the answer has no token ids
	// InLogprobs is set if the server may send token ids in the log probabilities.
	InLogprobs bool

	noIDs error // of the request that did not ask for ids in the log probabilities
	Found backends.Probe
}

// Run does the steps one after another and, if generate is set, asks for one short answer.
func (p *Prober) Run(ctx context.Context, sample *datasets.Sample, generate bool,
	steps ...func(context.Context) error) (*backends.Probe, error) {
	p.Found.URL, p.Found.Models = p.Endpoint.URL, []string{}
	p.Found.Client = client.For(&p.Config.Transport, append(slices.Clone(p.Config.Endpoints), p.Endpoint)...)
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return &p.Found, err
		}
	}
	if !generate {
		return &p.Found, nil
	}
	if sample == nil {
		return &p.Found, errors.New("the generation probe needs a sample, none was given")
	}
	return &p.Found, p.generate(ctx, sample)
}

// Note adds a remark about the endpoint for the user.
func (p *Prober) Note(format string, args ...any) {
	p.Found.Notes = append(p.Found.Notes, fmt.Sprintf(format, args...))
}

// Health asks whether the server is ready, for which some servers generate a token. Servers and gateways without
// /health have other names for it (llm-d, NIM, SageMaker).
func (p *Prober) Health(ctx context.Context) error {
	return p.HealthAt(ctx, "/health", "/health/ready", "/v1/health/ready", "/ping")
}

// HealthAt is Health at the first of several paths that the server has.
func (p *Prober) HealthAt(ctx context.Context, paths ...string) error {
	for _, path := range paths {
		r, err := nethttp.Get(ctx, p.Config, p.Endpoint, path, healthTimeout)
		if err != nil {
			return err
		}
		if p.Found.HealthStatus == 0 || r.Status == http.StatusOK {
			p.Found.HealthStatus = r.Status
		}
		if r.Status >= 500 {
			p.Found.HealthStatus = r.Status
			return fault(r, backends.FaultNotReady, fmt.Sprintf("the server answered HTTP %d%s", r.Status, excerpt(r)),
				"It is still loading, or its engine has died: look into its log and try again when "+path+" answers 200.")
		}
		if r.Status != http.StatusNotFound {
			break
		}
	}
	if p.Found.HealthStatus != http.StatusOK {
		p.Note("GET %s answered HTTP %d", paths[0], p.Found.HealthStatus)
	}
	return nil
}

// Version asks for the version; not every server has the route.
func (p *Prober) Version(ctx context.Context) error {
	var body struct {
		Version string `json:"version"`
	}
	instead, err := p.Ask(ctx, "/version", &body)
	if err != nil {
		return err
	}
	if body.Version == "" {
		p.Note("GET /version returns no version (%s)", cmp.Or(instead, "HTTP 200"))
		return nil
	}
	p.Found.Version = foreign.Line(body.Version, 100)
	return nil
}

// Ask reads the JSON of an optional route into v. instead describes an answer that could not be read. err is returned
// only if the endpoint does not answer.
func (p *Prober) Ask(ctx context.Context, path string, v any) (instead string, err error) {
	r, err := nethttp.Get(ctx, p.Config, p.Endpoint, path, getTimeout)
	switch {
	case err != nil:
		return "", err
	case r.Status != http.StatusOK:
		return fmt.Sprintf("HTTP %d", r.Status), nil
	case json.Unmarshal(r.Body, v) != nil:
		return fmt.Sprintf("HTTP 200 and no JSON of that kind%s", excerpt(r)), nil
	}
	return "", nil
}

// Models asks for the served names, and rejects an endpoint that does not serve the wanted one.
func (p *Prober) Models(ctx context.Context) error {
	var list struct {
		Data []struct {
			ID          string `json:"id"`
			OwnedBy     string `json:"owned_by"`
			MaxModelLen int    `json:"max_model_len"`
			Root        string `json:"root"`
			Meta        struct {
				Context int `json:"n_ctx"`
			} `json:"meta"`
		} `json:"data"`
	}
	r, err := p.Must(ctx, "/v1/models", &list)
	if err != nil {
		return err
	}
	for _, m := range list.Data {
		p.Found.Models = append(p.Found.Models, m.ID)
		if p.Found.Server == "" {
			p.Found.Server = backends.ServerOf(m.OwnedBy)
		}
		if m.ID == p.Config.ServedModel {
			p.Identify("root", m.Root)
		}
		if n := max(m.MaxModelLen, m.Meta.Context); n > 0 && (m.ID == p.Config.ServedModel || p.Found.MaxModelLen == 0) {
			p.Found.MaxModelLen = n
		}
	}
	return p.Serves(r)
}

// Identify notes a property that distinguishes the served model from others of the same name. An empty value is
// ignored.
func (p *Prober) Identify(key, value string) {
	if value == "" {
		return
	}
	if p.Found.Identity == nil {
		p.Found.Identity = map[string]string{}
	}
	p.Found.Identity[key] = foreign.Line(value, 500)
}

// AskModel does only the steps that ask for the model, and returns its identity.
func (p *Prober) AskModel(ctx context.Context, steps ...func(context.Context) error) (map[string]string, error) {
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	return p.Found.Identity, nil
}

// Must reads the JSON of a required list of models into v.
func (p *Prober) Must(ctx context.Context, path string, v any) (*nethttp.Reply, error) {
	r, err := nethttp.Get(ctx, p.Config, p.Endpoint, path, getTimeout)
	if err != nil {
		return nil, err
	}
	if err := usable(r); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(r.Body, v); err != nil {
		return nil, fault(r, backends.FaultNotJSON, fmt.Sprintf("the answer is not a list of models "+
			"(%v)%s", err, excerpt(r)),
			"Does the URL point at an inference server's own port, without a path?")
	}
	return r, nil
}

// Serves rejects an endpoint whose list of models r does not contain the wanted one.
func (p *Prober) Serves(r *nethttp.Reply) error {
	if want := p.Config.ServedModel; want != "" && !slices.Contains(p.Found.Models, want) {
		try := "Give one of these names with " + cmp.Or(p.Config.ModelFlag, "--served-model") +
			", or start the server with the wanted model."
		if of := p.Config.Benchmark; of != "" {
			try = fmt.Sprintf("Is --model %s the benchmark that you mean? If so: give", of) + strings.TrimPrefix(try, "Give")
		}
		e := fault(r, backends.FaultWrongModel, fmt.Sprintf("the server does not serve %q, it serves %s", want,
			quoted(p.Found.Models)), try)
		e.Models = p.Found.Models
		return e
	}
	return nil
}

// usable rejects replies that contain no JSON because of access, redirects or another service.
func usable(r *nethttp.Reply) error {
	contentType := r.Header.Get("Content-Type")
	switch {
	case r.Status == http.StatusUnauthorized || r.Status == http.StatusForbidden:
		return fault(r, backends.FaultUnauthorized,
			fmt.Sprintf("the server answered HTTP %d: it requires an API key, or another one", r.Status),
			"Give the key that the server was started with (--api-key).")
	case r.Status/100 == 3:
		return fault(r, backends.FaultRedirect, fmt.Sprintf("the server redirects (HTTP %d) to %.200q", r.Status,
			r.Header.Get("Location")),
			"Redirects are not followed: give the address that answers itself, with the right scheme and without a path.")
	case r.Status == http.StatusOK && strings.HasPrefix(contentType, "text/html"):
		return fault(r, backends.FaultNotJSON, "the server answered a web page (text/html)",
			"Does the URL point at an inference server, and not at its front page or a proxy?")
	case r.Status != http.StatusOK:
		return fault(r, backends.FaultStatus, fmt.Sprintf("the server answered HTTP %d%s", r.Status, excerpt(r)),
			"Is it an inference server's own port, and does the server have this route (--backend)?")
	}
	return nil
}

func fault(r *nethttp.Reply, f backends.Fault, what, try string) *backends.EndpointError {
	return &backends.EndpointError{URL: r.URL, Fault: f, Text: fmt.Sprintf("GET %s: %s. %s", r.URL, what, try)}
}

// excerpt quotes the beginning of a body. For a web page it names the server that sent it, because pages have similar
// beginnings.
func excerpt(r *nethttp.Reply) string {
	body, server := r.Body, r.Header.Get("Server")
	switch {
	case len(body) == 0:
		return ""
	case !strings.HasPrefix(r.Header.Get("Content-Type"), "text/html"):
		return fmt.Sprintf(": %.200q", body)
	case server == "":
		return " with a web page (text/html)"
	}
	return fmt.Sprintf(" with a web page (text/html) of the server %.60q", server)
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
