package tune

import (
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/plan"
)

// A search by LoadGen that cannot begin, or would never end, is rejected before anything is written.
func TestPeaksThatCannotBeSearched(t *testing.T) {
	audit := filepath.Join(t.TempDir(), "audit.config")
	require.NoError(t, os.WriteFile(audit, []byte("*.*.mode = 2\n"), 0o600))
	for name, c := range map[string]struct {
		settings plan.Settings
		change   func(o *Options)
		code     exit.Code // none: it can be searched
	}{
		"Server":         {nil, nil, ""},
		"Interactive":    {plan.Settings{"scenario": "Interactive"}, nil, ""},
		"Offline":        {plan.Settings{"scenario": "Offline"}, nil, exit.CodeScenario},
		"no rate":        {plan.Settings{"target-qps": ""}, nil, exit.CodeTargetQPS},
		"no budget":      {nil, func(o *Options) { o.Budget = 0 }, exit.CodeTune},
		"a short budget": {nil, func(o *Options) { o.Budget = 1 }, ""},
		"below it":       {nil, func(o *Options) { o.Budget = -1 }, exit.CodeTune},
		"an audit":       {plan.Settings{"audit-config": audit}, nil, exit.CodeAuditConfig},
		"continued":      {nil, func(o *Options) { o.Resume = true }, exit.CodeTuneState},
	} {
		s := plan.Settings{"model": "llama2-70b-99", "scenario": "Server", "served-model": "m", "target-qps": "5",
			"endpoint": "http://127.0.0.1:1", "dataset": "none"}
		for k, v := range c.settings {
			if s[k] = v; v == "" {
				delete(s, k)
			}
		}
		p, err := plan.New(s)
		require.NoError(t, err, name)
		o := Options{Plan: p, Folder: filepath.Join(t.TempDir(), "peak"), Budget: time.Hour}
		if c.change != nil {
			c.change(&o)
		}
		if err = checkPeak(&o); c.code == "" {
			require.NoError(t, err, name)
			continue
		}
		require.Equal(t, c.code, exit.Classify(err).Code, "%s: %v", name, err)
		_, err = FindPeak(t.Context(), o, nil)
		require.Equal(t, c.code, exit.Classify(err).Code, "%s: %v", name, err)
		require.NoDirExists(t, o.Folder, name)
	}
}

// Which searches by LoadGen are read, at the edge of each bound and beside it.
func TestPeaksThatAreRejected(t *testing.T) {
	for name, c := range map[string]struct {
		peak Peak
		ok   bool
	}{
		"nothing":     {Peak{}, true},
		"the most":    {Peak{Test: maxDuration, Limits: make([]Limit, maxLimits), TookS: math.Nextafter(maxRate, 0)}, true},
		"too long":    {Peak{Test: maxDuration + 1}, false},
		"below zero":  {Peak{Test: -1}, false},
		"nine limits": {Peak{Limits: make([]Limit, maxLimits+1)}, false},
		"took less":   {Peak{TookS: -0.1}, false},
		"took more":   {Peak{TookS: maxRate}, false},
		"took NaN":    {Peak{TookS: math.NaN()}, false},
	} {
		require.Equal(t, c.ok, c.peak.check() == nil, name)
	}
}

