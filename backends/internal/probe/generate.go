package probe

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/client"
	"github.com/mlperf-go/mlperf-go/datasets"
)

// probeTokens is the length of the short answer if Config.ProbeTokens is 0.
const probeTokens = 8

// generate sends a short request of the same kind and on the same client as the test. If the server rejects a field
// that the test does not need, it is left out. If token ids are missing, they are requested in another way.
func (p *Prober) generate(ctx context.Context, sample *datasets.Sample) error {
	c := *p.Config
	c.Endpoints = []backends.Endpoint{p.Endpoint}
	c.Endpoints[0].IDs = backends.IDsTried
	longest := c.ProbeTokens
	if longest <= 0 {
		longest = probeTokens
	}
	c.Sampling.MaxTokens = min(longest, c.Sampling.MaxTokens)
	c.Sampling.MinTokens = min(c.Sampling.MinTokens, c.Sampling.MaxTokens)
	c.MinTokens, c.Concurrency, c.PerEndpoint, c.Balance, c.Batch = 0, 1, 0, "", 0
	c.ServerVersion = p.Found.Version
	for {
		got, url, err := p.ask(ctx, sample, &c)
		if err != nil {
			return err
		}
		if field := refusedField(got, &c); field != "" {
			c.Drop = append(slices.Clone(c.Drop), field)
			p.Found.Dropped = append(p.Found.Dropped, field)
			p.Note("the server rejects %s (%s): requests do not contain it", field, got.outcome.Reason)
			continue
		}
		if c.Endpoints[0].IDs == backends.IDsTried && slices.Contains(refusals, got.outcome.Reason) {
			c.Endpoints[0].IDs = backends.IDsOff // the server, or a gateway before it, may reject the id
			continue
		}
		if c.IDsInLogprobs && got.outcome.TokenSource != backends.TokensFromIDs {
			return p.noIDs // they are missing there too
		}
		if noRoute(got) {
			return p.wrongAPI(ctx, sample, c, got, url)
		}
		p.record(&got.outcome, len(sample.InputIDs) > 0 && c.API != "chat")
		err = p.judge(got, url)
		var e *backends.EndpointError
		if p.InLogprobs && !c.IDsInLogprobs && c.API != "generate" && errors.As(err, &e) &&
			e.Fault == backends.FaultNoTokenIDs {
			p.noIDs, c.IDsInLogprobs = err, true
			continue
		}
		if p.Found.IDsInLogprobs = c.IDsInLogprobs; c.IDsInLogprobs {
			p.Note("token ids come among the log probabilities only (return_tokens_as_token_ids), which costs the server " +
				"time: use one that honours return_token_ids for performance runs")
		}
		return err
	}
}

// ask sends the request once.
func (p *Prober) ask(ctx context.Context, sample *datasets.Sample, c *backends.Config) (got *probeSink, url string,
	err error) {
	body, err := p.Wire.Encode(nil, sample, c)
	if err != nil {
		return nil, "", fmt.Errorf("the generation probe cannot be encoded: %w", err)
	}
	own := *c
	own.NeedIDs = false // they are requested, but the probe reports whether they come
	own.Body = func(int) []byte { return body }
	protocol, err := p.Wire.Protocol(&own)
	if err != nil {
		return nil, "", err
	}
	backend, err := client.New(p.Found.Client, &own, protocol)
	if err != nil {
		return nil, "", err
	}
	got, url = &probeSink{}, p.Endpoint.URL+protocol.Path
	if c.Asking != nil {
		c.Asking("POST "+url, c.RequestTimeout)
	}
	return got, url, backend.Serve(ctx, &oneQuery{}, got)
}

// noRoute reports whether an answer is that of a server without the route. A missing model has the same status, and
// vLLM forbids its generate route unless it was switched on (docs/reference/wire-protocols.md#vllm-generate-route).
func noRoute(got *probeSink) bool {
	switch got.outcome.Reason {
	case "http_404", "http_405", "http_501":
		return !bytes.Contains(bytes.ToLower(got.body), []byte("model"))
	case "http_403":
		return bytes.Contains(got.body, []byte("enable-scale-out"))
	}
	return false
}

// wrongAPI returns the error of a server that lacks the route of the API. It tries the other ones, so that the error
// names the right one.
func (p *Prober) wrongAPI(ctx context.Context, sample *datasets.Sample, c backends.Config, got *probeSink,
	url string) error {
	was, try := cmp.Or(c.API, "the default API"), "Is it the inference server's own port, and the right --backend?"
	for _, api := range []string{"completions", "chat", "generate"} {
		if c.API = api; api == was {
			continue
		}
		other, _, err := p.ask(ctx, sample, &c)
		if err == nil && other.outcome.Reason == backends.OK {
			try = "Use --api " + api + ", which the server answered."
			break
		}
	}
	return &backends.EndpointError{URL: url, Fault: backends.FaultGenerate, Models: p.Found.Models,
		Text: fmt.Sprintf("The server does not offer the route of --api %s: %s. %s", was, got.detail, try)}
}

// refusals are the failures by which a server rejects a part of a request.
var refusals = []backends.Reason{"http_400", "http_422", "http_431"}

