package recording

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/mlperf-go/mlperf-go/internal/ordering"
)

// The keys of a Weka trace (inference_perf/datagen/replay/weka_trace_replay_datagen.py).
type wekaTrace struct {
	ID        string      `json:"id"`
	BlockSize int         `json:"block_size"`
	Requests  []wekaEntry `json:"requests"`
}

// wekaEntry is a request, or a subagent with requests of its own.
type wekaEntry struct {
	T        *float64    `json:"t"`    // seconds
	Type     string      `json:"type"` // n, s or subagent
	Model    string      `json:"model"`
	Input    int         `json:"in"`
	Output   int         `json:"out"`
	Hashes   []int64     `json:"hash_ids"`
	APITime  float64     `json:"api_time"`
	Think    *float64    `json:"think_time"`
	Requests []wekaEntry `json:"requests"`
}

// Bounds of a Weka request.
const (
	mostTokens  = 1 << 24
	mostSeconds = 1e10
)

func readWeka(text []byte, o *Options) (*raw, error) {
	var t wekaTrace
	if err := json.Unmarshal(text, &t); err != nil {
		return nil, fmt.Errorf("expected a Weka trace with id, block_size and requests: %w", err)
	}
	if t.Requests == nil {
		return nil, errors.New("expected a Weka trace; the object lacks requests")
	}
	w := wekaReader{block: t.BlockSize}
	if w.block == 0 {
		w.block = o.BlockTokens
	}
	if w.block <= 0 || w.block > mostTokens {
		return nil, fmt.Errorf("block_size: expected a number of tokens, not %d", w.block)
	}
	for i, e := range t.Requests {
		if err := w.entry(&e, 0); err != nil {
			return nil, fmt.Errorf("requests.%d: %w", i, err)
		}
	}
	return &raw{id: t.ID, calls: w.link()}, nil
}

type wekaCall struct {
	rawCall
	agent int // 0: the session's own; else the subagent's number
}

type wekaReader struct {
	block  int
	agents int
	calls  []wekaCall
}

func (w *wekaReader) entry(e *wekaEntry, agent int) error {
	switch e.Type {
	case "subagent":
		if agent > 0 {
			return errors.New("a subagent within a subagent")
		}
		w.agents++
		for i := range e.Requests {
			if err := w.entry(&e.Requests[i], w.agents); err != nil {
				return fmt.Errorf("requests.%d: %w", i, err)
			}
		}
		return nil
	case "n", "s":
	default:
		return fmt.Errorf("type: expected n, s or subagent, not %.20q", e.Type)
	}
	if e.T == nil || math.Abs(*e.T) > mostSeconds || !(e.APITime >= 0 && e.APITime < mostSeconds) {
		return errors.New("t and api_time: expected seconds")
	}
	if e.Input < 0 || e.Input > mostTokens || e.Output < 0 || e.Output > mostTokens || len(e.Hashes) > mostTokens {
		return fmt.Errorf("in and out: expected from 0 to %d tokens, not %d and %d", mostTokens, e.Input, e.Output)
	}
	if len(w.calls) == mostCalls {
		return fmt.Errorf("it has more than %d calls", mostCalls)
	}
	c := wekaCall{agent: agent}
	c.start, c.end, c.before, c.think, c.isUser = *e.T, *e.T+e.APITime, -1, -1, agent == 0
	if e.Think != nil {
		c.think = min(max(*e.Think, 0), mostSeconds)
	}
	c.Model, c.Input, c.Output, c.BlockTokens = e.Model, e.Input, e.Output, w.block
	for _, h := range e.Hashes {
		c.Blocks = append(c.Blocks, uint64(h))
	}
	w.calls = append(w.calls, c)
	return nil
}

// link finds the call that each one continues: the last ended call of its agent, or the session's own.
func (w *wekaReader) link() []rawCall {
	ordering.Sort(w.calls, func(a, b wekaCall) int { return cmp.Compare(a.start, b.start) })
	byAgent := make([][]int, w.agents+1)
	latest := func(agent int, start float64) int {
		for _, k := range slices.Backward(byAgent[agent]) {
			if w.calls[k].end <= start {
				return k
			}
		}
		return -1
	}
	list := make([]rawCall, len(w.calls))
	for i := range w.calls {
		c := &w.calls[i]
		if c.before = latest(c.agent, c.start); c.before < 0 {
			c.before = latest(0, c.start)
		}
		byAgent[c.agent] = append(byAgent[c.agent], i)
		list[i] = c.rawCall
	}
	return list
}
