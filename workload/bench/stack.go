package bench

import (
	"cmp"
	"context"
	"errors"

	"go.uber.org/zap"

	"github.com/mlperf-go/mlperf-go/internal/crash"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/rehearse"
	"github.com/mlperf-go/mlperf-go/servers"
)

// Stack is the servers that were started for one or more runs: those of a plan, or the simulator. It starts no server
// again, so its context ends when one of them does.
type Stack struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	over   chan struct{} // closed when nothing watches the servers any more
	urls   []string
	dir    string // folder of their state; empty: the server is the simulator
	key    string
	logs   *servers.LogCopier // nil: the simulator, which has no log
	stop   func() error
}

// StartServers starts the servers of a plan and returns when they serve. The context of the runs derives from ctx. log
// receives what happens to the servers. The caller must call Stop.
func StartServers(ctx context.Context, plan *servers.Plan, log *zap.Logger) (*Stack, error) {
	for _, note := range plan.Notes {
		log.Info(note)
	}
	logs := servers.NewLogCopier(plan)
	fleet, err := servers.Start(ctx, plan, func(text string) { log.Info(text) })
	if err != nil {
		return nil, exit.Environment(exit.CodeServerStart, "", "%w", err)
	}
	s := &Stack{urls: fleet.URLs(), dir: plan.Dir, key: plan.APIKey(), logs: logs,
		stop: func() error { return fleet.Finish(log) }}
	s.watch(ctx, func(ctx context.Context) error {
		if err := fleet.Wait(ctx); err != nil {
			return cmp.Or(fleet.Ended(), err) // without the end of its log, which is in the record
		}
		return nil
	})
	return s, nil
}

// StartSimulator starts the simulator with arguments, as StartServers starts servers. program is the path of
// mlperf-go; empty: the running program.
func StartSimulator(ctx context.Context, program string, arguments []string, log *zap.Logger) (*Stack, error) {
	sim, err := rehearse.StartSimulator(ctx, program, arguments)
	if err != nil {
		return nil, err
	}
	log.Info("simulator: " + sim.URL)
	s := &Stack{urls: []string{sim.URL}, stop: func() error {
		sim.Stop()
		return nil
	}}
	s.watch(ctx, func(ctx context.Context) error {
		select {
		case <-sim.Exited:
			return errors.New("the simulator ended by itself")
		case <-ctx.Done():
			return nil
		}
	})
	return s, nil
}

// watch makes the context of the runs. wait returns an error when a server ends by itself, and nil at the end of its
// context.
func (s *Stack) watch(parent context.Context, wait func(context.Context) error) {
	s.ctx, s.cancel = context.WithCancelCause(parent)
	s.over = make(chan struct{})
	go func() {
		defer crash.Catch()
		defer close(s.over)
		if err := wait(s.ctx); err != nil {
			s.cancel(serverDied{err})
		}
	}()
}

// serverDied is the reason of a run that ended because its server did.
type serverDied struct{ error }

// Context returns the context of the runs. It ends with its parent, and when one of the servers has ended.
func (s *Stack) Context() context.Context { return s.ctx }

// Configure lets a run use the servers.
func (s *Stack) Configure(o *Options) {
	o.Endpoints, o.ServerDir = s.urls, s.dir
	if o.APIKey == "" {
		o.APIKey = s.key
	}
}

// KeepLogs copies what the servers have logged since the last call into the folder of a run, if that run took place.
func (s *Stack) KeepLogs(o *Options) error {
	if s.logs == nil || !Holds(o.Folder) {
		return nil
	}
	return s.logs.Copy(o.Folder, o.Access)
}

// Explain adds the end of a server to the error of a run, which ended for that reason.
func (s *Stack) Explain(err error) error {
	if died, ok := context.Cause(s.ctx).(serverDied); ok {
		return exit.Environment(exit.CodeServerDied, "", "%w", errors.Join(died.error, err))
	}
	return err
}

// Stop stops the servers. An error means that a process may remain.
func (s *Stack) Stop() error {
	s.cancel(nil)
	<-s.over
	return s.stop()
}
