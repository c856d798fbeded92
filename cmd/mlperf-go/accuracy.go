package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/accuracy"
	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/internal/plural"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/run/score"
	"github.com/mlperf-go/mlperf-go/tokenizer/finder"
)

// accuracyCommand scores an accuracy log.
type accuracyCommand struct{ *program }

func (cmd accuracyCommand) command() *cli.Command {
	return &cli.Command{
		Name: "accuracy", Usage: "score an accuracy log as the benchmark's reference does",
		OnUsageError: usageError,
		Description: "The log is a run's folder, a folder of LoadGen's logs, or an accuracy log. A run's folder also " +
			"supplies " +
			"model, scenario and data set.\n" +
			"Writes accuracy.txt, which the submission checker reads, and accuracy.json. Exit code 1: the score is below " +
			"the target, or answers are missing.",
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "log", Required: true, Usage: "folder of a run, folder of LoadGen's logs, or accuracy log"},
			&cli.StringFlag{Name: "model", Usage: "benchmark; default: the run's"},
			&cli.StringFlag{Name: "scenario", Usage: "scenario, for benchmarks whose targets depend on it; default: the run's"},
			&cli.StringFlag{Name: "round", Usage: "round whose targets apply; default: the run's, or the latest that has " +
				"the benchmark"},
			&cli.StringFlag{Name: "dataset", Usage: "data set with the reference outputs; default: the run's"},
			&cli.StringFlag{Name: "output-dir", Usage: "folder for accuracy.txt and accuracy.json; default: that of the log"},
			runSetting("shared-output"),
			&cli.BoolFlag{Name: "per-sample", Usage: "record the score of every sample in accuracy.json", Value: true},
			&cli.StringFlag{Name: "dtype", Usage: "type of the tokens in the log: int32, int64 or float",
				Value: string(accuracy.Int32)},
			&cli.StringFlag{Name: "punkt", Usage: "folder with NLTK's English punkt_tab data; default: built-in data"},
			&cli.BoolFlag{Name: "run-code", Usage: "run the programs in the answers in a sandbox; otherwise they are not " +
				"scored and there is no total score; on by default in rehearsals"},
			&cli.StringFlag{Name: "code-tests", Usage: "tests of LiveCodeBench: a JSONL file, or a folder of such files"},
			&cli.StringFlag{Name: "code-service", Usage: "address (ws://...) of a service that runs LiveCodeBench's programs " +
				"instead of the sandbox"},
			&cli.StringFlag{Name: "math-grader", Usage: "command that decides whether two mathematical expressions are equal " +
				"instead of the built-in comparison"},
		}, tokenizerFlags()...),
		Action: cmd.score,
	}
}

// accessOf returns who may read the files that a command writes.
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
	o, err := scoreOptions(cmd.program, c)
	if err != nil {
		return err
	}
	r, err := l.Score(c.Context, o)
	if err != nil {
		return err
	}
	return cmd.write(l, r, accessOf(c))
}

// write writes accuracy.txt and accuracy.json, prints the score and sets the exit code.
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
		r.PerSample = nil // it is only in the file
		return r.WriteJSON(cmd.stdout)
	}
	if err := cmd.printMetrics(r.Metrics, rehearsal); err != nil {
		return err
	}
	cmd.out.line("answers  %d of %d samples, %d missing", r.Entries, r.Samples+r.Missing, r.Missing)
	for _, u := range r.Unclaimed {
		cmd.out.line("no score claimed: %s", u)
	}
	if r.NotJudged != "" {
		cmd.out.line("not judged: %s", r.NotJudged)
	}
	for _, u := range r.Unscored {
		cmd.out.line("not scored: %s of %s: %s", plural.Count(u.Samples, "sample", "samples"), u.Subset, u.Why)
	}
	for _, n := range r.Notes {
		cmd.out.line("%s", n)
	}
	return nil
}

// printMetrics prints each metric with its target and whether it reaches it.
func (cmd accuracyCommand) printMetrics(metrics []accuracy.Metric, rehearsal bool) error {
	w := cmd.out.table()
	for _, m := range metrics {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", m.Name, strings.Trim(m.Text, "'"), m.Bounds(), m.Word(rehearsal))
	}
	w.Flush()
	return nil
}

// scoreOptions converts the flags about scoring.
func scoreOptions(p *program, c *cli.Context) (score.Options, error) {
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
	var err error
	if t.Web.Proxy, err = backends.ParseProxy(c.String("proxy")); err != nil {
		return o, exit.Usage(exit.CodeProxy, "Give it as http://host:port", "--proxy: %w", err)
	}
	if t.Web.Authorities, err = backends.Authorities(c.String("ca-file")); err != nil {
		return o, exit.Usage(exit.CodeCAFile, "Give the PEM file of the authority that signed the server's certificate",
			"--ca-file: %w", err)
	}
	if t.Web.Certificates, err = backends.ClientCertificates(c.String("client-cert"), c.String("client-key")); err != nil {
		return o, exit.Usage(exit.CodeClientCert, "Give a certificate and its private key as PEM files", "--client-cert: %w",
			err)
	}
	t.Web.InsecureSkipVerify = c.Bool("insecure-skip-verify")
	return o, nil
}

// tokenizerFlags returns the flags of commands that need a tokenizer and run no test.
func tokenizerFlags() []cli.Flag {
	return append(tokenizerNames(),
		&cli.StringFlag{Name: "endpoint", Usage: "server whose /tokenize is used if no file is found"},
		&cli.StringFlag{Name: "served-model", Usage: "name of the model at --endpoint"},
		&cli.StringFlag{Name: "api-key", Usage: "API key of --endpoint"},
		&cli.StringFlag{Name: "ca-file", Usage: "PEM file of certificate authorities to trust for --endpoint"},
		&cli.StringFlag{Name: "client-cert", Usage: "PEM file of the certificate that identifies this client to --endpoint"},
		&cli.StringFlag{Name: "client-key", Usage: "PEM file of the private key of --client-cert; default: the key is in " +
			"the certificate's file"},
		&cli.StringFlag{Name: "proxy", Usage: "HTTP proxy for --endpoint and the model hub, http(s)://host:port; proxy " +
			"variables of the environment are ignored"},
		&cli.BoolFlag{Name: "insecure-skip-verify", Usage: "do not verify the certificate of --endpoint"},
	)
}

// tokenizerNames returns the flags that name a tokenizer.
func tokenizerNames() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "tokenizer", Usage: "tokenizer.json, tokenizer.model, the folder of either, or a model's " +
			"name (ORG/MODEL) in the Hugging Face cache"},
		&cli.StringFlag{Name: "tokenizer-revision",
			Usage: "branch or commit of the model in the cache or the hub; default: main"},
		&cli.BoolFlag{Name: "fetch-tokenizer", Usage: "download the tokenizer into the Hugging Face cache if it is " +
			"not found elsewhere (HF_ENDPOINT, HF_TOKEN)"},
	}
}