// A meter decides at the end of a part: a limit that is missed fails the probe at once, and a pass needs two parts, if
// there are two, and all limits.
func TestDecisionsOfAMeter(t *testing.T) {
	const size = 700
	arrivals := func(parts int) (list []Arrival) {
		for part := range parts {
			list = append(list, Arrival{Part: part}) // brings the server to its state
			for range size {
				list = append(list, Arrival{Part: part, Counted: true})
			}
		}
		return list
	}
	g := &Goal{Percentile: 0.99, Confidence: 0.95, Limits: []Limit{{TTFT, time.Second}, {TPOT, time.Second}}}
	g.Load.MinQueries = 20_000
	for name, c := range map[string]struct {
		parts, ended int
		late         map[int]int // queries by limit
		want         Decision
	}{
		"nothing":         {3, 0, nil, Neither},
		"one part":        {3, size + 1, nil, Neither},
		"the only part":   {1, size + 1, nil, WouldPass},
		"almost two":      {3, 2*size + 1, nil, Neither},
		"two parts":       {3, 2*size + 2, nil, WouldPass},
		"one limit":       {3, 2*size + 2, map[int]int{1: 100}, Neither},
		"the other limit": {3, 2*size + 2, map[int]int{0: 100}, Neither},
		"too many":        {3, 2*size + 2, map[int]int{1: 300}, WouldFail},
		"too many so far": {3, size - 1, map[int]int{0: 669}, WouldFail},
		"not yet":         {3, size - 1, map[int]int{0: 668}, Neither},
	} {
		list := arrivals(c.parts)
		m := NewMeter(g, 10, list)
		require.Equal(t, 20_000, m.full)
		require.Equal(t, 167, m.judges[0].bearable)
		counted := 0
		for seq := range c.ended {
			values := []time.Duration{time.Second, time.Second}
			for limit, late := range c.late {
				if !list[seq].Counted || counted < late {
					values[limit]++
				}
			}
			if list[seq].Counted {
				counted++
			}
			m.Ended(seq, values)
			m.Ended(seq, values) // a second time does not count
		}
		require.Equal(t, c.want, m.Decide(), name)
		for i, n := range m.Counts() {
			require.Equal(t, []int{counted, min(c.late[i], counted)}, []int{n.Queries, n.Late}, name)
		}
		over := c.late[0] > 167 || c.late[1] > 167
		require.Equal(t, map[bool]Decision{true: WouldFail, false: WouldPass}[over], m.Final(WouldPass), name)
	}
}

// A reference probe is due at the start, after three probes, and before a run if there was a probe since.
func TestReferencesThatAreDue(t *testing.T) {
	for _, c := range []struct {
		kinds           []Kind
		due, confirming bool // due between probes, and before a confirming run
	}{
		{nil, true, true},
		{[]Kind{Rate, Rate}, true, true},
		{[]Kind{Reference}, false, false},
		{[]Kind{Reference, Confirm}, false, false},
		{[]Kind{Reference, Rate}, false, true},
		{[]Kind{Reference, Rate, Confirm, Rate}, false, true},
		{[]Kind{Reference, Rate, Rate, Rate}, true, true},
		{[]Kind{Rate, Rate, Rate, Reference}, false, false},
		{[]Kind{Reference, Rate, Rate, Rate, Reference, Rate, Rate}, false, true},
	} {
		s := &Search{capacity: 100, answer: time.Second}
		for _, k := range c.kinds {
			s.measured = append(s.measured, Measured{Kind: k})
		}
		for confirming, want := range map[bool]bool{false: c.due, true: c.confirming} {
			step, due := s.reference(confirming)
			require.Equal(t, want, due, "%v %v", c.kinds, confirming)
			if due {
				require.Equal(t, Step{Kind: Reference, Rate: round(100 * referenceShare), Queries: referenceQueries,
					Answer: time.Second}, step)
			}
		}
	}
}

// After the last probe, a run confirms a rate slightly below the median, however unsure the search still is.
func TestRateOfAConfirmingRun(t *testing.T) {
	s := NewSearch(shape{ttft: 2, tpot: 0.1}.goal(), everySample)
	s.capacity, s.met = 100, 100
	s.draw(10)
	for range mostProbes {
		s.measured = append(s.measured, Measured{Kind: Rate, Rate: 50})
	}
	s.measured = append(s.measured, Measured{Kind: Reference})
	median := s.quantile(0.5)
	require.Less(t, s.candidate(), 0.9*median, "nothing was counted")
	require.Equal(t, Step{Kind: Confirm, Rate: round(0.98 * median)}, s.narrow())
	s.measured = s.measured[1:]
	require.Equal(t, Rate, s.narrow().Kind, "one probe less")
}

// A rate that a full-length run missed bounds those after it, and a valid run does not.
func TestFailedRunsBoundTheRate(t *testing.T) {
	s := &Search{}
	require.Equal(t, math.Inf(1), s.bound())
	for _, m := range []Measured{{Kind: Confirm, Rate: 40, Valid: true}, {Kind: Rate, Rate: 30}} {
		s.measured = append(s.measured, m)
		require.Equal(t, math.Inf(1), s.bound())
	}
	for rate, want := range map[float64]float64{100: 99, 120: 99, 80: 79.2} {
		s.measured = append(s.measured[:2], Measured{Kind: Confirm, Rate: 100}, Measured{Kind: Confirm, Rate: rate})
		require.InDelta(t, want, s.bound(), 1e-9, rate)
	}
}
