package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/internal/foreign"
	"github.com/mlperf-go/mlperf-go/internal/results"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/plan"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/workload/bench"
	"github.com/mlperf-go/mlperf-go/workload/contract"
	"github.com/mlperf-go/mlperf-go/workload/engine"
	"github.com/mlperf-go/mlperf-go/workload/measure"
	"github.com/mlperf-go/mlperf-go/workload/profile"
)

// Groups of flags.
const (
	workloadGroup = "Workload"
	serversGroup  = "Servers"
	figuresGroup  = "Figures"
)

// profileFlags select a profile: the settings of the contract that every workload command accepts.
func profileFlags() []cli.Flag {
	flags := []cli.Flag{&cli.Uint64Flag{Name: "seed", Category: workloadGroup, DefaultText: "the profile's",
		Usage: "seed of arrival times, lengths and prompts"}}
	of := contract.Constructors[cli.Flag]{
		Switch: func(s contract.Setting, aliases []string) cli.Flag {
			return &cli.BoolFlag{Name: s.Flag, Aliases: aliases, Category: workloadGroup, Usage: s.Usage}
		},
		List: func(s contract.Setting, aliases []string) cli.Flag {
			return &cli.StringSliceFlag{Name: s.Flag, Aliases: aliases, Category: workloadGroup, Usage: s.Usage}
		},
		Text: func(s contract.Setting, aliases []string) cli.Flag {
			return &cli.StringFlag{Name: s.Flag, Aliases: aliases, Category: workloadGroup, Usage: s.Usage}
		}}
	return append(flags, of.Flags(contract.Bench, contract.Model, contract.Endpoint)...)
}

// placeholderFlags are those of a command that reads a profile and sends nothing.
func placeholderFlags() []cli.Flag {
	return append(profileFlags(),
		&cli.StringFlag{Name: contract.Model, Aliases: []string{"m", "models"}, Category: workloadGroup,
			Usage: "name of the model, for the placeholders of the profile"},
		&cli.StringSliceFlag{Name: contract.Endpoint, Aliases: []string{"U"}, Category: workloadGroup,
			Usage: "base URL of a server, for the placeholders of the profile"})
}

func (cmd benchCommand) run() *cli.Command {
	return &cli.Command{
		Name: "run", Usage: "send a workload to a server and judge the run", OnUsageError: usageError,
		Description: "Sends the requests of a workload profile when they are due, and computes the figures from the " +
			"recorded events.\nA run is INVALID if requests failed, or if the client was too slow for the schedule.\n" +
			"Here --scenario names a file of variables. Only `mlperf-go run` has MLPerf's scenarios, such as Server; the load " +
			"of a workload follows from the stages of its profile.",
		Flags:  append(runFlags(), endpointFlag()),
		Action: cmd.doRun,
	}
}

func endpointFlag() cli.Flag {
	return &cli.StringSliceFlag{Name: "endpoint-url", Aliases: []string{"U"}, Category: serversGroup,
		Usage: "base URL of a server; default: the profile's"}
}

