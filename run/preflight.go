package run

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/internal/hostinfo"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run/exit"
)

// Preflight is preflight.json: what was probed before the first query.
type Preflight struct {
	Endpoints       []*backends.Probe `json:"endpoints"`
	OpenFiles       hostinfo.NoFile   `json:"open_files"`
	LocalPorts      int               `json:"local_ports"` // that connections to one address can come from
	DiskFreeBytes   uint64            `json:"disk_free_bytes"`
	ExpectedLatency time.Duration     `json:"expected_latency_ns,omitempty"` // SingleStream: median of the answers
	Notes           []string          `json:"notes,omitempty"`
}

// minFreeBytes is what the logs of the longest official run need with room to spare: about 200 bytes a sample and line.
const minFreeBytes = 256 << 20

// latencyProbes is how often a SingleStream preflight asks for an answer.
const latencyProbes = 3

// preflight asks every endpoint what it is, before anything is timed. The prompts of its generations are the first
// samples.
func (p *Plan) preflight(ctx context.Context, d backends.Driver, c *backends.Config, samples []datasets.Sample,
	folder string, o Observer) (*Preflight, error) {
	pre := &Preflight{}
	var err error
	if err = p.reserveConnections(pre, c, thisHost); err != nil {
		return nil, err
	}
	if pre.DiskFreeBytes, err = hostinfo.FreeBytes(folder); err != nil {
		return nil, exit.Environment("disk", "Choose another --output-dir", "%w", err)
	}
	if pre.DiskFreeBytes < minFreeBytes {
		return nil, exit.Environment("disk_full", "Free some space, or choose another --output-dir",
			"the disk of the output folder has %d MiB left, and a test wants %d",
			pre.DiskFreeBytes>>20, minFreeBytes>>20)
	}
	generate := p.Config.Bool("preflight-query")
	asking, stop := narrate(c, o)
	defer stop()
	var latencies []time.Duration
	for _, e := range c.Endpoints {
		for i := range p.probes(generate) {
			probe, err := d.Probe(ctx, e, asking, &samples[i%len(samples)], generate)
			if err != nil {
				return nil, err
			}
			if len(latencies) == 0 || pre.Endpoints[len(pre.Endpoints)-1].URL != probe.URL {
				pre.Endpoints = append(pre.Endpoints, probe)
			}
			latencies = append(latencies, probe.Latency)
		}
	}
	if err := p.checkLengths(pre); err != nil {
		return nil, err
	}
	if note := p.foreignPrompts(samples); note != "" {
		pre.Notes = append(pre.Notes, note)
	}
	if c.Proxy != "" {
		pre.Notes = append(pre.Notes, fmt.Sprintf("requests go through the proxy %s, and its time counts as the server's",
			c.Proxy))
	}
	pre.adapt(c)
	return pre, p.expectLatency(pre, latencies, generate)
}

func (p *Plan) probes(generate bool) int {
	if generate && p.Scenario.LoadGen == models.SingleStream && !p.Config.Has("expected-latency") {
		return latencyProbes
	}
	return 1
}

// probeTokens is the length of the preflight's answers: whole ones where their time is what is asked for.
func (p *Plan) probeTokens() int {
	if p.Scenario.LoadGen == models.SingleStream {
		return p.Config.Int("max-tokens")
	}
	return 8
}

// checkLengths refuses a server whose context is shorter than an answer: it would cut every one without a word.
func (p *Plan) checkLengths(pre *Preflight) error {
	for _, e := range pre.Endpoints {
		if e.MaxModelLen > 0 && e.MaxModelLen <= p.Config.Int("max-tokens") {
			return exit.Environment("context_length", "Start it with a larger --max-model-len",
				"the server at %s has a context of %d tokens, and answers may "+
					"have %d", e.URL, e.MaxModelLen, p.Config.Int("max-tokens"))
		}
	}
	return nil
}

