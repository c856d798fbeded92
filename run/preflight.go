package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/metrics/hostinfo"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run/discover"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/plan"
	"github.com/mlperf-go/mlperf-go/run/record"
)

// Preflight is preflight.json: what was found before the first query.
type Preflight struct {
	Backend    *record.BackendChoice `json:"backend"`
	Endpoints  []*backends.Probe     `json:"endpoints"`
	OpenFiles  hostinfo.NoFile       `json:"open_files"`
	LocalPorts int                   `json:"local_ports"` // local ports for connections to one address
	// DiskFreeBytes is 0 if the file system reports no size.
	DiskFreeBytes   uint64        `json:"disk_free_bytes"`
	ExpectedLatency time.Duration `json:"expected_latency_ns,omitempty"` // SingleStream: median of the answers
	Notes           []string      `json:"notes,omitempty"`
}

// minFreeBytes is the disk space for the logs of the longest official run, about 200 bytes per sample and line, with a
// margin.
const minFreeBytes = 256 << 20

// latencyProbes is the number of answers that a SingleStream preflight requests.
const latencyProbes = 3

// prober checks the machine and asks every endpoint what it is, before anything is timed.
type prober struct {
	plan     *plan.Plan
	driver   backends.Driver
	config   *backends.Config
	observer Observer
}

// preflight returns what it found. The prompts of its requests are the first samples.
func (b *prober) preflight(ctx context.Context, samples []datasets.Sample, folder string) (*Preflight, error) {
	pre, p, c := &Preflight{}, b.plan, b.config
	var err error
	if err = b.reserveConnections(pre, thisHost); err != nil {
		return nil, err
	}
	var known bool
	if pre.DiskFreeBytes, known, err = hostinfo.FreeBytes(folder); err != nil {
		return nil, exit.Environment(exit.CodeDisk, "Choose another --output-dir", "%w", err)
	}
	if known && pre.DiskFreeBytes < minFreeBytes {
		return nil, exit.Environment(exit.CodeDiskFull, "Free some space, or choose another --output-dir",
			"the disk of the output folder has %d MiB left, and a test needs %d",
			pre.DiskFreeBytes>>20, minFreeBytes>>20)
	}
	generate := p.Config.Bool("preflight-query")
	asking, stop := narrate(c, b.observer)
	defer stop()
	var latencies []time.Duration
	for _, e := range c.Endpoints {
		for i := range b.probes(generate) {
			probe, err := b.driver.Probe(ctx, e, asking, &samples[i%len(samples)], generate)
			if err != nil {
				return nil, b.causeOf(ctx, err, e, asking)
			}
			if len(latencies) == 0 || pre.Endpoints[len(pre.Endpoints)-1].URL != probe.URL {
				pre.Endpoints = append(pre.Endpoints, probe)
			}
			latencies = append(latencies, probe.Latency)
		}
	}
	if err := b.checkLengths(pre); err != nil {
		return nil, err
	}
	if note := foreignPrompts(p, samples); note != "" {
		pre.Notes = append(pre.Notes, note)
	}
	pre.Notes = append(pre.Notes, c.ProxyNotes()...)
	pre.adapt(c)
	return pre, b.expectLatency(pre, latencies, generate)
}

// causeOf returns the error of a context that is too short for the test as the reason why a server rejected a request;
// otherwise err.
func (b *prober) causeOf(ctx context.Context, err error, e backends.Endpoint, c *backends.Config) error {
	var refused *backends.EndpointError
	if !errors.As(err, &refused) || refused.Fault != backends.FaultGenerate {
		return err
	}
	if probe, failed := b.driver.Probe(ctx, e, c, nil, false); failed == nil {
		if short := b.checkLengths(&Preflight{Endpoints: []*backends.Probe{probe}}); short != nil {
			return short
		}
	}
	return err
}

func (b *prober) probes(generate bool) int {
	p := b.plan
	if generate && p.Scenario.LoadGen == models.SingleStream && !p.Config.Has("expected-latency") {
		return latencyProbes
	}
	return 1
}

// checkLengths rejects a server whose context is shorter than an answer or than a prompt with its answer. The server
// would cut the answer without a message, or reject the prompt.
func (b *prober) checkLengths(pre *Preflight) error {
	answer, prompt := b.plan.Config.Int("max-tokens"), b.plan.LongestPrompt()
	for _, e := range pre.Endpoints {
		if e.MaxModelLen <= 0 || e.MaxModelLen > answer && e.MaxModelLen >= answer+prompt {
			continue
		}
		lengths := fmt.Sprintf("answers may have %d", answer)
		if prompt > 0 {
			lengths = fmt.Sprintf("the longest prompt has %d and its answer may have %d", prompt, answer)
		}
		return exit.Environment(exit.CodeContextLength, "Start it with a larger --max-model-len",
			"the server at %s has a context of %d tokens, and %s", e.URL, e.MaxModelLen, lengths)
	}
	return nil
}