// runFlags are the flags of every command that runs a workload.
func runFlags() []cli.Flag {
	return append(append(profileFlags(), testFlags()...),
		&cli.StringFlag{Name: "model", Aliases: []string{"m", "models"}, Category: serversGroup,
			Usage: "name of the model in requests; default: the profile's, or the first that the server lists"},
		&cli.StringFlag{Name: "backend", Category: serversGroup, Value: "auto",
			Usage: "protocol of the servers: auto, vllm, sglang, trtllm, llamacpp, ollama, openai, sim"},
		&cli.StringFlag{Name: "tokenizer", Category: serversGroup,
			Usage: "file or folder of the served model's tokenizer, for prompts of exact lengths"},
		&cli.StringFlag{Name: "api-key", Category: serversGroup, Usage: "API key, sent as a bearer token"},
		&cli.StringFlag{Name: "lb", Category: serversGroup, Value: "round-robin",
			Usage: "which of several endpoints gets a request: round-robin, random, least-inflight, hash"},
		durationFlag(cli.GenericFlag{Name: "request-timeout", Category: serversGroup,
			Usage: "maximum time for one answer; the profile's value takes precedence"}, time.Hour),
		&cli.IntFlag{Name: "retries", Category: serversGroup, Usage: "further attempts if a request fails before the first " +
			"byte of its answer"},
		&cli.IntFlag{Name: "shards", Category: serversGroup, Value: 1, Usage: "event loops that send and receive"},
		&cli.StringFlag{Name: "part", Category: workloadGroup, Hidden: true,
			Usage: "send every N-th request only, beginning with I: I/N"},
		&cli.StringFlag{Name: "control", Category: workloadGroup, Hidden: true,
			Usage: "Unix socket on which a coordinator starts the stages"},
		sloFlag(),
		&cli.Float64Flag{Name: "price-per-hour", Category: figuresGroup, DefaultText: "unknown",
			Usage: "price of all servers per hour in any currency, for the price of a million tokens"},
		&cli.StringFlag{Name: "definitions", Category: figuresGroup, Value: "mlperf-go",
			Usage: "client whose definitions the printed figures follow: " + definitionsUsage()},
		&cli.StringFlag{Name: "output", Aliases: []string{"r"}, Category: figuresGroup,
			DefaultText: "results/bench-NAME/TIME", Usage: "folder of the results; a destination such as s3://BUCKET/PATH " +
				"means the same as --upload"},
		&cli.StringFlag{Name: "upload", Category: figuresGroup,
			Usage: "send each finished run there: s3://BUCKET/PATH, gs://BUCKET/PATH, or the word profile for the profile's " +
				"own destination"},
		&cli.StringFlag{Name: "calibration", Category: figuresGroup, DefaultText: "the file of `mlperf-go calibrate`",
			Usage: "file with the client's own limits, which are printed beside the result"},
		&cli.BoolFlag{Name: "rehearse", Category: workloadGroup,
			Usage: "send only a few short requests, and replace missing data files by synthetic ones"},
		&cli.BoolFlag{Name: "resume", Category: figuresGroup,
			Usage: "keep the runs that are finished in that folder, and make the others from their start"},
		&cli.BoolFlag{Name: "force", Category: figuresGroup, Usage: "overwrite an earlier run in that folder"})
}

func sloFlag() cli.Flag {
	return &cli.StringFlag{Name: "slo", Category: figuresGroup,
		Usage: "limits of a good request of a workload, such as ttft:p99<500ms,tpot:p95<40ms"}
}

// profilesOf finds the profile of a command line and renders it for each model and treatment.
func (cmd benchCommand) profilesOf(c *cli.Context) (*contract.Invocation, []contract.Rendered, error) {
	if err := checkResume(c); err != nil {
		return nil, nil, err
	}
	if err := checkNumbers(c); err != nil {
		return nil, nil, err
	}
	if c.Command.ArgsUsage == "" {
		if err := noArguments(c); err != nil {
			return nil, nil, err
		}
	}
	v, notes, err := contract.Resolve(contract.Given(c, contract.Bench), cmd.variable)
	if errors.Is(err, contract.ErrNoWorkload) {
		return nil, nil, exit.Usage(exit.CodeWorkload, "Give --workload with a name of `mlperf-go bench list` or a file",
			"%w", err)
	}
	if err != nil {
		return nil, nil, exit.Usage(exit.CodeProfile, "", "%w", err)
	}
	cmd.notice(notes...)
	list, err := v.Render()
	if err != nil {
		return nil, nil, exit.Usage(exit.CodeProfile, "", "%w", err)
	}
	for _, r := range list {
		if r.Profile.Source != nil {
			cmd.notice(r.Profile.Source.Notes...)
		}
		if c.IsSet("seed") {
			r.Profile.Seed = c.Uint64("seed")
		}
	}
	return v, list, nil
}

