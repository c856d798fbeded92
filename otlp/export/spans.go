package export

import (
	"context"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/mlperf-go/mlperf-go/internal/foreign"
	"github.com/mlperf-go/mlperf-go/ledger"
)

// Bounds of the spans of a run.
const (
	spanBatch  = 512
	moreFailed = 100 // failed requests that have a span in addition to the sample
	textRunes  = 200 // of a text from another program
)

// sampling decides which requests have a span: every n-th, and the first failed ones.
type sampling struct{ every, failed int }

func newSampling(requests, most int) sampling {
	if most <= 0 {
		return sampling{}
	}
	return sampling{every: (requests + most - 1) / most, failed: moreFailed}
}

func (s *sampling) take(i int, failed bool) bool {
	switch {
	case s.every == 0:
		return false
	case i%s.every == 0:
		return true
	case failed && s.failed > 0:
		s.failed--
		return true
	}
	return false
}

// ids is the SDK's source of ids, which are derived from the run.
type ids struct{}

type idsKey struct{}

type idPair struct {
	trace trace.TraceID
	span  trace.SpanID
}

func (ids) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	p, _ := ctx.Value(idsKey{}).(idPair)
	return p.trace, p.span
}

func (ids) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	p, _ := ctx.Value(idsKey{}).(idPair)
	return p.span
}

// batches passes ended spans to an exporter, and keeps its first error. The SDK's own batches would drop spans, and
// report errors to the process alone.
type batches struct {
	to    sdk.SpanExporter
	spans []sdk.ReadOnlySpan
	sent  int
	err   error
}

func (b *batches) OnStart(context.Context, sdk.ReadWriteSpan) {}
func (b *batches) OnEnd(s sdk.ReadOnlySpan)                   { b.spans = append(b.spans, s) }
func (b *batches) Shutdown(context.Context) error             { return nil }
func (b *batches) ForceFlush(context.Context) error           { return nil }

// flush sends the gathered spans if there are at least as many as least.
func (b *batches) flush(ctx context.Context, least int) {
	if b.err != nil || len(b.spans) < max(least, 1) {
		return
	}
	if b.err = b.to.ExportSpans(ctx, b.spans); b.err == nil {
		b.sent += len(b.spans)
	}
	b.spans = b.spans[:0]
}

// spans sends the span of the run and those of its requests, and returns their number.
func (c *Collector) spans(ctx context.Context, r *Run, most int) (int, error) {
	b := &batches{to: c.traces}
	provider := sdk.NewTracerProvider(sdk.WithSpanProcessor(b), sdk.WithIDGenerator(ids{}),
		sdk.WithSampler(sdk.AlwaysSample()), sdk.WithResource(c.resource(r)))
	tracer := provider.Tracer(scope)
	id := idPair{r.trace(), r.root()}
	sample := newSampling(len(r.Requests.Entries), most)
	in, root := tracer.Start(context.WithValue(ctx, idsKey{}, id), "mlperf-go run", trace.WithTimestamp(r.start),
		trace.WithAttributes(r.attributes()...),
		trace.WithAttributes(attribute.Int("mlperf_go.span_of_one_in", sample.every)))
	i := -1
	r.EachRequest(func(e *ledger.Entry, dueNS int64, _ ledger.Times) {
		if i++; ctx.Err() != nil || !sample.take(i, e.DoneNS != 0 && !e.Succeeded()) {
			return
		}
		r.request(context.WithValue(in, idsKey{}, idPair{id.trace, span(e.Seq)}), tracer, e, dueNS)
		b.flush(ctx, spanBatch)
	})
	root.End(trace.WithTimestamp(r.end))
	b.flush(ctx, 1)
	return b.sent, b.err
}

