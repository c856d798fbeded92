package main

import (
	"cmp"
	"errors"
	"path/filepath"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/plan"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/run/rehearse"
	"github.com/mlperf-go/mlperf-go/workload/bench"
	"github.com/mlperf-go/mlperf-go/workload/contract"
	"github.com/mlperf-go/mlperf-go/workload/profile"
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
	v, list, err := cmd.loadOf(c)
	if err != nil {
		return err
	}
	if err := cmd.checkE2E(c, v, list); err != nil {
		return err
	}
	u, err := cmd.uploads(c, list)
	if err != nil {
		return err
	}
	defer u.close()
	return cmd.watched(c, list, func(w *benchWatch) error {
		api := &list[0].Profile.API
		s, err := cmd.standUp(c, cmp.Or(list[0].Model, api.Model), api.Adapters)
		if err != nil {
			return err
		}
		defer func() { cmd.reportStop(s.Stop()) }()
		c.Context = s.Context()
		return cmd.runAll(c, v, list, u, func(c *cli.Context, o *bench.Options) error {
			s.Configure(o)
			err := cmd.runOne(c, o, w)
			if lost := s.KeepLogs(o); lost != nil { // the run is complete without them
				cmd.notice(lost.Error())
			}
			if err != nil {
				return s.Explain(err)
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
		if err := plan.CheckTransport(&backends.Config{Transport: o.Transport}); err != nil {
			return err
		}
	}
	return checkFolders(c, list)
}

// standUp starts the servers of the flags, or the simulator with the names of a model and its adapters, and waits until
// they serve.
func (cmd benchCommand) standUp(c *cli.Context, model string, adapters []profile.Adapter) (*bench.Stack, error) {
	e, cfg, err := serverSettings(c, serverFlags())
	if err != nil {
		return nil, err
	}
	if cfg == nil {
		if c.NArg() > 0 {
			return nil, exit.Usage(exit.CodeArgument, "Name the servers with --server-config or --model-path",
				"the simulator has no engine that accepts %q", c.Args().First())
		}
		args := rehearse.SimulatorArguments(model, c.String("backend"))
		for _, a := range adapters {
			args = append(args, "--adapter", a.Name)
		}
		return bench.StartSimulator(c.Context, "", args, cmd.log)
	}
	plan, err := cmd.planServers(c, e, cfg)
	if err != nil {
		return nil, err
	}
	return bench.StartServers(c.Context, plan, cmd.log)
}

// analyse writes the additional files of a run: those of other clients, and the report. Errors are only logged, because
// the result is already printed.
func (cmd benchCommand) analyse(c *cli.Context, folder string) {
	r, err := bench.Read(folder)
	if err == nil && r.Verdict == record.Interrupted {
		return
	}
	for _, format := range c.StringSlice("format") {
		_, notes, failed := convertRun(format, folder, "", false)
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
