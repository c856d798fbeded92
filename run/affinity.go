package run

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/run/exit"
)

// The values of --lb-key and the strategy that looks at it.
const (
	keyByPrefix  = "prefix"
	keyBySession = "session"
	lbHash       = "hash"
)

// bytesPerToken is about what a token of English text takes; prompts without ids are measured by it.
const bytesPerToken = 4

// checkBalance tells of settings that the strategy of --lb does not look at.
func (p *Plan) checkBalance() error {
	c := p.Config
	key, hash := c.String("lb-key"), c.String("lb") == lbHash
	switch {
	case c.IsSet("lb-key") && !hash:
		p.notices = append(p.notices, fmt.Sprintf("--lb-key does nothing with --lb %s: only hash has a key", c.String("lb")))
	case c.IsSet("lb-prefix-tokens") && (!hash || key != keyByPrefix):
		p.notices = append(p.notices, "--lb-prefix-tokens does nothing without --lb hash and --lb-key prefix")
	case c.IsSet("session-column") && (!hash || key != keyBySession):
		p.notices = append(p.notices, "--session-column does nothing without --lb hash and --lb-key session")
	}
	return nil
}

// findKeys makes the keys by which the strategy hash chooses endpoints, where they are not the samples' indices.
func (t *test) findKeys() error {
	c := t.plan.Config
	if c.String("lb") != lbHash {
		return nil
	}
	var err error
	switch by := c.String("lb-key"); by {
	case keyByPrefix:
		t.keys = prefixKeys(t.dataset.Samples, c.Int("lb-prefix-tokens"))
	case keyBySession:
		if t.keys, err = sessionKeys(t.dataset.Samples); err != nil {
			return exit.Usage("lb_key", "Name the column that says which rows belong together with --session-column", "%w", err)
		}
	}
	if n := len(t.keys); n > 1 && len(t.config.Endpoints) > 1 && slices.Min(t.keys) == slices.Max(t.keys) {
		t.notes = append(t.notes, fmt.Sprintf("--lb-key %s: all %d samples have the same key, so one of the endpoints gets "+
			"them all", c.String("lb-key"), n))
	}
	return nil
}

// prefixKeys gives samples whose prompts begin with the same tokens the same key. A shorter prompt counts as a whole.
func prefixKeys(samples []datasets.Sample, tokens int) []uint64 {
	keys := make([]uint64, len(samples))
	var id [4]byte
	for i := range samples {
		s, h := &samples[i], fnv.New64a()
		switch {
		case len(s.InputIDs) > 0:
			for _, token := range s.InputIDs[:min(tokens, len(s.InputIDs))] {
				binary.LittleEndian.PutUint32(id[:], uint32(token))
				h.Write(id[:]) // a hash takes every byte
			}
		case s.Input != "":
			h.Write([]byte(s.Input[:min(tokens*bytesPerToken, len(s.Input))]))
		default:
			h.Write(s.Messages[:min(tokens*bytesPerToken, len(s.Messages))])
		}
		keys[i] = h.Sum64()
	}
	return keys
}

// sessionKeys gives samples of one session the same key.
func sessionKeys(samples []datasets.Sample) ([]uint64, error) {
	keys := make([]uint64, len(samples))
	for i := range samples {
		if samples[i].Session == "" {
			return nil, fmt.Errorf("--lb-key session keeps the samples of a session at one endpoint, and row %d of the data "+
				"set has none", i+1)
		}
		h := fnv.New64a()
		h.Write([]byte(samples[i].Session))
		keys[i] = h.Sum64()
	}
	return keys, nil
}
