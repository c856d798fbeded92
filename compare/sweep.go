package compare

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf-go/ledger"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/sweep"
)

// point is what only a point of a sweep has.
type point struct {
	log    *ledger.Test // all requests; nil: no request log
	window sweep.Window // on the clock of log
	rates  answered     // zero with concurrencies
	answer float64      // mean length of the answers in tokens; 0: unknown
}

// readSweep reads the points of a sweep. The mode of each names its load, so that points of equal load become pairs.
func readSweep(_ context.Context, s *Source, folder string, _ Options) error {
	state, err := sweep.ReadState(folder)
	if err != nil {
		s.note("the state of the sweep cannot be read: %v", err)
		return nil
	}
	if state.Result == nil {
		s.note("the sweep has not ended, so only the points measured so far are compared")
	}
	for i := range state.Points {
		s.Results = append(s.Results, readPoint(s, folder, state, &state.Points[i]))
	}
	return nil
}

func readPoint(s *Source, folder string, state *sweep.State, of *sweep.Point) *Result {
	r := &Result{Folder: filepath.Join(folder, of.Folder), State: Valid, Reasons: []string{}, Benchmark: state.Model,
		Scenario: state.Scenario, Mode: "sweep, " + state.Load.Text(of.Load), Unit: "tokens/s",
		Rehearsal: yesNo(len(state.Rehearsal) > 0), tails: map[tail]float64{}, point: &point{}}
	for _, cause := range of.Spoiled {
		r.State, r.Reasons = Invalid, append(r.Reasons, string(cause.Code))
	}
	if of.OutputTokensPerS > 0 {
		r.Value = &of.OutputTokensPerS
	}
	if state.Accelerators > 0 {
		r.Accelerator, r.Accelerators = "accelerator", state.Accelerators
	}
	r.Limits = limitText(map[string]time.Duration{"time to first token": state.Limits.TTFT,
		"time per output token": state.Limits.TPOT, "answer": state.Limits.Answer})
	if state.Load == sweep.Rate && of.WindowS > 0 && of.RequestsPerS > 0 {
		r.point.rates = answered{of.Load, float64(of.Queries) / of.WindowS, of.RequestsPerS}
	}
	r.addTail("TTFT", of.TTFT)
	r.addTail("TPOT", of.TPOT)
	r.addTail("request time", of.E2E)
	r.addFlags(state)
	if len(of.Spoiled) > 0 {
		return r // it is not ranked
	}
	if err := r.readWindow(folder, of); err != nil {
		s.note("%s: without intervals: %v", of.Folder, err)
	}
	return r
}

// addFlags adds the settings of a sweep.
func (r *Result) addFlags(state *sweep.State) {
	flags := slices.Concat(state.Settings, []string{
		fmt.Sprintf("--point-warmup=%vs", state.Length.WarmupS), fmt.Sprintf("--point-duration=%vs", state.Length.Duration),
		fmt.Sprintf("--point-queries=%d", state.Length.Queries)})
	var sampling []string
	for _, flag := range flags {
		name, value, _ := strings.Cut(strings.TrimPrefix(flag, "--"), "=")
		switch name {
		case "dataset":
			r.file = filepath.Base(value)
		case "samples":
			r.Rows = value
		case "round":
			r.Round = value
		case "served-model":
			r.served = value
		case "max-tokens", "min-tokens", "temperature", "top-p", "top-k":
			sampling = append(sampling, name+" "+value)
		}
		if !ownSettings[name] {
			r.settings = append(r.settings, setting{configGroup, name, value})
		}
	}
	r.Sampling, r.Dataset = strings.Join(sampling, ", "), state.Dataset
}

// readWindow reads the requests of a point that were due in its window: those that its figures count.
func (r *Result) readWindow(folder string, of *sweep.Point) error {
	switch {
	case of.WindowFromNS == nil:
		return errors.New("the sweep does not record when its window began, because an earlier version wrote it")
	case !filepath.IsLocal(of.Folder):
		return errors.New("it is not below the folder of the sweep")
	}
	log, err := ledger.ReadRequests(filepath.Join(folder, of.Folder, record.RequestsName))
	if err != nil {
		return fmt.Errorf("the request log cannot be used: %w", err)
	}
	from := ledger.FirstIssueNS(log.Entries) + *of.WindowFromNS
	w := sweep.Window{FromNS: from, ToNS: from + int64(math.Round(of.WindowS*1e9))}
	again := sweep.Measure(log, w, sweep.Limits{}, 1)
	if again.Queries != of.Queries || !(math.Abs(again.OutputTokensPerS-of.OutputTokensPerS) <=
		leastLonger*of.OutputTokensPerS) {
		return fmt.Errorf("the request log has other figures: %d queries and %.4g tokens/s in the window, not %d and %.4g",
			again.Queries, again.OutputTokensPerS, of.Queries, of.OutputTokensPerS)
	}
	counted := *log
	counted.Entries = nil
	tokens, answers := 0.0, 0.0
	for i := range log.Entries {
		e := &log.Entries[i]
		if due := ledger.ScheduledNS(e, log.Schedule, log.T0NS, log.Origin); due < w.FromNS || due >= w.ToNS {
			continue
		}
		counted.Entries = append(counted.Entries, *e)
		if e.Succeeded() {
			tokens, answers = tokens+float64(e.OutputTokens), answers+1
		}
	}
	r.requests, r.point.log, r.point.window = &counted, log, w
	r.point.answer = max(tokens, 0) / max(answers, 1)
	return nil
}

// flow returns the tokens of equal pieces of the window. Their sum over its length is the point's own figure.
func (p *point) flow() flow {
	length := float64(p.window.ToNS - p.window.FromNS)
	ended := 0
	for i := range p.log.Entries {
		if e := &p.log.Entries[i]; e.Succeeded() && e.DoneNS >= p.window.FromNS && e.DoneNS < p.window.ToNS {
			ended++
		}
	}
	pieces := min(ended/5, mostPieces)
	if pieces < 1 || !(length > 0) {
		return flow{}
	}
	f := flow{make([]float64, pieces), make([]float64, pieces)}
	start := func(i int) int64 { return p.window.FromNS + int64(length/float64(pieces)*float64(i)) }
	in := func(at int64) int {
		return int(min(max(float64(at-p.window.FromNS)/length*float64(pieces), 0), float64(pieces-1)))
	}
	for i := range f.seconds {
		f.seconds[i] = time.Duration(start(i+1) - start(i)).Seconds()
	}
	for i := range p.log.Entries {
		e := &p.log.Entries[i]
		for k := max(in(e.IssuedNS)-1, 0); k <= in(max(e.DoneNS, e.LastTokenNS)); k++ {
			f.amounts[k] += (sweep.Window{FromNS: start(k), ToNS: start(k + 1)}).Tokens(e)
		}
	}
	return f
}
