package campaign

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/reach"
	"github.com/mlperf-go/mlperf-go/internal/config"
	"github.com/mlperf-go/mlperf-go/internal/plural"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/discover"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/needs"
	"github.com/mlperf-go/mlperf-go/run/plan"
	"github.com/mlperf-go/mlperf-go/run/rehearse"
	"github.com/mlperf-go/mlperf-go/servers"
)

// Measure runs the steps, and starts what the user left out once for all of them. It returns the status of each step,
// the exit code that follows, and the error that ended the campaign early. Without outcomes no step was begun.
func (p *Plan) Measure(ctx context.Context) (outcomes []Outcome, exit int, err error) {
	if err := p.Identify(ctx); err != nil {
		return nil, 0, err
	}
	if err := (survey{p}).begin(ctx); err != nil {
		return nil, 0, err
	}
	if err := p.Open(ctx); err != nil {
		return nil, 0, err
	}
	defer p.Close()
	fleet, err := p.startServers(ctx)
	if err != nil {
		return nil, 0, err
	}
	if fleet != nil {
		defer func() {
			if err := fleet.Finish(p.Log); err != nil {
				p.Log.Error(err.Error())
				exit = max(exit, run.ExitEnvironment)
			}
		}()
	}
	stop, err := p.rehearse(ctx, fleet)
	if err != nil {
		return nil, 0, err
	}
	defer stop()
	d, sure := p.Estimate(0)
	p.Log.Info(fmt.Sprintf("%s: %s, %s", p.Of, plural.Count(len(p.Tasks), "step", "steps"), needs.About(d, sure)))
	err = p.Run(ctx)
	outcomes = p.Outcomes()
	return outcomes, ExitCode(outcomes), err
}

// Identify resolves the settings of every step, after it has asked the user's servers what they are. A simulator is a
// reason of a rehearsal.
func (p *Plan) Identify(ctx context.Context) error {
	if err := p.Bind(); err != nil {
		return err
	}
	return p.chooseBackend(ctx)
}

// chooseBackend asks the user's servers what they are, so that all steps use the same backend. It is left to the steps
// if the servers do not answer yet.
func (p *Plan) chooseBackend(ctx context.Context) error {
	if !p.settings.Has("endpoint") || p.options.Servers != nil {
		return nil
	}
	e, err := p.stepConfig(p.All[0])
	if err != nil {
		return err
	}
	plan, err := plan.Resolve(e)
	if err != nil {
		return err
	}
	choice, err := discover.Backend(ctx, plan, nil)
	var late *backends.EndpointError
	switch {
	case errors.As(err, &late):
		return nil
	case err != nil:
		return err
	}
	p.simulated, p.references = plan.Simulated, plan.References
	if !choice.Auto {
		if p.simulated { // otherwise each step would find out by itself
			return p.Bind()
		}
		return nil
	}
	p.Log.Info(fmt.Sprintf("backend %s, chosen automatically: %s", choice.Backend, choice.Why))
	if err := p.settings.Set("backend", choice.Backend, plan.Config.Origin("backend")); err != nil {
		return err
	}
	return p.Bind()
}

func (p *Plan) startServers(ctx context.Context) (*servers.Fleet, error) {
	s := p.options.Servers
	if s == nil {
		return nil, nil
	}
	for _, text := range s.Notes {
		p.Log.Info(text)
	}
	fleet, err := servers.Start(ctx, s, func(text string) { p.Log.Info(text) })
	if err != nil {
		return nil, exit.Environment(exit.CodeServerStart, "", "%w", err)
	}
	return fleet, nil
}

// rehearse starts the simulator and makes the data set where the user has none. Every step then uses them.
func (p *Plan) rehearse(ctx context.Context, fleet *servers.Fleet) (stop func(), err error) {
	e, err := p.stepConfig(p.All[0])
	if err != nil {
		return nil, err
	}
	plan, err := plan.Resolve(e)
	if err != nil {
		return nil, err
	}
	r, err := rehearse.Start(ctx, plan, rehearse.Options{Folder: p.Folder})
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"dataset", "endpoint", "backend", "served-model"} {
		if text := plan.Config.Text(name); text != "" && plan.Config.Origin(name).Layer <= config.FromRegistry {
			err = errors.Join(err, p.settings.Set(name, text, plan.Config.Origin(name)))
		}
	}
	gone := r.Exited()
	if gone != nil { // nothing would start the simulator again
		p.Wait = 0
	}
	p.Ready = func(ctx context.Context) error {
		if fleet != nil {
			if err := fleet.Ended(); err != nil {
				return fmt.Errorf("%w: %w", ErrEnded, err)
			}
		}
		select {
		case <-gone:
			return errors.New("the simulator has ended")
		default:
			return answers(ctx, plan.Config)
		}
	}
	return r.Stop, err
}

// answerWithin is how long an endpoint may take to answer.
const answerWithin = 5 * time.Second

// answers returns an error if an endpoint does not answer at all when reached as a run would reach it.
func answers(ctx context.Context, e *config.Effective) error {
	for _, url := range e.Strings("endpoint") {
		if err := reach.Try(ctx, url, plan.Transport(e), answerWithin); err != nil {
			return fmt.Errorf("an endpoint does not answer: %w", err)
		}
	}
	return nil
}