// loadOf returns the profiles of a command that sends load, unless the variables of llm-d-benchmark forbid it.
func (cmd benchCommand) loadOf(c *cli.Context) (*contract.Invocation, []contract.Rendered, error) {
	if err := contract.CheckLoad(contract.Given(c, contract.Bench), cmd.variable); err != nil {
		return nil, nil, exit.Usage(exit.CodeEnvironment, "", "%w", err)
	}
	return cmd.profilesOf(c)
}

// checkNumbers rejects numbers of flags that no run can have.
func checkNumbers(c *cli.Context) error {
	for _, f := range []struct {
		name     string
		low, top int
	}{{"shards", 1, mostShards}, {"retries", 0, mostRetries}} {
		if n := c.Int(f.name); c.IsSet(f.name) && (n < f.low || n > f.top) {
			return exit.Usage(exit.CodeFlagValue, "", "--%s %d: expected a whole number from %d to %d", f.name, n, f.low, f.top)
		}
	}
	if v := c.Float64("price-per-hour"); c.IsSet("price-per-hour") && !(v > 0 && v < mostPrice) {
		return exit.Usage(exit.CodeFlagValue, "", "--price-per-hour %v: expected a number above 0", v)
	}
	if d := c.Duration("request-timeout"); c.IsSet("request-timeout") && d <= 0 {
		return exit.Usage(exit.CodeFlagValue, "Write 90s, 10m or 1h", "--request-timeout %v: expected a time above 0", d)
	}
	return nil
}

// Bounds of flags.
const (
	mostShards  = 64
	mostRetries = 100
	mostPrice   = 1e12
)

// variable returns an environment variable.
func (cmd benchCommand) variable(name string) (string, bool) {
	for _, v := range cmd.environ {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value, true
		}
	}
	return "", false
}

// options converts the flags to the options of a run.
func (cmd benchCommand) options(c *cli.Context, v *contract.Invocation, r contract.Rendered) (*bench.Options, error) {
	p := r.Profile
	if _, err := measure.Define(c.String("definitions")); err != nil {
		return nil, exit.Usage(exit.CodeDefinitions, "", "%w", err)
	}
	o := &bench.Options{Profile: p, Endpoints: v.Values(contract.Endpoint), Backend: c.String("backend"),
		Model: r.Model, Tokenizer: c.String("tokenizer"), APIKey: c.String("api-key"),
		Balance: c.String("lb"), Retries: c.Int("retries"),
		Timeouts: backends.Deadlines{RequestTimeout: c.Duration("request-timeout")}, Shards: c.Int("shards"),
		Force: c.Bool("force"), Command: cmd.commandLine(),
		Environ: cmd.environ, Secrets: cmd.secrets}
	e, err := flagSettings(c, testFlags())
	if err != nil {
		return nil, err
	}
	if o.MetricsURLs = e.Strings("metrics-url"); e.Bool("metrics") || len(o.MetricsURLs) > 0 {
		o.MetricsEvery = e.Duration("metrics-interval")
	}
	o.ResetCache, o.Transport = e.String("reset-cache"), plan.Transport(e)
	if e.Bool("shared-output") {
		o.Access = atomicfile.Shared
	}
	if o.Part, err = partOf(c.String("part")); err != nil {
		return nil, err
	}
	o.Control, o.PricePerHour = c.String("control"), c.Float64("price-per-hour")
	cmd.secrets.Add(o.APIKey)
	if len(o.Endpoints) == 0 && p.API.Endpoint != "" {
		o.Endpoints = []string{p.API.Endpoint}
	}
	if o.Limits, err = measure.ParseLimits(c.String("slo")); err != nil {
		return nil, exit.Usage(exit.CodeSLO, "", "%w", err)
	}
	if o.Calibration, err = cmd.calibration(c.String("calibration")); err != nil {
		return nil, err
	}
	o.Folder = outputFolder(c, v, "bench-"+r.Folder())
	return o, nil
}

