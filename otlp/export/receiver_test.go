package export

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	metricsservice "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	traceservice "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	traces "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// receiver is a receiver of OTLP over HTTP that parses the official messages.
type receiver struct {
	mu       sync.Mutex
	url      string
	spans    []*traces.Span
	metrics  map[string][]*metrics.Metric
	resource map[string]string
	headers  []http.Header
	bytes    []byte // of all messages
	reject   int64  // spans that it refuses of each message
	status   int    // of its answers; 0: 200
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{metrics: map[string][]*metrics.Metric{}, resource: map[string]string{}}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	r.url = server.URL
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	from := io.Reader(q.Body)
	if q.Header.Get("Content-Encoding") == "gzip" {
		from, _ = gzip.NewReader(q.Body)
	}
	body, err := io.ReadAll(from)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	r.headers, r.bytes = append(r.headers, q.Header), append(r.bytes, body...)
	if r.status != 0 {
		w.WriteHeader(r.status)
		return
	}
	var answer proto.Message
	switch q.URL.Path {
	case "/v1/traces":
		answer, err = r.takeSpans(body)
	case "/v1/metrics":
		answer, err = r.takeMetrics(body)
	default:
		w.WriteHeader(http.StatusNotFound)
		return
	}
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	text, _ := proto.Marshal(answer)
	w.Header().Set("Content-Type", "application/x-protobuf")
	_, _ = w.Write(text)
}

func (r *receiver) takeSpans(body []byte) (proto.Message, error) {
	var m traceservice.ExportTraceServiceRequest
	if err := proto.Unmarshal(body, &m); err != nil {
		return nil, err
	}
	for _, of := range m.ResourceSpans {
		for _, s := range of.ScopeSpans {
			r.spans = append(r.spans, s.Spans...)
		}
	}
	answer := &traceservice.ExportTraceServiceResponse{}
	if r.reject > 0 {
		answer.PartialSuccess = &traceservice.ExportTracePartialSuccess{RejectedSpans: r.reject, ErrorMessage: "too old"}
	}
	return answer, nil
}

func (r *receiver) takeMetrics(body []byte) (proto.Message, error) {
	var m metricsservice.ExportMetricsServiceRequest
	if err := proto.Unmarshal(body, &m); err != nil {
		return nil, err
	}
	for _, of := range m.ResourceMetrics {
		for _, a := range of.Resource.Attributes {
			r.resource[a.Key] = a.Value.GetStringValue()
		}
		for _, s := range of.ScopeMetrics {
			for _, one := range s.Metrics {
				r.metrics[one.Name] = append(r.metrics[one.Name], one)
			}
		}
	}
	return &metricsservice.ExportMetricsServiceResponse{}, nil
}

// attributes returns the values of attributes by name, as Go types.
func attributes(list []*common.KeyValue) map[string]any {
	m := map[string]any{}
	for _, a := range list {
		switch v := a.Value.Value.(type) {
		case *common.AnyValue_StringValue:
			m[a.Key] = v.StringValue
		case *common.AnyValue_IntValue:
			m[a.Key] = v.IntValue
		case *common.AnyValue_BoolValue:
			m[a.Key] = v.BoolValue
		case *common.AnyValue_DoubleValue:
			m[a.Key] = v.DoubleValue
		case *common.AnyValue_ArrayValue:
			var all []string
			for _, one := range v.ArrayValue.Values {
				all = append(all, one.GetStringValue())
			}
			m[a.Key] = all
		}
	}
	return m
}

// sum returns the last value of each series of a counter by its only attribute, and checks that no value falls.
func (r *receiver) sum(t *testing.T, name, by string) map[string]int64 {
	t.Helper()
	last := map[string]int64{}
	for _, m := range r.metrics[name] {
		sum := m.GetSum()
		require.True(t, sum.IsMonotonic)
		require.Equal(t, metrics.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE, sum.AggregationTemporality)
		for _, p := range sum.DataPoints {
			key, _ := attributes(p.Attributes)[by].(string)
			require.GreaterOrEqual(t, p.GetAsInt(), last[key])
			require.Greater(t, p.TimeUnixNano, p.StartTimeUnixNano)
			last[key] = p.GetAsInt()
		}
	}
	return last
}

// histogram returns the last point of a histogram.
func (r *receiver) histogram(t *testing.T, name string) *metrics.HistogramDataPoint {
	t.Helper()
	require.NotEmpty(t, r.metrics[name], name)
	all := r.metrics[name]
	points := all[len(all)-1].GetHistogram().DataPoints
	return points[len(points)-1]
}
