package main

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/internal/crash"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/run/rehearse"
	"github.com/mlperf-go/mlperf-go/servers"
	"github.com/mlperf-go/mlperf-go/workload/bench"
	"github.com/mlperf-go/mlperf-go/workload/contract"
)

// e2eServerFlags select the servers, apart from the flags that every run has.
func e2eServerFlags() []cli.Flag {
	every := runFlags()
	return slices.DeleteFunc(serverFlags(), func(f cli.Flag) bool { return flagNamed(every, f.Names()[0]) != nil })
}

func (cmd benchCommand) e2e() *cli.Command {
	return &cli.Command{
		Name: "e2e", Usage: "start the servers, run a workload, analyse it, and stop the servers",
		ArgsUsage: "[-- ENGINE ARGUMENTS]", OnUsageError: usageError,
		Description: "Starts the servers of --server-config or --model-path, or else the simulator.\n" +
			"Stops them at the end, also after a failure or a signal. If a server ends during a run, the run ends.",
		Flags: append(append(runFlags(), e2eServerFlags()...), &cli.StringSliceFlag{Name: "format", Category: figuresGroup,
			Value: cli.NewStringSlice("ldb-0.2.1"), Usage: "formats of bench convert to write after each run"}),
		Action: cmd.doE2E,
	}
}

func (cmd benchCommand) doE2E(c *cli.Context) error {
	v, list, err := cmd.profilesOf(c)
	if err != nil {
		return err
	}
	if err := cmd.checkE2E(c, v, list); err != nil {
		return err
	}
	return cmd.watched(c, list, func(w *benchWatch) error {
		s, err := cmd.standUp(c, cmp.Or(list[0].Model, list[0].Profile.API.Model))
		if err != nil {
			return err
		}
		defer s.down()
		c.Context = s.ctx
		return cmd.runAll(c, v, list, func(c *cli.Context, o *bench.Options) error {
			s.configure(o)
			err := cmd.runOne(c, o, w)
			cmd.keepLogs(s, o)
			if err != nil {
				return s.explain(err)
			}
			cmd.analyse(c, o.Folder)
			return nil
		})
	})
}

// checkE2E finds what is wrong with the command line before a server is started.
func (cmd benchCommand) checkE2E(c *cli.Context, v *contract.Invocation, list []contract.Rendered) error {
	for _, f := range c.StringSlice("format") {
		if err := checkFormat(f); err != nil {
			return err
		}
	}
	for _, r := range list {
		o, err := cmd.options(c, v, r)
		if err != nil {
			return err
		}
		if len(list) == 1 {
			if err := bench.Check(o.Folder, o.Force); err != nil {
				return err
			}
		}
	}
	return nil
}

// stack is the set of servers that the command started.
type stack struct {
	ctx  context.Context // ends when one of the servers has ended
	urls []string
	dir  string // folder of their state; empty: the server is the simulator
	key  string
	logs *servers.LogCopier // nil: the simulator, which has no log
	down func()             // stops the servers
}

// standUp starts the servers of the flags, or the simulator with a model's name, and waits until they serve.
func (cmd benchCommand) standUp(c *cli.Context, model string) (*stack, error) {
	e, cfg, err := serverSettings(c, serverFlags())
	if err != nil {
		return nil, err
	}
	if cfg == nil {
		return cmd.simulate(c.Context, rehearse.SimulatorArguments(model, c.String("backend")))
	}
	plan, err := cmd.planServers(c, e, cfg)
	if err != nil {
		return nil, err
	}
	logs := servers.NewLogCopier(plan)
	fleet, err := cmd.startServers(c.Context, plan)
	if err != nil {
		return nil, err
	}
	s := &stack{urls: fleet.URLs(), dir: plan.Dir, key: plan.APIKey(), logs: logs}
	s.watch(c.Context, func(ctx context.Context) error {
		if err := fleet.Wait(ctx); err != nil {
			return cmp.Or(fleet.Ended(), err) // without the end of its log, which is in the record
		}
		return nil
	}, func() { cmd.stopServers(fleet) })
	return s, nil
}

func (cmd benchCommand) simulate(ctx context.Context, args []string) (*stack, error) {
	sim, err := rehearse.StartSimulator(ctx, "", args)
	if err != nil {
		return nil, err
	}
	cmd.notice("simulator: " + sim.URL)
	s := &stack{urls: []string{sim.URL}}
	s.watch(ctx, func(ctx context.Context) error {
		select {
		case <-sim.Exited:
			return errors.New("the simulator ended by itself")
		case <-ctx.Done():
			return nil
		}
	}, sim.Stop)
	return s, nil
}

// watch returns the context of the runs. It ends when wait returns an error, because servers are not started again.
// stop ends the servers.
func (s *stack) watch(parent context.Context, wait func(context.Context) error, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	s.ctx = ctx
	over := make(chan struct{})
	go func() {
		defer crash.Catch()
		defer close(over)
		if err := wait(ctx); err != nil {
			cancel(serverDied{err})
		}
	}()
	s.down = func() {
		cancel(nil)
		<-over
		stop()
	}
}

// serverDied is the reason of a run that ended because its server did.
type serverDied struct{ error }

func (s *stack) configure(o *bench.Options) {
	o.Endpoints, o.ServerDir = s.urls, s.dir
	if o.APIKey == "" {
		o.APIKey = s.key
	}
}

// keepLogs copies what the servers have logged during a run into its folder. A run without them is complete.
func (cmd benchCommand) keepLogs(s *stack, o *bench.Options) {
	if s.logs == nil || !bench.Holds(o.Folder) {
		return
	}
	if err := s.logs.Copy(o.Folder, o.Access); err != nil {
		cmd.notice(err.Error())
	}
}

// explain returns the end of a server as the reason why a run could not begin.
func (s *stack) explain(err error) error {
	if died, ok := context.Cause(s.ctx).(serverDied); ok {
		return serverError(exit.CodeServerDied, errors.Join(died.error, err))
	}
	return err
}

// analyse writes the additional files of a run: those of other clients, and the report. Errors are only logged, because
// the result is already printed.
func (cmd benchCommand) analyse(c *cli.Context, folder string) {
	r, err := bench.Read(folder)
	if err == nil && r.Verdict == record.Interrupted {
		return
	}
	for _, format := range c.StringSlice("format") {
		_, notes, failed := convertRun(format, folder, "")
		err = errors.Join(err, failed)
		for _, n := range notes {
			cmd.log.Debug(format + ": " + n)
		}
	}
	page, failed := bench.Report(folder)
	if failed == nil {
		failed = writeReport(filepath.Join(folder, record.ReportName), page)
	}
	if err = errors.Join(err, failed); err != nil {
		cmd.log.Error("the run could not be analysed: " + err.Error())
		cmd.exit = max(cmd.exit, run.Classify(err).Exit)
	}
}