// refusedField returns the field that a refusal names and that the test does not need; empty: none. Sampling parameters
// are not needed if only the most likely token is sampled.
func refusedField(got *probeSink, c *backends.Config) string {
	if !slices.Contains(refusals, got.outcome.Reason) {
		return ""
	}
	fields := []string{"return_token_ids", "stream_options"}
	if t, k := c.Sampling.Temperature, c.Sampling.TopK; t != nil && *t == 0 || k != nil && *k == 1 {
		fields = append(fields, "top_p", "top_k", "seed")
	}
	for _, field := range fields {
		if !c.Drops(field) && bytes.Contains(got.body, []byte(field)) {
			return field
		}
	}
	return ""
}

func (p *Prober) record(o *backends.Outcome, ids bool) {
	ok := o.Reason == backends.OK || o.Reason == backends.FailNoFirstToken
	p.Found.Generated = ok
	p.Found.TokenIDPrompt = ok && ids
	p.Found.ReturnsTokenIDs = o.TokenSource == backends.TokensFromIDs
	p.Found.Usage = o.UsageTokens >= 0
	p.Found.Streams = p.Config.Stream && o.FirstTokenNS != 0
	p.Found.OutputTokens = o.NTokens
	p.Found.Identified, p.Found.AnswerModel = ok && o.Identified, o.Model
	if p.Found.StreamMode = p.Endpoint.StreamMode; p.Found.StreamMode == "" && ok {
		p.Found.StreamMode = o.StreamMode
	}
	if ok && o.LastTokenNS != 0 {
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
	detail := titleOfPage(got.detail)
	switch {
	case o.Reason == backends.FailNoFirstToken:
		return refuse(backends.FaultNoStream, "a stream was requested, but one whole answer came",
			"The scenario needs the time of the first token: use a server or gateway that streams.")
	case o.Reason == "http_401" || o.Reason == "http_403":
		return refuse(backends.FaultUnauthorized, detail, "Give the key that the server was started with (--api-key).")
	case o.Reason != backends.OK && !p.Found.ReturnsTokenIDs && !p.Found.Usage && o.Reason == backends.FailBadEvent:
		return refuse(backends.FaultNoTokenCount, detail,
			"Is it the inference server's own port and route (--backend, --api)? An answer of this route has the tokens' ids, "+
				"or usage, by which tokens are counted.")
	case o.Reason != backends.OK && detail != got.detail:
		return refuse(backends.FaultGenerate, fmt.Sprintf("%s (%s)", detail, o.Reason),
			"A proxy or another program may have answered: check the URL, and see the server's log.")
	case o.Reason != backends.OK:
		return refuse(backends.FaultGenerate, fmt.Sprintf("%s (%s)", detail, o.Reason),
			p.afterFailure(o.Reason))
	case p.Config.NeedIDs && !p.Found.ReturnsTokenIDs:
		return refuse(backends.FaultNoTokenIDs, "the answer carries no token ids, which this benchmark hands to LoadGen",
			p.NoIDs)
	}
	return nil
}

var (
	pageBegins = regexp.MustCompile(`(?is)(<!doctype html|<html).*`)
	pageTitle  = regexp.MustCompile(`(?is)<title>\s*(.*?)\s*</title>`)
	pageTags   = regexp.MustCompile(`(?s)<[^>]*>?`)
)

// titleOfPage returns a text with the title of the web page, or else its first words, in the place of the page that it
// quotes.
func titleOfPage(text string) string {
	page := pageBegins.FindString(text)
	if page == "" {
		return text
	}
	title := strings.Join(strings.Fields(pageTags.ReplaceAllString(page, " ")), " ")
	if named := pageTitle.FindStringSubmatch(page); named != nil {
		title = named[1]
	}
	what := "a web page"
	if title != "" {
		what = fmt.Sprintf("a web page (%.80q)", title)
	}
	return strings.TrimSuffix(text, page) + what
}

// afterFailure returns what to do about a failed test request.
func (p *Prober) afterFailure(reason backends.Reason) string {
	switch {
	case p.Config.OmitFlag != "":
		return "See the server's log; " + p.Config.OmitFlag + " omits this request."
	case reason == backends.FailRequestTimeout:
		return "See the server's log, or allow more time with --request-timeout."
	}
	return "See the server's log."
}

// oneQuery is a source with one query.
type oneQuery struct{ popped bool }

func (s *oneQuery) Pop(dst []loadgen.Query) int {
	if s.popped || len(dst) == 0 {
		return 0
	}
	s.popped = true
	dst[0] = loadgen.Query{ID: 1, Seq: -1, IssuedNS: time.Now().UnixNano()} // no sample of the test
	return 1
}

func (s *oneQuery) Wait(dst []loadgen.Query, _ time.Duration) (int, bool) {
	n := s.Pop(dst)
	return n, n > 0
}

// probeSink keeps the outcome of the query.
type probeSink struct {
	outcome backends.Outcome
	detail  string
	body    []byte // beginning of a refusal
}

func (s *probeSink) FirstToken(loadgen.Query, []int32, int64) {}
func (s *probeSink) Tokens(loadgen.Query, int, int64, int64)  {}

func (s *probeSink) Complete(_ loadgen.Query, o *backends.Outcome) {
	s.outcome = *o
	s.outcome.Tokens, s.outcome.Text = nil, nil
}

func (s *probeSink) Failed(a backends.Attempt) { s.detail, s.body = a.Detail, a.Body }