// foreignPrompts tells of token ids of another model: ids of one vocabulary are valid ids of every larger one.
func (p *Plan) foreignPrompts(samples []datasets.Sample) string {
	if p.Row.BOS == models.NoBOS || !p.HasDataset() || p.Row.Name == models.Generic {
		return ""
	}
	n := 0
	for i := range samples {
		ids := samples[i].InputIDs
		if len(ids) > 0 && (ids[0] == p.Row.BOS || ids[0] == datasets.SynthBOS) {
			return ""
		}
		n += min(len(ids), 1)
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("no prompt of the data set begins with token %d, as those of %s do: is it the data set of "+
		"another model?", p.Row.BOS, p.Row.Name)
}

// expectLatency sets SingleStream's expected latency to the median of what was seen. It must be near the truth: LoadGen
// asks for twice min-duration/latency queries, so one that is too short makes a test of hours.
func (p *Plan) expectLatency(pre *Preflight, seen []time.Duration, generate bool) error {
	if p.Scenario.LoadGen != models.SingleStream || p.Config.Has("expected-latency") {
		return nil
	}
	if !generate || len(seen) == 0 {
		return exit.Usage("expected_latency", "Give --expected-latency D",
			"a SingleStream test needs the expected latency of an answer, and the "+
				"preflight query is switched off")
	}
	slices.Sort(seen)
	pre.ExpectedLatency = max(seen[len(seen)/2], time.Microsecond)
	pre.Notes = append(pre.Notes, fmt.Sprintf("expected latency %v: the median of %d answers", pre.ExpectedLatency,
		len(seen)))
	return p.suggest(programOrigin("measured by the preflight"), "expected-latency", pre.ExpectedLatency.String())
}

// openDriver finds the backend's driver and makes its configuration, but for the request bytes.
func (p *Plan) openDriver() (backends.Driver, *backends.Config, error) {
	d, err := backends.Lookup(p.Config.String("backend"))
	if err != nil {
		return nil, nil, exit.Usage("backend", "", "%w", err)
	}
	endpoints, err := p.Endpoints()
	if err != nil {
		return nil, nil, err
	}
	c := p.Config
	config := &backends.Config{
		Endpoints: endpoints,
		RequestOptions: backends.RequestOptions{API: c.String("api"), ServedModel: c.String("served-model"),
			Sampling: p.Sampling(), Stream: p.Scenario.Stream && p.Row.UseTokenLatencies || c.Bool("stream")},
		AnswerOptions: backends.AnswerOptions{KeepText: p.Row.TextAnswers, NeedIDs: !p.Row.TextAnswers,
			MinTokens: p.Row.MinOutputTokens, Vocabulary: p.Row.Vocabulary},
		Dispatch: backends.Dispatch{Concurrency: c.Int("concurrency"), Retries: c.Int("retries"),
			Balance: c.String("lb")},
		Deadlines: backends.Deadlines{RequestTimeout: c.Duration("request-timeout"),
			FirstTokenTimeout: c.Duration("first-token-timeout"), TokenTimeout: c.Duration("token-timeout"),
			ConnectTimeout: c.Duration("connect-timeout"), EndpointTimeout: c.Duration("endpoint-timeout")},
		Transport: backends.Transport{InsecureSkipVerify: c.Bool("insecure-skip-verify"), CAFile: c.String("ca-file"),
			Proxy: c.String("proxy")},
		ProbeOptions: backends.ProbeOptions{ProbeTokens: p.probeTokens()},
	}
	if config.Format, err = p.format(); err != nil {
		return nil, nil, err
	}
	if _, err := backends.Authorities(config.CAFile); err != nil {
		return nil, nil, exit.Usage("ca_file", "Give the PEM file of the authority that signed the server's certificate",
			"--ca-file: %w", err)
	}
	if err := checkProxy(config); err != nil {
		return nil, nil, exit.Usage("proxy", "Give it as http://host:port, and no endpoint on a Unix socket with it",
			"--proxy: %w", err)
	}
	return d, config, p.place(config)
}

// checkProxy refuses a proxy that is none, and sockets, which no proxy reaches.
func checkProxy(c *backends.Config) error {
	if proxy, err := backends.ParseProxy(c.Proxy); proxy == nil {
		return err
	}
	for _, e := range c.Endpoints {
		if e.Socket() != "" {
			return fmt.Errorf("the endpoint %s is a socket of this machine", e.URL)
		}
	}
	return nil
}

// PreflightOnly probes the endpoints of a plan and starts no test. Of the observer it needs Waiting alone.
func PreflightOnly(ctx context.Context, p *Plan, o Observer) (*Preflight, error) {
	samples := []datasets.Sample{{InputIDs: []int32{1, 2, 3, 4}, Input: "one two three", InputLen: 4}}
	rows := p.wanted()
	var notes []string
	if p.HasDataset() {
		ds, err := p.ReadDataset()
		if err != nil {
			return nil, err
		}
		samples, rows, notes = ds.Samples, len(ds.Samples), ds.Notes
	}
	if err := p.suggest(programOrigin("not used by a preflight"), "target-qps", "1"); err != nil {
		return nil, err
	}
	if err := p.Bind(max(rows, 1)); err != nil {
		return nil, err
	}
	d, c, err := p.openDriver()
	if err != nil {
		return nil, err
	}
	pre, err := p.preflight(ctx, d, c, samples, ".", o)
	if cause := context.Cause(ctx); cause != nil { // the endpoint is not to blame
		return nil, fmt.Errorf("the preflight was ended: %w", cause)
	}
	if err == nil {
		pre.Notes = append(pre.Notes, notes...)
	}
	return pre, err
}

// notes are what a user should know of the endpoints.
func (pre *Preflight) notes() []string {
	notes := slices.Clone(pre.Notes)
	for _, e := range pre.Endpoints {
		for _, n := range e.Notes {
			notes = append(notes, strings.TrimSpace(e.URL+": "+n))
		}
	}
	return notes
}
