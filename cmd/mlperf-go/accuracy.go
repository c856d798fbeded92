package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/accuracy"
	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/run/score"
	"github.com/mlperf-go/mlperf-go/tokenizer/finder"
)

// accuracyCommand scores an accuracy log.
type accuracyCommand struct{ *program }

func (cmd accuracyCommand) command() *cli.Command {
	return &cli.Command{
		Name: "accuracy", Usage: "score an accuracy log as the benchmark's reference does", HideHelpCommand: true,
		OnUsageError: usageError,
		Description: "LOG is a run's folder, a folder of LoadGen's logs, or an accuracy log. From a run's folder, model, " +
			"scenario and data set are known.\n" +
			"Writes accuracy.txt, which the submission checker reads, and accuracy.json. Exit code 1: below target, or " +
			"answers are missing.",
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "log", Required: true, Usage: "run's folder, log folder or accuracy log"},
			&cli.StringFlag{Name: "model", Usage: "benchmark"},
			&cli.StringFlag{Name: "scenario", Usage: "scenario, where targets differ"},
			&cli.StringFlag{Name: "round", Usage: "round whose targets hold; default: the run's, else the newest that has the " +
				"benchmark"},
			&cli.StringFlag{Name: "dataset", Usage: "data set with the reference outputs"},
			&cli.StringFlag{Name: "output-dir", Usage: "folder for accuracy.txt and accuracy.json; default: the log's"},
			runSetting("shared-output"),
			&cli.BoolFlag{Name: "per-sample", Usage: "keep the score of every sample in accuracy.json", Value: true},
			&cli.StringFlag{Name: "dtype", Usage: "type of a token in the log: int32, int64 or float",
				Value: string(accuracy.Int32)},
			&cli.StringFlag{Name: "punkt", Usage: "folder english of NLTK's punkt_tab data; default: the data that the " +
				"program has"},
			&cli.BoolFlag{Name: "run-code", Usage: "run the programs among the answers in a sandbox; without it they are not " +
				"scored, and no total is claimed; default in rehearsals: yes"},
			&cli.StringFlag{Name: "code-tests", Usage: "LiveCodeBench's tests: a JSONL file or a folder of them"},
			&cli.StringFlag{Name: "code-service", Usage: "address (ws://...) of a service that runs LiveCodeBench's programs, " +
				"in place of the sandbox"},
			&cli.StringFlag{Name: "math-grader", Usage: "command that decides which mathematical expressions are equal, in " +
				"place of the built-in comparison"},
		}, tokenizerFlags()...),
		Action: cmd.score,
	}
}

// accessOf is who may read what a command writes.
func accessOf(c *cli.Context) atomicfile.Access {
	if c.Bool("shared-output") {
		return atomicfile.Shared
	}
	return atomicfile.Private
}

func (cmd accuracyCommand) score(c *cli.Context) error {
	if err := noArguments(c); err != nil {
		return err
	}
	l, err := score.Find(score.Source{Log: c.String("log"), Model: c.String("model"), Scenario: c.String("scenario"),
		Round: c.String("round"), Dataset: c.String("dataset"), Folder: c.String("output-dir")})
	if err != nil {
		return err
	}
	r, err := l.Score(c.Context, scoreOptions(cmd.program, c))
	if err != nil {
		return err
	}
	return cmd.write(l, r, accessOf(c))
}

// write leaves accuracy.txt and accuracy.json and gives the exit code.
func (cmd accuracyCommand) write(l *score.Log, r *accuracy.Result, access atomicfile.Access) error {
	if err := os.MkdirAll(l.Folder, access.Folder()); err != nil {
		return err
	}
	if err := record.WriteScore(access, l.Folder, r); err != nil {
		return err
	}
	rehearsal := l.IsRehearsal()
	if !r.Reached(rehearsal) {
		cmd.exit = run.ExitInvalid
	}
	if cmd.json {
		r.PerSample = nil // the file has it
		return r.WriteJSON(cmd.stdout)
	}
	if err := cmd.printMetrics(r.Metrics, rehearsal); err != nil {
		return err
	}
	fmt.Fprintf(cmd.stdout, "answers  %d of %d samples, %d missing\n", r.Entries, r.Samples+r.Missing, r.Missing)
	for _, u := range r.Unclaimed {
		fmt.Fprintln(cmd.stdout, "not claimed:", u)
	}
	for _, u := range r.Unscored {
		fmt.Fprintf(cmd.stdout, "not scored: %d samples of %s: %s\n", u.Samples, u.Subset, u.Why)
	}
	for _, n := range r.Notes {
		fmt.Fprintln(cmd.stdout, n)
	}
	return nil
}

// printMetrics shows each metric with its target and whether it is reached.
func (cmd accuracyCommand) printMetrics(metrics []accuracy.Metric, rehearsal bool) error {
	w := cmd.table()
	for _, m := range metrics {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", m.Name, strings.Trim(m.Text, "'"), m.Bounds(), m.Word(rehearsal))
	}
	return w.Flush()
}

// scoreOptions are what the flags of a command say about a scoring.
func scoreOptions(p *program, c *cli.Context) score.Options {
	o := score.Options{
		Environ: p.environ, Tokenizer: finder.FromEnviron(p.environ),
		Setting: func(name string) string { return fmt.Sprint(c.Value(name)) }, IsSet: c.IsSet,
		Punkt: c.String("punkt"), DType: accuracy.DType(c.String("dtype")), PerSample: c.Bool("per-sample"),
		Progress: p.scored(),
	}
	t := &o.Tokenizer
	t.Name, t.Revision, t.Fetch = c.String("tokenizer"), c.String("tokenizer-revision"), c.Bool("fetch-tokenizer")
	if url := c.String("endpoint"); url != "" {
		t.Server = &finder.Server{URL: url, Model: c.String("served-model"), Key: finder.Secret(c.String("api-key"))}
	}
	return o
}

// tokenizerFlags are the flags of commands that need a tokenizer and run no test.
func tokenizerFlags() []cli.Flag {
	return append(tokenizerNames(),
		&cli.StringFlag{Name: "endpoint", Usage: "server whose /tokenize is asked where no file is found"},
		&cli.StringFlag{Name: "served-model", Usage: "name of the model at --endpoint"},
		&cli.StringFlag{Name: "api-key", Usage: "key for --endpoint"},
	)
}

// tokenizerNames are the flags that name a tokenizer.
func tokenizerNames() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "tokenizer", Usage: "tokenizer.json, tokenizer.model, the folder of one, or a model's name " +
			"(ORG/MODEL) in the Hugging Face cache"},
		&cli.StringFlag{Name: "tokenizer-revision",
			Usage: "branch or commit of the model in the cache or the hub; default: main"},
		&cli.BoolFlag{Name: "fetch-tokenizer", Usage: "download the tokenizer into the Hugging Face cache where it is " +
			"found nowhere else (HF_ENDPOINT, HF_TOKEN)"},
	}
}