// outputFolder returns the folder of --output, or one in home below results/.
func outputFolder(c *cli.Context, v *contract.Invocation, home string) string {
	if output := localOutput(c); output != "" {
		return results.Choose(output, home, c.Bool("resume"), time.Now())
	}
	return results.Below(filepath.Join(v.WorkDir(), results.Root), home, c.Bool("resume"), time.Now())
}

// partOf parses a share of a workload: I/N.
func partOf(text string) (engine.Part, error) {
	var p engine.Part
	if text == "" {
		return p, nil
	}
	if n, err := fmt.Sscanf(text, "%d/%d", &p.Index, &p.Of); n != 2 || err != nil || p.Index < 0 || p.Index >= p.Of {
		return p, exit.Usage(exit.CodeWorkload, "Write --part 0/8 for the first of eight", "invalid --part %q", text)
	}
	return p, nil
}

func (cmd benchCommand) doRun(c *cli.Context) error {
	v, list, err := cmd.loadOf(c)
	if err != nil {
		return err
	}
	if err := checkFolders(c, list); err != nil {
		return err
	}
	u, err := cmd.uploads(c, list)
	if err != nil {
		return err
	}
	defer u.close()
	return cmd.watched(c, list, func(w *benchWatch) error {
		return cmd.runAll(c, v, list, u, func(c *cli.Context, o *bench.Options) error { return cmd.runOne(c, o, w) })
	})
}

// folderOf returns the folder of a run below --output, which is that of a single run.
func folderOf(output string, list []contract.Rendered, i int) string {
	if len(list) == 1 {
		return results.Resolve(filepath.Clean(output))
	}
	return filepath.Join(output, list[i].Folder())
}

// checkFolders rejects folders of earlier runs before anything is sent. A run that is resumed may be in its folder.
func checkFolders(c *cli.Context, list []contract.Rendered) error {
	output := localOutput(c)
	if output == "" {
		return nil
	}
	if len(list) > 1 && bench.Holds(output) {
		return exit.Usage(exit.CodeOutputUsed, "Choose another --output", "the output folder %s holds one run, and %d runs "+
			"have a folder each below it", output, len(list))
	}
	for i := range list {
		if c.Bool("resume") {
			break
		}
		if err := bench.Check(folderOf(output, list, i), c.Bool("force")); err != nil {
			return err
		}
	}
	return nil
}

// runAll runs a profile, or its treatments in sequence, each in its own folder below --output. With --resume it keeps
// finished runs. Each run is sent before the next one begins. The worst exit code of the runs and of their uploads is
// the command's.
func (cmd benchCommand) runAll(c *cli.Context, v *contract.Invocation, list []contract.Rendered, u *uploads,
	runOne func(*cli.Context, *bench.Options) error) error {
	cmd.measures()
	at := 0 // of the run in list
	series := bench.Series{Runs: len(list), Attempts: v.Attempts(), StopOnError: v.StopOnError(),
		Options: func(i int) (*bench.Options, error) {
			at = i
			o, err := cmd.options(c, v, list[i])
			if output := localOutput(c); err == nil && output != "" {
				o.Folder = folderOf(output, list, i)
			}
			return o, err
		},
		Make: func(o *bench.Options) (int, error) {
			cmd.exit = 0
			kept, err := cmd.kept(c, o)
			if err == nil && !kept {
				err = runOne(c, o)
			}
			if err == nil {
				u.send(at, o.Folder)
			}
			return cmd.exit, err
		}}
	end, err := series.Run(c.Context)
	if err != nil {
		return err
	}
	cmd.exit = max(end.Status, u.exit)
	if end.Interrupted {
		cmd.explainResume(c, end.Finished, len(list), end.Folder)
	}
	return nil
}

