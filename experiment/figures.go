package experiment

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/mlperf-go/mlperf-go/ledger"
	"github.com/mlperf-go/mlperf-go/metrics/series"
)

// Figures are what a trial measured.
type Figures struct {
	DurationS        float64   `json:"duration_s"` // first issue to last answer
	Samples          int       `json:"samples"`
	SamplesPerS      float64   `json:"samples_per_s"`
	OutputTokensPerS float64   `json:"output_tokens_per_s"`
	TailS            float64   `json:"idle_tail_s"`   // by how much the last tenth of the tokens took longer
	KVCacheMean      *float64  `json:"kv_cache_mean"` // share in use, 0 to 1; null: unknown, see serve
	KVCacheMax       *float64  `json:"kv_cache_max"`
	Preemptions      *float64  `json:"preemptions"` // of all servers together
	Replicas         []Replica `json:"replicas"`
}

// Replica is what one replica did in a trial.
type Replica struct {
	Samples      int     `json:"samples"`
	InputTokens  int64   `json:"input_tokens"`
	OutputTokens int64   `json:"output_tokens"`
	IdleTailS    float64 `json:"idle_tail_s"` // from its last answer to that of the trial
}

// measure computes the figures of a trial from its entries.
func measure(entries []ledger.Entry, replicas int) Figures {
	f := Figures{Samples: len(entries), Replicas: make([]Replica, replicas)}
	if len(entries) == 0 {
		return f
	}
	last := make([]int64, replicas)
	first, end, output := entries[0].IssuedNS, int64(0), int64(0)
	for i := range entries {
		e := &entries[i]
		first, end = min(first, e.IssuedNS), max(end, e.DoneNS)
		output += int64(e.OutputTokens)
		if at := int(e.Endpoint); at >= 0 && at < replicas {
			r := &f.Replicas[at]
			r.Samples++
			r.InputTokens += int64(e.InputTokens)
			r.OutputTokens += int64(e.OutputTokens)
			last[at] = max(last[at], e.DoneNS)
		}
	}
	for r := range last {
		f.Replicas[r].IdleTailS = time.Duration(end - max(last[r], first)).Seconds()
	}
	if f.DurationS = time.Duration(end - first).Seconds(); f.DurationS > 0 {
		f.SamplesPerS, f.OutputTokensPerS = float64(len(entries))/f.DurationS, float64(output)/f.DurationS
	}
	f.TailS = tail(entries)
	return f
}

// tailShare is the part of the tokens at the beginning and at the end that the rate of the middle leaves out.
const tailShare = 0.1

// tail returns how many seconds longer the last tenth of the tokens took than a tenth of the others: the time in which
// the servers were not full. Tokens count when their answer ends.
func tail(entries []ledger.Entry) float64 {
	order := slices.Clone(entries)
	slices.SortFunc(order, func(a, b ledger.Entry) int { return cmp.Compare(a.DoneNS, b.DoneNS) })
	total, sum := 0.0, 0.0
	for i := range order {
		total += float64(max(order[i].OutputTokens, 1))
	}
	var from, to int64
	before, after := 0.0, 0.0
	for i := range order {
		sum += float64(max(order[i].OutputTokens, 1))
		if from == 0 && sum >= tailShare*total {
			from, before = order[i].DoneNS, sum
		}
		if sum >= (1-tailShare)*total {
			to, after = order[i].DoneNS, sum
			break
		}
	}
	end := order[len(order)-1].DoneNS
	if to <= from || after <= before {
		return 0
	}
	perToken := time.Duration(to-from).Seconds() / (after - before)
	return max(0, time.Duration(end-to).Seconds()-(total-after)*perToken)
}

// leastReadings is how many readings of the servers' metrics a trial needs. Fewer readings may miss its busy time.
const leastReadings = 4

// serve adds the servers' metrics of the trial. It reports whether there were enough readings; otherwise the figures
// stay absent.
func (f *Figures) serve(set *series.Set) (enough bool) {
	enough = true
	for i := range series.Signals {
		line := series.Signals[i].Total(set)
		stats, ok := line.Stats()
		if !ok {
			continue
		}
		if len(line.Values) < leastReadings {
			enough = false
			continue
		}
		switch series.Signals[i].Key {
		case "kv_cache":
			f.KVCacheMean, f.KVCacheMax = &stats.Mean, &stats.Max
		case "preemptions":
			if n := math.Round(line.Sum()); !math.IsNaN(n) {
				f.Preemptions = &n
			}
		}
	}
	return enough
}

// missent returns a sample that was not sent exactly once, and how often it was; ok is true without such a sample.
func missent(entries []ledger.Entry, samples int) (index, times int, ok bool) {
	seen := make([]int, samples)
	for i := range entries {
		if at := int(entries[i].Index); at >= 0 && at < samples {
			seen[at]++
		}
	}
	index = slices.IndexFunc(seen, func(n int) bool { return n != 1 })
	if index < 0 {
		return 0, 0, len(entries) == samples
	}
	return index, seen[index], false
}
