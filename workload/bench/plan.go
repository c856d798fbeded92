package bench

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/mlperf-go/mlperf-go/workload/lengths"
	"github.com/mlperf-go/mlperf-go/workload/profile"
	"github.com/mlperf-go/mlperf-go/workload/schedule"
)

// Plan is what a profile is going to send, as far as that is known before.
type Plan struct {
	Stages   []PlannedStage `json:"stages"`
	Requests float64        `json:"requests"` // 0: unknown
	Input    float64        `json:"input_tokens"`
	Without  string         `json:"input_tokens_without,omitempty"` // what Input leaves out
	Output   float64        `json:"output_tokens"`
	Leavers  float64        `json:"leavers,omitempty"`      // requests whose clients are to leave before the end
	Slow     float64        `json:"slow_readers,omitempty"` // requests whose clients are to read slowly
	Duration time.Duration  `json:"duration_ns"`            // of the schedules, without the last answers; 0: unknown
}

// PlannedStage is one stage of a Plan.
type PlannedStage struct {
	Name        string          `json:"name,omitempty"`
	Arrival     profile.Arrival `json:"arrival"`
	Rate        float64         `json:"rate_per_s,omitempty"`
	Concurrency int             `json:"concurrency,omitempty"`
	Requests    float64         `json:"requests"`    // 0: the answers decide
	Duration    time.Duration   `json:"duration_ns"` // 0: the answers decide
	Warmup      bool            `json:"warmup,omitempty"`
}

// NewPlan computes the plan of a profile. It asks no server and reads no file.
func NewPlan(p *profile.Profile) *Plan {
	plan := &Plan{}
	unknown := false
	for i := range p.Load.Stages {
		s := &p.Load.Stages[i]
		one := PlannedStage{Name: s.Name, Arrival: s.Arrival, Rate: s.Rate, Concurrency: s.Concurrency, Warmup: s.Warmup,
			Requests: schedule.Expected(s), Duration: s.Duration}
		if one.Duration == 0 && s.Rate > 0 && one.Requests > 0 {
			one.Duration = time.Duration(one.Requests / s.Rate * float64(time.Second))
		}
		unknown = unknown || one.Duration == 0
		plan.Requests += one.Requests
		plan.Duration += one.Duration
		if i > 0 {
			plan.Duration += p.Load.Pause
		}
		plan.Stages = append(plan.Stages, one)
	}
	if unknown {
		plan.Duration = 0
	}
	if x := p.Load.Leave; x != nil {
		plan.Leavers = plan.Requests * x.Share
	}
	if x := p.Load.Slow; x != nil {
		plan.Slow = plan.Requests * x.Share
	}
	in, out := p.Data.Input, p.Data.Output
	if g := p.Data.Groups; g != nil {
		in = g.Question
		plan.Input = plan.Requests * mean(g.System, p.Seed)
	}
	plan.Input += plan.Requests * (mean(in, p.Seed) + float64(p.Data.Prefix))
	plan.Input, plan.Output = math.Round(plan.Input), math.Round(plan.Requests*mean(out, p.Seed))
	switch {
	case p.Data.Turns != nil:
		plan.Without = "the history and the system prompts that each turn sends again"
	case p.Data.Groups != nil && p.Data.Groups.MultiTurn:
		plan.Without = "the history that each turn sends again"
	}
	return plan
}

// mean returns the mean of a distribution after clipping, from draws; 0 for none.
func mean(d *profile.Distribution, seed uint64) float64 {
	if d == nil {
		return 0
	}
	const draws = 10_000
	r, sum := rand.New(rand.NewPCG(seed, 0)), 0
	for range draws {
		sum += lengths.Tokens(d, r)
	}
	return float64(sum) / draws
}

// requests returns how many requests a profile sends, rounded up; 0: unknown.
func requests(p *profile.Profile) int { return int(NewPlan(p).Requests + 0.5) }
