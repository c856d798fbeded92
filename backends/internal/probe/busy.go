package probe

import (
	"bufio"
	"bytes"
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf-go/backends/internal/nethttp"
	"github.com/mlperf-go/mlperf-go/internal/plural"
)

// inFlight are the gauges of running and waiting requests of vLLM, SGLang and llama.cpp
// (docs/reference/wire-protocols.md#metrics).
var inFlight = []string{
	"vllm:num_requests_running", "vllm:num_requests_waiting",
	"sglang:num_running_reqs", "sglang:num_queue_reqs",
	"llamacpp:requests_processing", "llamacpp:requests_deferred",
}

// Busy asks how many requests are in flight at the server before the test begins, because other users' requests make
// its answers slower. Servers report the number in their metrics, some in /load. A server that reports nothing is
// accepted.
func (p *Prober) Busy(ctx context.Context) error {
	n, where, err := p.requests(ctx)
	if err != nil || where == "" {
		return err
	}
	p.Found.InFlight = &n
	if n > 0 {
		p.Note("GET %s reports %s the test down", where,
			plural.Count(n, "other request in flight at the server: it slows",
				"other requests in flight at the server: they slow"))
	}
	return nil
}

// requests reads the number from the first route that reports it; where is empty if none does.
func (p *Prober) requests(ctx context.Context) (n int, where string, err error) {
	const metrics, load = "/metrics", "/load"
	r, err := nethttp.Get(ctx, p.Config, p.Endpoint, metrics, getTimeout)
	if err != nil {
		return 0, "", err
	}
	if r.Status == http.StatusOK {
		if n, ok := sumGauges(r.Body); ok {
			return n, metrics, nil
		}
	}
	var body struct {
		Load *int `json:"server_load"`
	}
	if _, err := p.Ask(ctx, load, &body); err != nil || body.Load == nil {
		return 0, "", err
	}
	return max(0, *body.Load), load, nil
}

// sumGauges adds the gauges of all engines in Prometheus' text format; ok is false without any.
func sumGauges(exposition []byte) (n int, ok bool) {
	lines := bufio.NewScanner(bytes.NewReader(exposition))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		name, rest, _ := strings.Cut(lines.Text(), " ")
		name, _, labelled := strings.Cut(name, "{")
		if !slices.Contains(inFlight, name) {
			continue
		}
		if labelled { // the value of a label may contain blanks and braces
			rest = lines.Text()[strings.LastIndexByte(lines.Text(), '}')+1:]
		}
		value, _, _ := strings.Cut(strings.TrimSpace(rest), " ") // a time may follow
		if v, err := strconv.ParseFloat(value, 64); err == nil && v >= 0 && v < 1<<31 {
			n, ok = n+int(v), true
		}
	}
	return n, ok
}
