package probe

import (
	"context"
	"fmt"
	"time"

	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/client"
	"github.com/mlperf-go/mlperf-go/datasets"
)

// probeTokens is the length of the short answer where Config.ProbeTokens is 0.
const probeTokens = 8

// generate sends one short request of the kind that the test will send, on the client that the test will use.
func (p *Prober) generate(ctx context.Context, sample *datasets.Sample) error {
	c := *p.Config
	c.Endpoints = []backends.Endpoint{p.Endpoint}
	longest := c.ProbeTokens
	if longest <= 0 {
		longest = probeTokens
	}
	c.Sampling.MaxTokens = min(longest, c.Sampling.MaxTokens)
	c.Sampling.MinTokens = min(c.Sampling.MinTokens, c.Sampling.MaxTokens)
	c.MinTokens, c.Concurrency, c.Balance, c.Batch = 0, 1, "", 0
	body, err := p.Wire.Encode(nil, sample, &c)
	if err != nil {
		return fmt.Errorf("the generation probe can not be encoded: %w", err)
	}
	c.NeedIDs = false // asked for all the same; whether they come is what the probe finds out
	c.Request = func(int) []byte { return body }
	wire, err := p.Wire.Protocol(&c)
	if err != nil {
		return err
	}
	backend, err := client.Named(p.Found.Client, &c, wire)
	if err != nil {
		return err
	}
	var got probeSink
	if err := backend.Serve(ctx, &oneQuery{}, &got); err != nil {
		return err
	}
	p.record(&got.outcome, len(sample.InputIDs) > 0 && c.API != "chat")
	return p.judge(&got, p.Endpoint.URL+wire.Path())
}

func (p *Prober) record(o *backends.Outcome, ids bool) {
	ok := o.Reason == backends.OK || o.Reason == backends.FailNoFirstToken
	p.Found.Generated = ok
	p.Found.TokenIDPrompt = ok && ids
	p.Found.ReturnsTokenIDs = o.TokenSource == backends.TokensFromIDs
	p.Found.Usage = o.UsageTokens >= 0
	p.Found.Streams = p.Config.Stream && o.FirstTokenNS != 0
	p.Found.OutputTokens = o.NTokens
	if ok {
		p.Found.Latency = time.Duration(o.LastTokenNS - o.SentNS)
	}
	if o.FirstTokenNS != 0 {
		p.Found.TTFT = time.Duration(o.FirstTokenNS - o.SentNS)
	}
}

func (p *Prober) judge(got *probeSink, url string) error {
	refuse := func(f backends.Fault, what, try string) error {
		return &backends.EndpointError{URL: url, Fault: f, Models: p.Found.Models,
			Text: fmt.Sprintf("The short test request to %s failed: %s. %s", url, what, try)}
	}
	o := &got.outcome
	switch {
	case o.Reason == backends.FailNoFirstToken:
		return refuse(backends.FaultNoStream, "a stream was asked for and one whole answer came",
			"The scenario needs the time of the first token: use a server or gateway that streams.")
	case o.Reason == "http_401" || o.Reason == "http_403":
		return refuse(backends.FaultUnauthorized, got.detail, "Give the key that the server was started with (--api-key).")
	case o.Reason != backends.OK && !p.Found.ReturnsTokenIDs && !p.Found.Usage && o.Reason == backends.FailBadEvent:
		return refuse(backends.FaultNoTokenCount, got.detail, "Use a server that sends one of them.")
	case o.Reason != backends.OK:
		return refuse(backends.FaultGenerate, fmt.Sprintf("%s (%s)", got.detail, o.Reason), "The server's log tells more; --no-preflight-query leaves this request out.")
	case p.Config.NeedIDs && !p.Found.ReturnsTokenIDs:
		return refuse(backends.FaultNoTokenIDs, "the answer carries no token ids, which this benchmark hands to LoadGen",
			p.NoIDs)
	}
	return nil
}

// oneQuery is a source of one query.
type oneQuery struct{ popped bool }

func (s *oneQuery) Pop(dst []loadgen.Query) int {
	if s.popped || len(dst) == 0 {
		return 0
	}
	s.popped = true
	dst[0] = loadgen.Query{ID: 1, IssuedNS: time.Now().UnixNano()}
	return 1
}

func (s *oneQuery) Wait(dst []loadgen.Query, _ time.Duration) (int, bool) {
	n := s.Pop(dst)
	return n, n > 0
}

// probeSink keeps what came of the one query.
type probeSink struct {
	outcome backends.Outcome
	detail  string
}

func (s *probeSink) FirstToken(loadgen.Query, []int32, int64) {}
func (s *probeSink) TokenGap(int64, int)                      {}

func (s *probeSink) Complete(_ loadgen.Query, o *backends.Outcome) {
	s.outcome = *o
	s.outcome.Tokens, s.outcome.Text = nil, nil
}

func (s *probeSink) Failed(a backends.Attempt) { s.detail = a.Detail }
