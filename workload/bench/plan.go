package bench

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/mlperf-go/mlperf-go/workload/lengths"
	"github.com/mlperf-go/mlperf-go/workload/profile"
	"github.com/mlperf-go/mlperf-go/workload/prompts"
	"github.com/mlperf-go/mlperf-go/workload/schedule"
)

// Plan is what a profile will send, as far as it is known in advance.
type Plan struct {
	Stages   []PlannedStage `json:"stages"`
	Requests float64        `json:"requests"`               // 0: unknown
	Input    float64        `json:"input_tokens"`           // of whole prompts, with their history; 0: unknown
	Output   float64        `json:"output_tokens"`          // 0: unknown
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

// NewPlan computes the plan of a profile. It contacts no server and reads no file; see ReadTraces.
func NewPlan(p *profile.Profile) *Plan {
	plan := schedules(p)
	plan.complete(p)
	return plan
}

// complete computes what follows from the numbers of requests.
func (plan *Plan) complete(p *profile.Profile) {
	plan.Input, plan.Output = 0, 0
	if x := p.Load.Leave; x != nil {
		plan.Leavers = plan.Requests * x.Share
	}
	if x := p.Load.Slow; x != nil {
		plan.Slow = plan.Requests * x.Share
	}
	if outline := prompts.Outline(p); outline != nil {
		for i := range p.Load.Stages {
			plan.addTurns(p, &p.Load.Stages[i], plan.Stages[i].Requests, outline)
		}
		return
	}
	in, out := p.Data.Input, p.Data.Output
	if g := p.Data.Groups; g != nil {
		in = g.Question
		plan.Input = plan.Requests * mean(g.System, p.Seed)
	}
	switch p.Data.Kind {
	case profile.ShareGPT, profile.Prompts, profile.Recorded:
		if out != nil && out.Kind == "uniform" { // bounds of recorded lengths, and not lengths
			out = nil
		}
	default:
		plan.Input += plan.Requests * (mean(in, p.Seed) + float64(p.Data.Prefix) + pooled(p.Data.Buckets))
	}
	plan.Input, plan.Output = math.Round(plan.Input), math.Round(plan.Requests*mean(out, p.Seed))
}

// schedules computes the part of a plan that has no tokens.
func schedules(p *profile.Profile) *Plan {
	plan := &Plan{}
	for i := range p.Load.Stages {
		s := &p.Load.Stages[i]
		one := PlannedStage{Name: s.Name, Arrival: s.Arrival, Rate: s.Rate, Concurrency: s.Concurrency, Warmup: s.Warmup,
			Requests: schedule.Expected(s), Duration: s.Duration}
		if one.Duration == 0 && s.Rate > 0 && one.Requests > 0 {
			one.Duration = time.Duration(one.Requests / s.Rate * float64(time.Second))
		}
		plan.Stages = append(plan.Stages, one)
	}
	plan.add(p)
	return plan
}

// add adds up the stages.
func (plan *Plan) add(p *profile.Profile) {
	plan.Requests, plan.Duration = 0, 0
	unknown := false
	for i := range plan.Stages {
		one := &plan.Stages[i]
		unknown = unknown || one.Duration == 0
		plan.Requests += one.Requests
		plan.Duration += one.Duration
		if i > 0 {
			plan.Duration += p.Load.Pause
		}
	}
	if unknown {
		plan.Duration = 0
	}
}

// addTurns adds the tokens of a stage whose requests go to its conversations in turn. One that has ended is followed
// by the session whose number is higher by the number of conversations.
func (plan *Plan) addTurns(p *profile.Profile, s *profile.Stage, requests float64,
	outline func(session, most int) []prompts.Turn) {
	total, chats := int(requests+0.5), 0
	switch {
	case s.Arrival == profile.Closed && !p.Data.Rotate:
		chats = max(1, s.Concurrency)
	case p.Data.Turns != nil:
		chats = p.Data.Turns.Conversations
	default:
		chats = p.Data.Groups.Count * p.Data.Groups.Users
	}
	left := make([][]prompts.Turn, min(chats, total)) // of the current session of each conversation
	next := make([]int, len(left))                    // session of each
	for c := range next {
		next[c] = c
	}
	for k := range total {
		c := k % len(left)
		if len(left[c]) == 0 {
			left[c] = outline(next[c], (total-k+len(left)-1)/len(left))
			next[c] += chats
		}
		plan.Input += float64(left[c][0].Input)
		plan.Output += float64(left[c][0].Output)
		left[c] = left[c][1:]
	}
}

// pooled returns the mean tokens of a prefix of weighted pools.
func pooled(buckets []profile.Bucket) float64 {
	sum, weights := 0.0, 0.0
	for _, b := range buckets {
		sum, weights = sum+b.Weight*float64(b.Tokens), weights+b.Weight
	}
	if weights == 0 {
		return 0
	}
	return sum / weights
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
func requests(p *profile.Profile) int {
	return int(schedules(p).Requests + 0.5)
}
