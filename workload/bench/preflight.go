package bench

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/identify"
	"github.com/mlperf-go/mlperf-go/metrics/hostinfo"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/plan"
	"github.com/mlperf-go/mlperf-go/tokenizer"
	"github.com/mlperf-go/mlperf-go/workload/engine"
	"github.com/mlperf-go/mlperf-go/workload/profile"
	"github.com/mlperf-go/mlperf-go/workload/prompts"
	"github.com/mlperf-go/mlperf-go/workload/trace"
)

// target contains the servers of a run and the findings of the probe.
type target struct {
	name    string // of the backend
	driver  backends.Driver
	config  *backends.Config
	encoder *engine.Encoder
	source  prompts.Source
	probes  []*backends.Probe
	notes   []string
	// simulated is set if a server is the simulator.
	simulated bool
	read      profile.TraceFile // description of the trace in recorded
	// recorded is the trace that was read last; nil: none.
	recorded *trace.Trace
}

// trace reads a trace, but only once if arrivals and lengths are those of one file.
func (t *target) trace(f *profile.TraceFile) (*trace.Trace, error) {
	if t.recorded != nil && t.read == *f {
		return t.recorded, nil
	}
	var err error
	t.recorded, err = trace.Read(f)
	t.read = *f
	return t.recorded, err
}

// auto lets the servers show which backend they need.
const auto = "auto"

// find identifies the endpoints, and sends the profile's first request to each.
func find(ctx context.Context, o *Options) (*target, error) {
	p := o.Profile
	endpoints, err := backends.ParseEndpoints(o.Endpoints)
	if err != nil {
		return nil, exit.Usage(exit.CodeEndpoint, "Write --endpoint-url http://host:port", "%w", err)
	}
	c := &backends.Config{Transport: o.Transport, Endpoints: endpoints}
	for i := range c.Endpoints {
		c.Endpoints[i].APIKey, c.Endpoints[i].Headers = o.APIKey, p.API.Headers
	}
	if len(c.Endpoints) == 0 {
		return nil, exit.Usage(exit.CodeEndpoint, "Write --endpoint-url http://host:port", "no endpoint is given")
	}
	if err := plan.CheckTransport(c); err != nil {
		return nil, err
	}
	t := &target{name: o.Backend, config: c, notes: c.ProxyNotes()}
	if err := t.choose(ctx); err != nil {
		return nil, err
	}
	t.configure(o)
	if p.API.Kind == "messages" && p.API.IgnoreEOS {
		t.notes = append(t.notes, "the API messages cannot make answers as long as their limit (api.ignore_eos): they end "+
			"where the model ends them")
	}
	words, err := t.tokenizer(o)
	if err != nil {
		return nil, err
	}
	t.source, err = prompts.Open(p, prompts.Options{Vocabulary: o.Vocabulary, Requests: requests(p), Tokenizer: words,
		ReadTrace: t.trace})
	if err != nil {
		return nil, exit.Usage(exit.CodeProfile, "", "%w", err)
	}
	if err := p.Load.CheckSessions(t.source.Sessions()); err != nil {
		return nil, exit.Usage(exit.CodeProfile, "", "%w", err)
	}
	if noted, ok := t.source.(interface{ Notes() []string }); ok {
		t.notes = append(t.notes, noted.Notes()...)
	}
	if err := t.probe(ctx, p, o.Model); err != nil {
		return nil, err
	}
	c.KeepText = t.source.Conversations() > 0 || p.Data.Kind == profile.Recorded
	t.encoder, err = engine.NewEncoder(p, t.driver, c)
	return t, err
}

// isPath reports whether the text can only be a path. Profiles of other tools often name a model of a hub.
func isPath(text string) bool {
	return filepath.IsAbs(text) || strings.HasPrefix(text, ".") || strings.HasPrefix(text, "~") ||
		filepath.Ext(text) == ".json" || strings.Count(text, "/") > 1
}

// tokenizer opens the served model's tokenizer; nil: no file was given.
func (t *target) tokenizer(o *Options) (*tokenizer.Tokenizer, error) {
	path, named := o.Tokenizer, o.Profile.API.Tokenizer
	_, err := os.Stat(named)
	switch {
	case path != "" || named == "":
	case err == nil:
		path = named
	case isPath(named):
		return nil, exit.Usage(exit.CodeTokenizer, "Correct the profile, or give the file with --tokenizer",
			"api.tokenizer of the profile: %w", err)
	default:
		t.notes = append(t.notes, fmt.Sprintf("the tokenizer of the profile, %q, is a name and not read; give its file with "+
			"--tokenizer", named))
	}
	if path == "" {
		if prompts.NeedsTokenizer(o.Profile) {
			t.notes = append(t.notes, "no tokenizer is given (--tokenizer): the lengths of prompts are exact for the simulator "+
				"only; the figures count what the server reports")
		}
		return nil, nil
	}
	found, err := tokenizer.Open(path)
	if err != nil {
		return nil, exit.Usage(exit.CodeTokenizer, "Give the file tokenizer.json of the served model", "--tokenizer: %w", err)
	}
	return found, nil
}

