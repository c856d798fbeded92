package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/workload/profile"
	"github.com/mlperf-go/mlperf-go/workload/prompts"
)

// Encoder makes the bodies of requests. One goroutine at a time may use it.
type Encoder struct {
	driver backends.Driver
	config backends.Config
	eos    bool
	chat   bool
	extra  []byte // members of every body, each behind a comma

	sample datasets.Sample // of the last request, as own is its configuration
	own    backends.Config
	list   []byte // its messages
}

// NewEncoder returns an encoder for a profile, a protocol and a server.
func NewEncoder(p *profile.Profile, d backends.Driver, c *backends.Config) (*Encoder, error) {
	e := &Encoder{driver: d, config: *c, eos: p.API.IgnoreEOS, chat: p.API.IsChat()}
	for _, key := range slices.Sorted(maps.Keys(p.API.Extra)) {
		name, _ := json.Marshal(key) // a string is always encoded
		value, err := json.Marshal(p.API.Extra[key])
		if err != nil {
			return nil, fmt.Errorf("profile %s: api.extra.%s cannot be sent as JSON: %w", p.Name, key, err)
		}
		e.extra = append(append(append(append(e.extra, ','), name...), ':'), value...)
	}
	return e, nil
}

// IsChat reports whether requests consist of messages.
func (e *Encoder) IsChat() bool { return e.chat }

// Sample returns a request as a sample of the protocol, and its sampling parameters. Both are valid until the next
// call.
func (e *Encoder) Sample(r *prompts.Request, h *History) (*datasets.Sample, *backends.Config) {
	e.own, e.sample = e.config, datasets.Sample{Tools: r.Tools, Documents: r.Documents}
	s, c := &e.sample, &e.own
	if r.Model != "" {
		c.ServedModel = r.Model
	}
	c.Sampling.MaxTokens, c.Sampling.IgnoreEOS = r.Output, e.eos && r.Output > 0
	if e.IsChat() {
		if e.list = h.chat(append(e.list[:0], '['), r); len(e.list) > 1 {
			e.list = append(e.list, ']')
			s.Messages = e.list
			s.MessageBytes = len(s.Messages) // they are valid and compact: the protocol need not check them
		}
	} else {
		s.InputIDs, s.Input = h.prompt(r)
		s.Plain = r.Plain && h == nil
	}
	s.InputLen = len(s.InputIDs)
	return s, c
}

// Append appends the body of a request.
func (e *Encoder) Append(dst []byte, r *prompts.Request, h *History) ([]byte, error) {
	s, c := e.Sample(r, h)
	dst, err := e.driver.Encode(dst, s, c)
	if err != nil || len(e.extra)+len(r.Members) == 0 {
		return dst, err
	}
	dst = append(bytes.TrimSuffix(dst, []byte("}")), e.extra...)
	return append(append(dst, r.Members...), '}'), nil
}
