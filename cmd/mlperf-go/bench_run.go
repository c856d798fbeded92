package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/internal/foreign"
	"github.com/mlperf-go/mlperf-go/internal/results"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/workload/bench"
	"github.com/mlperf-go/mlperf-go/workload/catalog"
	"github.com/mlperf-go/mlperf-go/workload/dialect"
	"github.com/mlperf-go/mlperf-go/workload/engine"
	"github.com/mlperf-go/mlperf-go/workload/measure"
	"github.com/mlperf-go/mlperf-go/workload/profile"
	"github.com/mlperf-go/mlperf-go/workload/template"
)

// Groups of flags.
const (
	workloadGroup = "Workload"
	serversGroup  = "Servers"
	figuresGroup  = "Figures"
)

// profileFlags select a profile.
func profileFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "workload", Aliases: []string{"w"}, Category: workloadGroup,
			Usage: "name of a predefined workload (mlperf-go bench list), or file of a profile"},
		&cli.StringFlag{Name: "harness", Aliases: []string{"l"}, Category: workloadGroup,
			DefaultText: "the profile's keys decide", Usage: "tool whose form the profile has"},
		&cli.StringSliceFlag{Name: "overrides", Aliases: []string{"o"}, Category: workloadGroup,
			Usage: "values that replace the profile's, such as load.stages.0.rate=20,total_count=200"},
		&cli.Uint64Flag{Name: "seed", Category: workloadGroup, DefaultText: "the profile's",
			Usage: "seed of arrival times, lengths and prompts"},
	}
}

func (cmd benchCommand) run() *cli.Command {
	return &cli.Command{
		Name: "run", Usage: "send a workload to a server and judge the run", OnUsageError: usageError,
		Description: "Sends the requests of a workload profile when they are due, and computes the figures from the " +
			"recorded events.\nA run is INVALID if requests failed, or if this program itself was too slow for its schedule.",
		Flags: append(profileFlags(),
			&cli.StringSliceFlag{Name: "endpoint-url", Aliases: []string{"U"}, Category: serversGroup,
				Usage: "base URL of a server; default: the profile's"},
			&cli.StringFlag{Name: "model", Aliases: []string{"m"}, Category: serversGroup,
				Usage: "name of the model in requests; default: the profile's, or the first that the server lists"},
			&cli.StringFlag{Name: "backend", Category: serversGroup, Value: "auto",
				Usage: "protocol of the servers: auto, vllm, sglang, trtllm, llamacpp, ollama, openai, sim"},
			&cli.StringFlag{Name: "tokenizer", Category: serversGroup,
				Usage: "file or folder of the served model's tokenizer, for prompts of exact lengths"},
			&cli.StringFlag{Name: "api-key", Category: serversGroup, Usage: "key that is sent as a bearer token"},
			&cli.StringFlag{Name: "lb", Category: serversGroup, Value: "round-robin",
				Usage: "which of several endpoints gets a request: round-robin, random, least-inflight, hash"},
			&cli.StringFlag{Name: "ca-file", Category: serversGroup, Usage: "PEM file of further trusted authorities"},
			&cli.BoolFlag{Name: "insecure-skip-verify", Category: serversGroup, Usage: "do not verify certificates"},
			&cli.DurationFlag{Name: "request-timeout", Category: serversGroup, Value: time.Hour,
				Usage: "longest time of an answer; the profile's takes precedence"},
			&cli.IntFlag{Name: "retries", Category: serversGroup, Usage: "further attempts before the first byte of an answer"},
			&cli.IntFlag{Name: "shards", Category: serversGroup, Value: 1, Usage: "event loops that send and receive"},
			&cli.StringFlag{Name: "part", Category: workloadGroup, Hidden: true,
				Usage: "send every N-th request only, beginning with I: I/N"},
			&cli.StringFlag{Name: "control", Category: workloadGroup, Hidden: true,
				Usage: "Unix socket on which a coordinator starts the stages"},
			sloFlag(),
			&cli.StringFlag{Name: "definitions", Category: figuresGroup, Value: "mlperf-go",
				Usage: "whose definitions the printed figures have: " + strings.Join(measure.DefinitionNames(), ", ")},
			&cli.StringFlag{Name: "output", Aliases: []string{"r"}, Category: figuresGroup,
				DefaultText: "results/bench-NAME/TIME", Usage: "folder of the results"},
			&cli.BoolFlag{Name: "force", Category: figuresGroup, Usage: "overwrite an earlier run in that folder"}),
		Action: cmd.doRun,
	}
}

