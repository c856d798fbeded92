package campaign

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/needs"
	"github.com/mlperf-go/mlperf-go/run/plan"
	"github.com/mlperf-go/mlperf-go/run/rehearse"
	"github.com/mlperf-go/mlperf-go/submission/layout"
)

// survey finds out what a campaign needs and how long it takes, before it starts.
type survey struct{ *Plan }

// begin reports what the campaign needs before anything is written, and returns an error if something is missing. If
// the campaign waits for servers that do not answer yet, the first step that needs them repeats it.
func (p survey) begin(ctx context.Context) error {
	if p.peek(); p.idle() {
		return nil
	}
	ask := p.Probes()
	if ask {
		err := answers(ctx, p.settings)
		if err != nil && p.usesServers() && !(p.options.WaitFirst && p.Wait > 0) {
			return exit.Environment(exit.CodeEndpoint, "Pass --wait-endpoint 10m to wait for a server that is not ready yet",
				"%w", err)
		}
		ask = err == nil
	}
	if !ask && p.settings.Has("endpoint") {
		p.Begin = func(ctx context.Context) error { return p.report(ctx, true) }
	}
	return p.report(ctx, ask)
}

func (p survey) report(ctx context.Context, ask bool) error {
	table, err := p.table(ctx, ask)
	if err != nil {
		return err
	}
	if p.options.Needs != nil {
		p.options.Needs(table)
	}
	return table.Err()
}

// idle reports whether every step of the campaign is done already.
func (p survey) idle() bool {
	return !p.Force && !slices.ContainsFunc(p.Tasks, func(t Task) bool {
		return t.Test != Preflight && p.Look(t).Status != Done
	})
}

// usesServers reports whether a pending step sends requests: a score only reads a log.
func (p survey) usesServers() bool {
	return slices.ContainsFunc(p.Tasks, func(t Task) bool {
		return (t.IsRun() || t.Test == Tune) && (p.Force || p.Look(t).Status != Done)
	})
}

// Needs returns what the tests of the campaign need, after Bind. ask probes the servers.
func (p *Plan) Needs(ctx context.Context, ask bool) (needs.Table, error) {
	return survey{p}.table(ctx, ask)
}

// table returns what the tests need. ask probes the servers.
func (p survey) table(ctx context.Context, ask bool) (needs.Table, error) {
	if len(p.plans) == 0 {
		return nil, nil
	}
	s := &needs.Survey{Tests: p.plans, Environ: p.options.Environ, Folder: p.Folder,
		Scored: slices.ContainsFunc(p.Tasks, func(t Task) bool { return t.Test == Score })}
	if ask {
		test, _, err := p.resolve(Step{p.probed(), layout.Performance})
		if err != nil {
			return nil, err
		}
		s.Servers, s.Refusal = run.PreflightOnly(ctx, run.FromPlan(test), waiting{func(text string) { p.Log.Info(text) }})
		if ctx.Err() != nil {
			return nil, s.Refusal
		}
	}
	p.learnSpeed(s.Servers)
	s.Takes = p.takes()
	return s.Table(ctx), nil
}

// probed returns the scenario whose requests the probe sends: one that streams, if there is one, and SingleStream last,
// because its probe measures the latency of three whole answers.
func (p survey) probed() models.Scenario {
	rank := func(test *plan.Plan) int {
		switch {
		case test.Scenario.LoadGen == models.SingleStream:
			return 2
		case test.Scenario.Stream:
			return 0
		}
		return 1
	}
	return slices.MinFunc(p.plans, func(a, b *plan.Plan) int { return rank(a) - rank(b) }).Scenario.Scenario
}

// learnSpeed records how long one answer takes alone: from the preflight's short answer, or from the simulator's
// settings.
func (p survey) learnSpeed(servers *run.Preflight) {
	if !p.settings.Has("endpoint") {
		p.speed = simulatorSpeed(rehearse.AnswerTime(needs.LongestAnswer(p.plans[0])))
		return
	}
	p.speed.answer = max(p.speed.answer, needs.AnswerTime(servers, p.plans[0]))
	if p.simulated {
		p.speed = simulatorSpeed(p.speed.answer)
	}
}

// takes returns the duration of the campaign, in total and by scenario.
func (p survey) takes() string {
	if p.state == nil { // otherwise the campaign runs, and its state is newer than the file
		p.peek()
	}
	var parts []string
	var all sum
	var shortest time.Duration
	for i, t := range p.Tasks {
		if i > 0 && p.Tasks[i-1].Scenario == t.Scenario {
			continue
		}
		var of sum
		for _, other := range p.Tasks {
			if other.Scenario == t.Scenario {
				took := p.estimate(other)
				of.add(took)
				all.add(took)
				if shortest += took.takes; !took.sure {
					shortest += took.overhead
				}
			}
		}
		parts = append(parts, string(t.Scenario)+" "+needs.About(of.total()))
	}
	d, sure := all.total()
	tunes := func(t Task) bool { return t.Test == Tune && p.Look(t).Status != Done }
	switch answer := p.speed.answer; {
	case slices.ContainsFunc(p.Tasks, tunes):
		return needs.About(d, sure) + ": a tune takes as many tests as it needs"
	case !sure && answer > 0:
		return needs.Between(shortest, p.takesAt(1/answer.Seconds()), answer)
	case !sure && d.Round(time.Second) == 0:
		return fmt.Sprintf("it follows from the server's speed: about %v at %d answers/s",
			p.takesAt(exampleRate).Round(time.Second), exampleRate)
	case len(parts) == 1:
		return needs.About(d, sure)
	}
	return needs.About(d, sure) + ": " + strings.Join(parts, ", ")
}

// exampleRate is a speed of a slow server, in answers per second.
const exampleRate = 4

// takesAt returns the duration of the campaign if the server reaches a rate in Offline.
func (p survey) takesAt(rate float64) time.Duration {
	var all sum
	for _, t := range p.Tasks {
		took := p.estimate(t)
		if load := t.Load; !took.sure && t.IsRun() {
			load.PerS = t.offered(rate)
			took.takes, took.sure = load.Takes()
			took.takes += took.overhead
		}
		all.add(took)
	}
	takes, _ := all.total()
	return takes
}

// waiting is the observer of a probe: it reports late answers.
type waiting struct{ report func(text string) }

func (w waiting) Waiting(text string)                { w.report(text) }
func (waiting) Preflighted(*run.Preflight, []string) {}
func (waiting) Progress(run.Progress)                {}

// Probes reports whether a preview probes the servers: those of the user's, which run already.
func (p *Plan) Probes() bool { return p.settings.Has("endpoint") && p.options.Servers == nil }