// foreignPrompts returns a note if the token ids seem to be another model's: ids of one vocabulary are valid ids of
// every larger one.
func foreignPrompts(p *plan.Plan, samples []datasets.Sample) string {
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

// expectLatency sets SingleStream's expected latency to the median of the preflight's answers. LoadGen issues twice
// min-duration/latency queries, so a value that is too short makes a test of hours.
func (b *prober) expectLatency(pre *Preflight, seen []time.Duration, generate bool) error {
	p := b.plan
	if p.Scenario.LoadGen != models.SingleStream || p.Config.Has("expected-latency") {
		return nil
	}
	if !generate || len(seen) == 0 {
		return exit.Usage(exit.CodeExpectedLatency, "Give --expected-latency D",
			"a SingleStream test needs the expected latency of an answer, and the "+
				"preflight query is switched off")
	}
	slices.Sort(seen)
	pre.ExpectedLatency = max(seen[len(seen)/2], time.Microsecond)
	pre.Notes = append(pre.Notes, fmt.Sprintf("LoadGen plans the test for answers of %v (the median of %d answers of "+
		"the preflight); --expected-latency sets another time", pre.ExpectedLatency, len(seen)))
	return p.Suggest(plan.ProgramOrigin("measured by the preflight"), "expected-latency", pre.ExpectedLatency.String())
}

// PreflightOnly probes the endpoints of a plan without starting a test. It calls only Waiting of the observer. Without
// a data set the plan gets the rows of the synthetic one that its test would make.
func PreflightOnly(ctx context.Context, of *Plan, o Observer) (*Preflight, error) {
	p := of.inner()
	samples := []datasets.Sample{{InputIDs: []int32{1, 2, 3, 4}, Input: "one two three", InputLen: 4}}
	rows := p.Samples()
	var notes []string
	if p.HasDataset() {
		ds, err := p.ReadDataset()
		if err != nil {
			return nil, err
		}
		samples, rows, notes = ds.Samples, len(ds.Samples), ds.Notes
	}
	if err := p.Suggest(plan.NoRate, "target-qps", "1"); err != nil {
		return nil, err
	}
	choice, err := bind(ctx, p, rows, o)
	if cause := context.Cause(ctx); cause != nil { // the endpoint is not the reason
		return nil, fmt.Errorf("the preflight was ended: %w", cause)
	}
	if err != nil {
		return nil, err
	}
	d, c, err := p.OpenDriver()
	if err != nil {
		return nil, err
	}
	pre, err := (&prober{p, d, c, o}).preflight(ctx, samples, p.Folder())
	pre.choose(choice)
	if cause := context.Cause(ctx); cause != nil { // the endpoint is not the reason
		return nil, fmt.Errorf("the preflight was ended: %w", cause)
	}
	if err == nil {
		pre.Notes = append(pre.Notes, notes...)
	}
	return pre, err
}

// bind checks the input, asks the endpoints which backend the plan needs, or whether the user's fits, and binds the
// plan.
func bind(ctx context.Context, p *plan.Plan, rows int, o Observer) (*record.BackendChoice, error) {
	if err := p.CheckInput(rows); err != nil {
		return nil, err
	}
	asking, stop := narrate(&backends.Config{}, o)
	choice, err := discover.Backend(ctx, p, asking.Asking)
	stop()
	if err != nil {
		return nil, err
	}
	return choice, p.Bind(rows)
}

// choose keeps how the backend was chosen.
func (pre *Preflight) choose(c *record.BackendChoice) {
	if pre != nil {
		pre.Backend = c
		pre.Notes = append(pre.Notes, c.Notes...)
	}
}

// notes returns what a user should know about the endpoints.
func (pre *Preflight) notes() []string {
	notes := slices.Clone(pre.Notes)
	for _, e := range pre.Endpoints {
		for _, n := range e.Notes {
			notes = append(notes, strings.TrimSpace(e.URL+": "+n))
		}
	}
	return notes
}

// adapt configures requests for the probed servers: a field that one of them rejects goes to none of them, and each
// endpoint gets its stream mode.
func (pre *Preflight) adapt(c *backends.Config) {
	c.Endpoints = slices.Clone(c.Endpoints)
	for i := range c.Endpoints {
		c.Endpoints[i].IDs = backends.IDsOff
		at := slices.IndexFunc(pre.Endpoints, func(p *backends.Probe) bool { return p.URL == c.Endpoints[i].URL })
		if at < 0 {
			continue
		}
		c.Endpoints[i].StreamMode = pre.Endpoints[at].StreamMode
		if c.Endpoints[i].Model = pre.Endpoints[at].AnswerModel; pre.Endpoints[at].Identified {
			c.Endpoints[i].IDs = backends.IDsRequired
		}
	}
	for i, e := range pre.Endpoints {
		if i == 0 {
			c.ServerVersion = e.Version
		} else if c.ServerVersion != e.Version {
			c.ServerVersion = ""
		}
		c.IDsInLogprobs = c.IDsInLogprobs || e.IDsInLogprobs
		for _, field := range e.Dropped {
			if !slices.Contains(c.Drop, field) {
				c.Drop = append(c.Drop, field)
			}
		}
	}
}