func (cmd benchCommand) runOne(c *cli.Context, o *bench.Options, w *benchWatch) error {
	if c.Bool("rehearse") {
		if err := cmd.rehearse(o); err != nil {
			return err
		}
	}
	w.begin(o)
	show := &benchProgress{console: cmd.console, page: w.page}
	o.Observer, o.Details = show, w.asked
	r, err := bench.Run(c.Context, *o)
	if err != nil {
		results.Discard(o.Folder)
		return err
	}
	if err := results.Point(o.Folder); err != nil {
		cmd.notice(err.Error())
	}
	w.result(r)
	for _, n := range r.Notes {
		show.Note(n) // found during the run
	}
	cmd.exit = r.ExitCode()
	if i, ok := context.Cause(c.Context).(run.Interrupt); ok && r.Verdict == record.Interrupted {
		cmd.exit = i.ExitCode()
	}
	m, err := figuresOf(c, o, r)
	if err != nil {
		return err
	}
	err = o.Access.Write(filepath.Join(o.Folder, bench.SummaryName), func(w io.Writer) error {
		printBench(page{to: w}, r, m)
		return nil
	})
	if err != nil {
		cmd.log.Warn("cannot write the printed result into the folder: " + err.Error())
	}
	return cmd.printBenchRecord(r, m, o.Folder)
}

// definitionsUsage describes the values of --definitions.
func definitionsUsage() string {
	return strings.Join(measure.DefinitionNames(), ", ") + "; also with ,itl.mode=" + strings.Join(measure.GapModes(), "|")
}

// figuresOf returns the figures of a run by the definitions of --definitions.
func figuresOf(c *cli.Context, o *bench.Options, r *bench.Record) (*measure.Measured, error) {
	name := c.String("definitions")
	if name == r.Measured.Definition {
		return r.Measured, nil
	}
	return bench.Remeasure(o.Folder, r, name, o.Limits)
}

// rehearse makes a run a rehearsal. Made-up data are in a folder inside the run's.
func (cmd benchCommand) rehearse(o *bench.Options) error {
	if err := bench.Check(o.Folder, o.Force); err != nil {
		return err
	}
	small, notes, err := bench.Rehearse(o.Profile, filepath.Join(o.Folder, bench.MadeUpName), o.Access)
	if err != nil {
		return exit.Environment(exit.CodeOutputDir, "Choose another --output", "%w", err)
	}
	cmd.notice(notes...)
	o.Profile, o.Rehearsal = small, bench.RehearsalReason
	return nil
}

func (cmd benchCommand) printBenchRecord(r *bench.Record, m *measure.Measured, folder string) error {
	if cmd.json {
		shown := *r
		shown.Measured = m
		cmd.writeJSON(&shown)
		return nil
	}
	if cmd.quiet {
		if !cmd.silent {
			printBenchVerdict(cmd.out, r, m)
		}
		return nil
	}
	printBench(cmd.out, r, m)
	cmd.out.line("\nfolder      %s", filepath.Clean(folder))
	return nil
}

// benchProgress prints a line every few seconds, and updates the pages.
type benchProgress struct {
	*console
	page  *livePage
	last  time.Time
	noted []string
}

// Note prints a sentence once.
func (b *benchProgress) Note(text string) {
	if !slices.Contains(b.noted, text) {
		b.noted = append(b.noted, text)
		b.notice("note: " + text)
	}
}

// Progress prints what was sent and answered so far.
func (b *benchProgress) Progress(p bench.Progress) {
	now := progressOf(&p)
	b.count(now)
	b.page.progress(now)
	if time.Since(b.last) < lineEvery {
		return
	}
	b.last = time.Now()
	b.log.Info(benchLine(&p))
}