func sloFlag() cli.Flag {
	return &cli.StringFlag{Name: "slo", Category: figuresGroup,
		Usage: "limits of a good request of a workload, such as ttft:p99<500ms,tpot:p95<40ms"}
}

// profileOf finds the profile of a command line, translates it, and applies the overrides.
func (cmd benchCommand) profileOf(c *cli.Context) (*profile.Profile, error) {
	name, harness := c.String("workload"), c.String("harness")
	if name == "" {
		return nil, exit.Usage(exit.CodeWorkload, "Give --workload with a name of `mlperf-go bench list` or a file",
			"no workload is given")
	}
	find := catalog.Find
	if _, err := os.Stat(name); err == nil {
		find = func(harness, name string, _ ...string) (*catalog.File, error) { return catalog.Open(harness, name) }
	}
	f, err := find(harness, name)
	if err != nil {
		return nil, exit.Usage(exit.CodeProfile, "", "%w", err)
	}
	o := dialect.Options{Lookup: template.First(template.Map(placeholders(c)), cmd.variable)}
	if o.Overrides, err = template.ParseOverrides(c.StringSlice("overrides")); err != nil {
		return nil, exit.Usage(exit.CodeProfile, "", "--overrides: %w", err)
	}
	p, err := f.Read(o)
	if err != nil {
		return nil, exit.Usage(exit.CodeProfile, "", "%w", err)
	}
	if p.Source != nil {
		cmd.notice(p.Source.Notes...)
	}
	if c.IsSet("seed") {
		p.Seed = c.Uint64("seed")
	}
	return p, nil
}

// placeholders are the values of a template that the command line determines.
func placeholders(c *cli.Context) map[string]string {
	values := map[string]string{}
	if m := c.String("model"); m != "" {
		values["LLMDBENCH_DEPLOY_CURRENT_MODEL"], values["LLMDBENCH_DEPLOY_CURRENT_TOKENIZER"] = m, m
	}
	if urls := c.StringSlice("endpoint-url"); len(urls) > 0 {
		values["LLMDBENCH_HARNESS_STACK_ENDPOINT_URL"] = urls[0]
	}
	return values
}

// variable returns an environment variable.
func (cmd benchCommand) variable(name string) (string, bool) {
	for _, v := range cmd.environ {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value, true
		}
	}
	return "", false
}

// options turns the flags into those of a run.
func (cmd benchCommand) options(c *cli.Context) (*bench.Options, error) {
	p, err := cmd.profileOf(c)
	if err != nil {
		return nil, err
	}
	if _, err := measure.Define(c.String("definitions")); err != nil {
		return nil, exit.Usage(exit.CodeDefinitions, "", "%w", err)
	}
	o := &bench.Options{Profile: p, Endpoints: c.StringSlice("endpoint-url"), Backend: c.String("backend"),
		Model: c.String("model"), Tokenizer: c.String("tokenizer"), APIKey: c.String("api-key"),
		Balance: c.String("lb"), Retries: c.Int("retries"),
		Transport: backends.Transport{CAFile: c.String("ca-file"), InsecureSkipVerify: c.Bool("insecure-skip-verify")},
		Timeouts:  backends.Deadlines{RequestTimeout: c.Duration("request-timeout")}, Shards: c.Int("shards"),
		Force: c.Bool("force"), Command: cmd.commandLine(), Secrets: cmd.secrets}
	if o.Part, err = partOf(c.String("part")); err != nil {
		return nil, err
	}
	o.Control = c.String("control")
	cmd.secrets.Add(o.APIKey)
	if len(o.Endpoints) == 0 && p.API.Endpoint != "" {
		o.Endpoints = []string{p.API.Endpoint}
	}
	if o.Limits, err = measure.ParseLimits(c.String("slo")); err != nil {
		return nil, exit.Usage(exit.CodeSLO, "", "%w", err)
	}
	o.Folder = results.Choose(c.String("output"), "bench-"+p.Name, false, time.Now())
	return o, nil
}