// choose identifies the servers and selects the backend. A server that does not answer is an error only if the backend
// depends on it. Otherwise the probe reports it in the terms of the backend.
func (t *target) choose(ctx context.Context) error {
	isOpen := t.name == "" || t.name == auto
	found, err := identify.All(ctx, t.config)
	if err != nil && (isOpen || ctx.Err() != nil) {
		return err
	}
	t.simulated = slices.ContainsFunc(found, func(s *identify.Server) bool { return s.Simulator })
	if isOpen {
		if t.name = found[0].Backend(); t.name == "" {
			t.name = "openai"
			t.notes = append(t.notes, fmt.Sprintf("backend openai: %s", found[0].Why()))
		}
	}
	if t.driver, err = backends.Lookup(t.name); err != nil {
		return exit.Usage(exit.CodeBackend, "", "%w", err)
	}
	return nil
}

func (t *target) configure(o *Options) {
	p, c := o.Profile, t.config
	c.RequestOptions = backends.RequestOptions{API: p.API.Kind, Stream: p.API.Stream, Passages: p.Data.Ranked().Count}
	c.Dispatch = backends.Dispatch{Retries: o.Retries, Balance: o.Balance}
	c.Deadlines = o.Timeouts
	if p.API.RequestTimeout > 0 {
		c.RequestTimeout = p.API.RequestTimeout
	}
	c.ProbeOptions = backends.ProbeOptions{ProbeTokens: 8, ModelFlag: "--model"}
}

// probe sends the profile's first request to each endpoint, with a short answer.
func (t *target) probe(ctx context.Context, p *profile.Profile, model string) error {
	c := t.config
	c.ServedModel = cmp.Or(model, p.API.Model)
	if c.ServedModel == "" {
		first, err := t.driver.Probe(ctx, c.Endpoints[0], c, nil, false)
		if err != nil {
			return err
		}
		if len(first.Models) == 0 {
			return exit.Usage(exit.CodeModel, "Give --model", "the server at %s lists no model", first.URL)
		}
		if c.ServedModel = first.Models[0]; len(first.Models) > 1 {
			t.notes = append(t.notes, fmt.Sprintf("model %s: the first of %s", c.ServedModel, strings.Join(first.Models, ", ")))
		}
	}
	var r prompts.Request
	if err := t.source.Request(0, 0, &r); err != nil {
		return exit.Usage(exit.CodeProfile, "", "the first request: %w", err)
	}
	encoder, err := engine.NewEncoder(p, t.driver, c)
	if err != nil {
		return exit.Usage(exit.CodeProfile, "", "%w", err)
	}
	r.Model = ""
	sample, own := encoder.Sample(&r, nil)
	own.Sampling.MaxTokens = max(own.Sampling.MaxTokens, 1)
	for i, e := range c.Endpoints {
		probe, err := t.driver.Probe(ctx, e, own, sample, true)
		if err != nil {
			return err
		}
		t.probes = append(t.probes, probe)
		t.adapt(i, probe)
	}
	return nil
}

// adapt configures requests for a probed server.
func (t *target) adapt(i int, probe *backends.Probe) {
	c := t.config
	e := &c.Endpoints[i]
	e.StreamMode, e.Model, e.IDs = probe.StreamMode, probe.AnswerModel, backends.IDsOff
	if probe.Identified {
		e.IDs = backends.IDsRequired
	}
	c.ServerVersion = probe.Version
	c.IDsInLogprobs = c.IDsInLogprobs || probe.IDsInLogprobs
	for _, field := range probe.Dropped {
		if !slices.Contains(c.Drop, field) {
			c.Drop = append(c.Drop, field)
		}
	}
	for _, note := range probe.Notes {
		t.notes = append(t.notes, probe.URL+": "+note)
	}
}

// connections bounds the connections that the profile needs at once; 0: the answers decide.
func connections(p *profile.Profile) int {
	most := 0
	for _, s := range p.Load.Stages {
		n := s.Concurrency
		if p.Load.InFlight > 0 && (n == 0 || p.Load.InFlight < n) {
			n = p.Load.InFlight
		}
		if n == 0 {
			return 0
		}
		most = max(most, n)
	}
	return most
}

// spareFiles are open files beside the connections.
const spareFiles = 200

// reserve raises the limit of open files, and rejects a run that needs more ports than the machine has.
func (t *target) reserve(p *profile.Profile) error {
	need := connections(p)
	if _, err := hostinfo.RaiseNoFile(uint64(max(need, 1024)) + spareFiles); err != nil {
		return exit.Environment(exit.CodeOpenFiles, "Lower the concurrency", "%w", err)
	}
	ports, err := hostinfo.LocalPorts()
	if err != nil || need <= ports*len(t.config.Endpoints) {
		return nil // the run need not fail if the number of ports is unknown
	}
	return exit.Environment(exit.CodeLocalPorts, "Widen net.ipv4.ip_local_port_range, give more endpoints, or lower the "+
		"concurrency", "the run needs %d connections to %d addresses, and this machine has %d local ports for each", need,
		len(t.config.Endpoints), ports)
}