// benchLine describes the progress of a run in one line.
func benchLine(p *bench.Progress) string {
	text := fmt.Sprintf("stage %d (%d of %d): %d sent", p.Stage, p.Stage+1, p.Stages, p.Sent)
	if p.Requests > 0 {
		text += fmt.Sprintf(" of %d", p.Requests)
	}
	text += fmt.Sprintf(", %d answered", p.Ended-p.Failed-p.Cancelled)
	if p.Failed > 0 {
		text += fmt.Sprintf(", %d failed", p.Failed)
	}
	if p.Cancelled > 0 {
		text += fmt.Sprintf(", %d cancelled", p.Cancelled)
	}
	return text + fmt.Sprintf(" after %v", p.Elapsed.Round(time.Second))
}

func (cmd benchCommand) planCommand() *cli.Command {
	return &cli.Command{
		Name: "plan", Usage: "print what a workload sends, and how long it takes, without sending it",
		OnUsageError: usageError, Flags: placeholderFlags(), Action: func(c *cli.Context) error {
			_, list, err := cmd.profilesOf(c)
			if err != nil {
				return err
			}
			plans := make([]*bench.Plan, len(list))
			for i, r := range list {
				plans[i] = bench.NewPlan(r.Profile)
				if err := plans[i].ReadTraces(r.Profile); err != nil {
					return exit.Usage(exit.CodeProfile, "", "%w", err)
				}
			}
			cmd.printPlans(list, plans)
			return nil
		},
	}
}

// printPlans prints the plans of profiles, by their folders if there are several.
func (cmd benchCommand) printPlans(list []contract.Rendered, plans []*bench.Plan) {
	if cmd.json && len(list) == 1 {
		cmd.writeJSON(plans[0])
		return
	}
	if cmd.json {
		named := map[string]*bench.Plan{}
		for i, r := range list {
			named[r.Folder()] = plans[i]
		}
		cmd.writeJSON(named)
		return
	}
	for i, r := range list {
		if len(list) > 1 {
			cmd.out.line("%s%s", map[bool]string{true: "\n"}[i > 0], foreign.Line(r.Folder(), 100))
		}
		printPlan(cmd.out, r.Profile, plans[i])
	}
}

func printPlan(out page, p *profile.Profile, plan *bench.Plan) {
	w := out.table()
	w.row("stage", "arrival", "rate /s", "concurrency", "requests", "duration")
	for i, s := range plan.Stages {
		name := fmt.Sprint(i)
		if s.Name != "" {
			name += " " + foreign.Line(s.Name, 60)
		}
		if s.Warmup {
			name += " (warm-up)"
		}
		w.row(name, s.Arrival, orDash(s.Rate), wholeOrDash(float64(s.Concurrency)), wholeOrDash(s.Requests),
			durationOrDash(s.Duration))
	}
	w.Flush()
	w = out.table()
	fmt.Fprintf(w, "\nrequests\t%s\n", wholeOrDash(plan.Requests))
	fmt.Fprintf(w, "input tokens\t%s\n", wholeOrDash(plan.Input))
	fmt.Fprintf(w, "output tokens\t%s\n", wholeOrDash(plan.Output))
	if plan.Leavers > 0 {
		fmt.Fprintf(w, "clients that leave\tabout %s\n", wholeOrDash(plan.Leavers))
	}
	if plan.Slow > 0 {
		fmt.Fprintf(w, "slow readers\tabout %s\n", wholeOrDash(plan.Slow))
	}
	fmt.Fprintf(w, "duration\t%s\n", durationOrDash(plan.Duration))
	if p.Load.Sweep != nil {
		fmt.Fprintf(w, "sweep\t%d stages of %v; their rates depend on the server\n", p.Load.Sweep.Stages,
			p.Load.Sweep.StageDuration)
	}
	w.Flush()
}

func orDash(v float64) string {
	if v == 0 {
		return "-"
	}
	return fmt.Sprintf("%.6g", v)
}

// wholeOrDash prints a number of requests or tokens.
func wholeOrDash(v float64) string {
	if v == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f", v)
}

func durationOrDash(d time.Duration) string {
	if d == 0 {
		return "the answers decide"
	}
	return d.Round(time.Millisecond).String()
}
