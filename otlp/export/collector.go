package export

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
)

// scope names this package as the source of the spans and metrics.
const scope = "github.com/mlperf-go/mlperf-go/otlp/export"

// Collector is a receiver of OTLP.
type Collector struct {
	traces  *otlptrace.Exporter
	metrics *otlpmetrichttp.Exporter
}

// NewCollector returns the receiver at a base URL such as http://host:4318, to which /v1/traces and /v1/metrics are
// added. If it is empty, OTEL_EXPORTER_OTLP_ENDPOINT and its like name the receiver. Headers, certificates, time limits
// and compression are those of OTEL_EXPORTER_OTLP_*.
func NewCollector(ctx context.Context, base string) (*Collector, error) {
	var traces []otlptracehttp.Option
	var metrics []otlpmetrichttp.Option
	if base != "" {
		u, err := url.Parse(base)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return nil, errors.New("the address of the receiver is not of the form http://host:4318")
		}
		if u.User != nil {
			return nil, errors.New("the address of the receiver has a user; write the header into OTEL_EXPORTER_OTLP_HEADERS")
		}
		traces = append(traces, otlptracehttp.WithEndpointURL(u.JoinPath("v1/traces").String()))
		metrics = append(metrics, otlpmetrichttp.WithEndpointURL(u.JoinPath("v1/metrics").String()))
	}
	c := &Collector{}
	var err error
	if c.traces, err = otlptracehttp.New(ctx, traces...); err != nil {
		return nil, err
	}
	c.metrics, err = otlpmetrichttp.New(ctx, metrics...)
	return c, err
}

// Sent is what the receiver took of a run.
type Sent struct {
	Name   string `json:"name"`
	Trace  string `json:"trace"`
	Spans  int    `json:"spans"`
	Points int    `json:"points"` // of metrics
}

// Send sends a run. At most spans of its requests become spans, spread evenly over the run, and 100 failed ones.
func (c *Collector) Send(ctx context.Context, r *Run, spans int) (*Sent, error) {
	refused := &refusals{}
	otel.SetErrorHandler(refused)
	sent := &Sent{Name: r.Name, Trace: r.trace().String()}
	var err error
	if sent.Spans, err = c.spans(ctx, r, spans); err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	}
	if sent.Points, err = c.figures(ctx, r); err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	return sent, refused.first()
}

// Close ends the connections.
func (c *Collector) Close(ctx context.Context) error {
	return errors.Join(c.traces.Shutdown(ctx), c.metrics.Shutdown(ctx))
}

// refusals keeps the first error that the SDK reports only to the process, for example if a receiver accepts only a
// part.
type refusals struct {
	mu  sync.Mutex
	err error
}

func (r *refusals) Handle(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.err = err
	}
}

func (r *refusals) first() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// resource describes the program that measured, and adds OTEL_RESOURCE_ATTRIBUTES.
func (c *Collector) resource(r *Run) *resource.Resource {
	own := resource.NewSchemaless(append(r.names(), attribute.String("service.name", "mlperf-go"),
		attribute.String("service.version", text(strings.TrimSpace(r.Record.Tool.Version))),
		attribute.String("service.instance.id", r.instance()))...)
	merged, err := resource.Merge(own, resource.Environment())
	if err != nil {
		return own
	}
	return merged
}
