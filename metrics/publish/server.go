package publish

import (
	"bytes"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"github.com/mlperf-go/mlperf-go/internal/crash"
)

// Sample is one figure of the page.
type Sample struct {
	Name    string
	Help    string
	Counter bool // false: a gauge
	Value   float64
}

// Server serves the page at /metrics.
type Server struct {
	labels  []*dto.LabelPair
	address string
	http    *http.Server
	page    atomic.Pointer[[]Sample]
}

// How long a client may take, and how large its header may be.
const (
	clientTimeout = 5 * time.Second
	maxHeader     = 16 << 10 // bytes
)

// Start listens at host:port, without a host on loopback. Every sample gets the labels. A *net.AddrError is within the
// error if the address is malformed.
func Start(address string, labels map[string]string) (*Server, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if host == "" {
		host = "127.0.0.1"
	}
	l, err := net.Listen("tcp", net.JoinHostPort(host, port))
	if err != nil {
		return nil, err
	}
	s := &Server{address: l.Addr().String()}
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		value := labels[name]
		s.labels = append(s.labels, &dto.LabelPair{Name: &name, Value: &value})
	}
	s.page.Store(&[]Sample{})
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", s.serve)
	s.http = &http.Server{Handler: mux, ReadTimeout: clientTimeout, WriteTimeout: clientTimeout,
		IdleTimeout: time.Minute, MaxHeaderBytes: maxHeader}
	go func() {
		defer crash.Catch()
		_ = s.http.Serve(l) // it ends with Close
	}()
	return s, nil
}

// URL returns the address of the page.
func (s *Server) URL() string { return "http://" + s.address + "/metrics" }

// Set replaces the page. Any goroutine may call it; on nil it does nothing.
func (s *Server) Set(samples []Sample) {
	if s != nil {
		s.page.Store(&samples)
	}
}

// Close ends the server. It may be called on nil.
func (s *Server) Close() {
	if s != nil {
		_ = s.http.Close()
	}
}

func (s *Server) serve(w http.ResponseWriter, _ *http.Request) {
	var text bytes.Buffer
	for _, sample := range *s.page.Load() {
		if _, err := expfmt.MetricFamilyToText(&text, s.family(sample)); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
	}
	w.Header().Set("Content-Type", string(expfmt.NewFormat(expfmt.TypeTextPlain)))
	_, _ = w.Write(text.Bytes()) // the client may have gone
}

func (s *Server) family(sample Sample) *dto.MetricFamily {
	kind, m := dto.MetricType_GAUGE, &dto.Metric{Label: s.labels, Gauge: &dto.Gauge{Value: &sample.Value}}
	if sample.Counter {
		kind, m = dto.MetricType_COUNTER, &dto.Metric{Label: s.labels, Counter: &dto.Counter{Value: &sample.Value}}
	}
	return &dto.MetricFamily{Name: &sample.Name, Help: &sample.Help, Type: &kind, Metric: []*dto.Metric{m}}
}
