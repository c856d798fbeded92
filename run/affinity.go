package run

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/plan"
)

// bytesPerToken is about the size of a token of English text. It converts a length in tokens for prompts without ids.
const bytesPerToken = 4

// findKeys sets the keys by which the strategy hash chooses endpoints, unless they are the samples' indices.
func (in *inputs) findKeys() error {
	c := in.plan.Config
	if c.String("lb") != plan.BalanceHash {
		return nil
	}
	var err error
	switch by := c.String("lb-key"); by {
	case plan.KeyByPrefix:
		in.keys = prefixKeys(in.dataset.Samples, c.Int("lb-prefix-tokens"))
	case plan.KeyBySession:
		if in.keys, err = sessionKeys(in.dataset.Samples); err != nil {
			return exit.Usage(exit.CodeLBKey, "Pass --session-column NAME, the column that identifies each row's session",
				"%w", err)
		}
	}
	if n := len(in.keys); n > 1 && len(in.config.Endpoints) > 1 && slices.Min(in.keys) == slices.Max(in.keys) {
		in.notes = append(in.notes, fmt.Sprintf("--lb-key %s: all %d samples have the same key, so one of the endpoints "+
			"gets them all", c.String("lb-key"), n))
	}
	return nil
}

// prefixKeys returns the same key for samples whose prompts begin with the same tokens. A shorter prompt is hashed as a
// whole.
func prefixKeys(samples []datasets.Sample, tokens int) []uint64 {
	keys := make([]uint64, len(samples))
	var id [4]byte
	for i := range samples {
		s, h := &samples[i], fnv.New64a()
		switch {
		case len(s.InputIDs) > 0:
			for _, token := range s.InputIDs[:min(tokens, len(s.InputIDs))] {
				binary.LittleEndian.PutUint32(id[:], uint32(token))
				h.Write(id[:]) // a hash includes every byte
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

// sessionKeys returns the same key for samples of one session.
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