// request creates the span of a request, from when it was due to the end of its answer. A request without an end lasts
// until the run's end.
func (r *Run) request(ctx context.Context, tracer trace.Tracer, e *ledger.Entry, dueNS int64) {
	end := r.end
	if e.DoneNS != 0 {
		end = r.WallClock(e.DoneNS)
	}
	_, s := tracer.Start(ctx, "request", trace.WithTimestamp(r.WallClock(dueNS)), trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(r.of(e)...))
	for _, event := range []struct {
		name string
		ns   int64
	}{{"sent", e.SentNS}, {"first token", e.FirstTokenNS}, {"last token", e.LastTokenNS}} {
		if event.ns != 0 {
			s.AddEvent(event.name, trace.WithTimestamp(r.WallClock(event.ns)))
		}
	}
	if reason := r.reason(e); reason != "" {
		s.SetStatus(codes.Error, reason)
		s.SetAttributes(attribute.String("error.type", reason))
	}
	s.End(trace.WithTimestamp(end))
}

// reason returns why a request did not succeed; "": it did.
func (r *Run) reason(e *ledger.Entry) string {
	switch {
	case e.Succeeded():
		return ""
	case e.DoneNS == 0:
		return "unfinished"
	}
	return text(string(r.Requests.Names.Reason(e)))
}

// of returns the attributes of a request.
func (r *Run) of(e *ledger.Entry) []attribute.KeyValue {
	list := []attribute.KeyValue{attribute.Int("mlperf_go.seq", int(e.Seq)),
		attribute.Int("mlperf_go.retries", int(e.Retries))}
	if r.Workload == nil {
		list = append(list, attribute.Int("mlperf_go.index", int(e.Index)))
	}
	if e.InputTokens > 0 {
		list = append(list, attribute.Int("gen_ai.usage.input_tokens", int(e.InputTokens)))
	}
	if e.DoneNS != 0 {
		list = append(list, attribute.Int("gen_ai.usage.output_tokens", int(e.OutputTokens)))
	}
	if finish := r.Requests.Names.Finish(e); finish != "" {
		list = append(list, attribute.StringSlice("gen_ai.response.finish_reasons", []string{text(finish)}))
	}
	if server := r.server(e); server != "" {
		list = append(list, attribute.String("server.address", text(server)))
	}
	return list
}

// attributes returns those of the run's own span.
func (r *Run) attributes() []attribute.KeyValue {
	rec := r.Record
	var reasons []string
	for _, cause := range rec.Reasons {
		reasons = append(reasons, string(cause.Code))
	}
	list := []attribute.KeyValue{attribute.String("mlperf_go.verdict", string(rec.Verdict)),
		attribute.StringSlice("mlperf_go.reasons", reasons), attribute.Bool("mlperf_go.rehearsal", rec.Rehearsal),
		attribute.Int64("mlperf_go.requests", rec.Samples.Issued), attribute.Int64("mlperf_go.failed", rec.Samples.Failed),
		attribute.Float64("mlperf_go.duration_s", rec.DurationS)}
	return append(list, r.names()...)
}

// names returns what the run was, which its spans and its metrics have.
func (r *Run) names() (list []attribute.KeyValue) {
	rec := r.Record
	kind := ""
	if r.Workload != nil {
		kind = r.Workload.Title
	}
	for _, n := range [][2]string{{"gen_ai.request.model", rec.Model}, {"mlperf_go.scenario", string(rec.Scenario)},
		{"mlperf_go.mode", string(rec.Mode)}, {"mlperf_go.workload", kind}} {
		if n[1] != "" {
			list = append(list, attribute.String(n[0], text(n[1])))
		}
	}
	return list
}

// text returns a text of the record as valid UTF-8 of bounded length, as protobuf requires.
func text(s string) string {
	return strings.ToValidUTF8(foreign.Line(strings.ToValidUTF8(s, "?"), textRunes), "?")
}

// since returns the time of the run at some seconds.
func (r *Run) since(s float64) time.Time { return r.start.Add(time.Duration(s * float64(time.Second))) }