// partOf reads a share of a workload: I/N.
func partOf(text string) (engine.Part, error) {
	var p engine.Part
	if text == "" {
		return p, nil
	}
	if n, err := fmt.Sscanf(text, "%d/%d", &p.Index, &p.Of); n != 2 || err != nil || p.Index < 0 || p.Index >= p.Of {
		return p, exit.Usage(exit.CodeWorkload, "Write --part 0/8 for the first of eight", "--part %q is no part", text)
	}
	return p, nil
}

func (cmd benchCommand) doRun(c *cli.Context) error {
	o, err := cmd.options(c)
	if err != nil {
		return err
	}
	show := &benchProgress{console: cmd.console}
	o.Observer = show
	r, err := bench.Run(c.Context, *o)
	if err != nil {
		results.Discard(o.Folder)
		return err
	}
	if err := results.Point(o.Folder); err != nil {
		cmd.notice(err.Error())
	}
	cmd.exit = r.ExitCode()
	if i, ok := context.Cause(c.Context).(run.Interrupt); ok && r.Verdict == record.Interrupted {
		cmd.exit = i.ExitCode()
	}
	m := r.Measured
	if name := c.String("definitions"); name != m.Definition {
		if m, err = bench.Remeasure(o.Folder, r, name, o.Limits); err != nil {
			return err
		}
	}
	err = atomicfile.Write(filepath.Join(o.Folder, bench.SummaryName), func(w io.Writer) error {
		printBench(page{to: w}, r, m)
		return nil
	})
	if err != nil {
		cmd.log.Warn("the result is not kept as text: " + err.Error())
	}
	return cmd.printBenchRecord(r, m, o.Folder)
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
			cmd.out.paint(plain, foreign.Line(r.Profile, 100)+": ")
			cmd.out.paint(colourOf[string(r.Verdict)], string(r.Verdict))
			cmd.out.paint(plain, ", "+r.Headline()+"\n")
		}
		return nil
	}
	printBench(cmd.out, r, m)
	cmd.out.line("\nfolder      %s", filepath.Clean(folder))
	return nil
}

// benchProgress prints a line every few seconds.
type benchProgress struct {
	*console
	last time.Time
}

// Note prints a sentence.
func (b *benchProgress) Note(text string) { b.notice("note: " + text) }

// Progress prints what was sent and answered so far.
func (b *benchProgress) Progress(p bench.Progress) {
	if time.Since(b.last) < lineEvery {
		return
	}
	b.last = time.Now()
	text := fmt.Sprintf("stage %d of %d: %d sent, %d answered", p.Stage+1, p.Stages, p.Sent, p.Ended-p.Failed)
	if p.Failed > 0 {
		text += fmt.Sprintf(", %d failed", p.Failed)
	}
	if p.Requests > 0 {
		text += fmt.Sprintf(" of %d", p.Requests)
	}
	b.log.Info(text + fmt.Sprintf(" after %v", p.Elapsed.Round(time.Second)))
}

func (cmd benchCommand) planCommand() *cli.Command {
	return &cli.Command{
		Name: "plan", Usage: "print what a workload sends, and how long it takes, without sending it",
		OnUsageError: usageError, Flags: profileFlags(), Action: func(c *cli.Context) error {
			p, err := cmd.profileOf(c)
			if err != nil {
				return err
			}
			plan := bench.NewPlan(p)
			if cmd.json {
				cmd.writeJSON(plan)
				return nil
			}
			printPlan(cmd.out, p, plan)
			return nil
		},
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
		w.row(name, s.Arrival, orDash(s.Rate), orDash(float64(s.Concurrency)), orDash(s.Requests), durationOrDash(s.Duration))
	}
	w.Flush()
	w = out.table()
	fmt.Fprintf(w, "\nrequests\t%s\n", orDash(plan.Requests))
	fmt.Fprintf(w, "input tokens\t%s\n", orDash(plan.Input))
	fmt.Fprintf(w, "output tokens\t%s\n", orDash(plan.Output))
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

func durationOrDash(d time.Duration) string {
	if d == 0 {
		return "the answers decide"
	}
	return d.Round(time.Millisecond).String()
}
