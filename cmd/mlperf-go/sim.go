package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/internal/config"
	"github.com/mlperf-go/mlperf-go/internal/crash"
	"github.com/mlperf-go/mlperf-go/internal/plural"
	"github.com/mlperf-go/mlperf-go/internal/spill"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/sim"
	"github.com/mlperf-go/mlperf-go/tokenizer"
)

// simCommand runs the simulated server.
type simCommand struct{ *program }

func (cmd simCommand) command() *cli.Command {
	d := sim.DefaultConfig()
	return &cli.Command{
		Name: "sim", Usage: "run the simulated LLM server",
		Description: "Simulates a vLLM, SGLang, llama.cpp or Ollama server, with continuous batching, and with faults if " +
			"requested. " +
			"Runs with the same seed return the same answers.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "listen", Value: "127.0.0.1:0", Usage: "address to listen on; port 0 selects a free port"},
			&cli.StringFlag{Name: "dialect", Value: d.Dialect,
				Usage: "kind of server to simulate: " + strings.Join(sim.Dialects(), ", ")},
			&cli.BoolFlag{Name: "incremental-streaming-output",
				Usage: "let SGLang's /generate stream only the new tokens in each event, and not the whole answer so far"},
			&cli.StringFlag{Name: "ready-file", Usage: "file to write the base URL to once the server is ready"},
			&cli.BoolFlag{Name: "probe", Usage: "ask the simulator of --ready-file whether it serves, and exit"},
			&cli.StringFlag{Name: "model", Value: d.Model, Usage: "name of the served model"},
			&cli.StringSliceFlag{Name: "adapter", Usage: "name of a LoRA adapter that is served too; may be repeated"},
			&cli.StringFlag{Name: "prompt-template",
				Usage: "the client's --prompt-template, so that the prompts match"},
			&cli.StringFlag{Name: "benchmark", Value: models.Default, Usage: "benchmark that the data set belongs to"},
			&cli.StringFlag{Name: "dataset", Usage: "data set with prompts and reference outputs"},
			&cli.StringFlag{Name: "answers", Value: string(d.Answers), Usage: "kind of answers: reference, echo or random"},
			&cli.Float64Flag{Name: "quality", Value: d.Quality,
				Usage: "share of correct answers (0 to 1); an accuracy run then scores about this share"},
			&cli.StringFlag{Name: "tokenizer", Usage: "tokenizer.json, or the folder that holds it, for a real data set; " +
				"default: the synthetic vocabulary"},
			durationFlag(cli.GenericFlag{Name: "ttft", Usage: "time from the end of the prefill to the first token"}, d.TTFT),
			durationFlag(cli.GenericFlag{Name: "tpot", Usage: "time between the tokens of a sequence"}, d.TPOT),
			durationFlag(cli.GenericFlag{Name: "tpot-per-sequence", Usage: "time that each further running sequence adds to " +
				"that of --tpot"}, d.TPOTPerSequence),
			&cli.Float64Flag{Name: "prefill-rate", Value: d.PrefillRate, Usage: "prompt tokens per second; 0: no prefill time"},
			&cli.IntFlag{Name: "max-num-seqs", Value: d.MaxNumSeqs, Usage: "sequences that run at the same time"},
			&cli.IntFlag{Name: "max-model-len", Value: d.MaxModelLen, Usage: "longest sequence, in prompt and output tokens"},
			&cli.IntFlag{Name: "kv-tokens", Value: d.KVTokens, Usage: "size of the KV cache in tokens; 0: derived"},
			&cli.BoolFlag{Name: "prefix-cache", Usage: "keep the prompts, and report how many tokens of a prompt are cached " +
				"(cached_tokens), in blocks of 16; these take no prefill time"},
			&cli.IntFlag{Name: "tokens-per-event", Value: d.TokensPerEvent, Usage: "tokens in each streamed event"},
			&cli.IntFlag{Name: "output-tokens", Value: d.OutputTokens, Usage: "length of random answers"},
			&cli.IntFlag{Name: "reasoning-tokens", Value: d.ReasoningTokens,
				Usage: "tokens at the start of an answer on OpenAI's chat route that are reasoning"},
			&cli.Uint64Flag{Name: "seed", Value: d.Seed, Usage: "seed of answers and faults"},
			&cli.StringFlag{Name: "fault", Usage: "faults to inject as `NAME=RATE[,...]`, where RATE is the fraction of " +
				"requests; " +
				"--list-faults lists the names"},
			&cli.BoolFlag{Name: "list-faults", Usage: "list the faults and exit"},
			&cli.StringFlag{Name: "api-key", Usage: "bearer token that clients must send"},
			&cli.StringFlag{Name: "profile-log", Usage: "file to which each profile adds a line with the rows of its " +
				"requests; without it the server has no profiler"},
			&cli.StringFlag{Name: "write-log", Hidden: true, Usage: "file that gets a line of JSON for each stream: when the " +
				"request came and when each part was written"},
		},
		Action:       func(c *cli.Context) error { return cmd.simulate(c, d) },
		OnUsageError: usageError,
	}
}

func (cmd simCommand) simulate(c *cli.Context, cfg sim.Config) error {
	if err := noArguments(c); err != nil {
		return err
	}
	if c.Bool("list-faults") {
		return cmd.listFaults()
	}
	if c.Bool("probe") {
		return cmd.probe(c)
	}
	cfg.Model, cfg.Answers, cfg.APIKey, cfg.Seed = c.String("model"), sim.AnswerMode(c.String("answers")),
		c.String("api-key"), c.Uint64("seed")
	cfg.ProfileLog, cfg.Adapters = c.String("profile-log"), c.StringSlice("adapter")
	cfg.Dialect, cfg.Incremental = c.String("dialect"), c.Bool("incremental-streaming-output")
	cfg.TTFT, cfg.TPOT, cfg.PrefillRate = c.Duration("ttft"), c.Duration("tpot"), c.Float64("prefill-rate")
	cfg.TPOTPerSequence = c.Duration("tpot-per-sequence")
	cfg.MaxNumSeqs, cfg.MaxModelLen, cfg.KVTokens = c.Int("max-num-seqs"), c.Int("max-model-len"), c.Int("kv-tokens")
	cfg.TokensPerEvent, cfg.OutputTokens = c.Int("tokens-per-event"), c.Int("output-tokens")
	cfg.ReasoningTokens, cfg.PrefixCache = c.Int("reasoning-tokens"), c.Bool("prefix-cache")
	var err error
	if cfg.Faults, err = sim.ParseFaults(c.String("fault")); err != nil {
		hint, unknown := "", sim.UnknownFault("")
		if errors.As(err, &unknown) {
			if near := config.Nearest(string(unknown), faultWords()); len(near) > 0 {
				hint = "Did you mean " + strings.Join(near, " or ") + "?"
			}
		}
		return exit.Usage(exit.CodeFault, hint, "%w", err)
	}
	cfg.Quality = c.Float64("quality")
	if err := simDataset(&cfg, c.String("benchmark"), c.String("dataset"), c.String("prompt-template")); err != nil {
		return err
	}
	if path := c.String("tokenizer"); path != "" {
		t, err := tokenizer.Open(path)
		if err != nil {
			return exit.Usage(exit.CodeTokenizer, "", "%w", err)
		}
		cfg.Tokenizer, cfg.Vocabulary = sim.FileTokenizer(t), max(cfg.Vocabulary, t.VocabSize())
	}
	cfg.OnDie = func() { os.Exit(1) }
	path := c.String("write-log")
	if path == "" {
		return cmd.serve(c, cfg)
	}
	finish, err := keepWrites(&cfg, path)
	if err != nil {
		return exit.Usage(exit.CodeOutput, "", "--write-log: %w", err)
	}
	err = cmd.serve(c, cfg)
	return errors.Join(err, finish())
}

// keepWrites makes a simulator record when it wrote streams. The returned function completes the file.
func keepWrites(cfg *sim.Config, path string) (finish func() error, err error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	to := bufio.NewWriter(f)
	streams, failed := make(chan *sim.Streamed, 4096), make(chan error, 1)
	cfg.OnStreamed = func(s *sim.Streamed) { streams <- s }
	go func() {
		defer crash.Catch()
		var err error
		e := json.NewEncoder(to)
		for s := range streams {
			if err == nil {
				err = e.Encode(s)
			}
		}
		failed <- err
	}()
	return func() error {
		close(streams)
		return errors.Join(<-failed, to.Flush(), f.Close())
	}, nil
}

func (cmd simCommand) listFaults() error {
	if cmd.json {
		faults := map[string]string{}
		for _, f := range sim.FaultNames() {
			faults[f.Name] = f.Effect
		}
		cmd.writeJSON(map[string]any{"faults": faults})
		return nil
	}
	w := cmd.out.table()
	for _, f := range sim.FaultNames() {
		fmt.Fprintf(w, "%s\t%s\n", f.Name, f.Effect)
	}
	w.Flush()
	return nil
}

// simMemory is the memory for messages in bytes. Each is read once, and the client on the same machine needs memory
// too.
const simMemory = 256 << 20

func simDataset(cfg *sim.Config, benchmark, path, template string) error {
	m, err := models.Find(benchmark)
	if err != nil {
		return err
	}
	cfg.Row = m.Row
	if m.Row.Vocabulary > 0 {
		cfg.Vocabulary = m.Row.Vocabulary
	}
	if len(m.Row.EOS) > 0 {
		cfg.EOS = m.Row.EOS[len(m.Row.EOS)-1]
	}
	if path == "" {
		return nil
	}
	o := sim.DatasetOptions(m.Row)
	o.Store = spill.New(simMemory, os.TempDir())
	if template != "" {
		if o.Template, err = datasets.ReadTemplate(template); err != nil {
			return err
		}
	}
	cfg.Dataset, err = datasets.Open(path, o)
	return err
}

// simAnswers describes a simulator's answers.
func simAnswers(cfg *sim.Config) string {
	as := "simulator: it plays " + cfg.Dialect + " and answers with "
	const fails = ": accuracy tests will fail"
	switch {
	case cfg.Answers == sim.AnswerEcho:
		return as + "the prompt" + fails
	case cfg.Answers == sim.AnswerRandom:
		return as + "random tokens" + fails
	case cfg.Dataset == nil:
		return as + "random tokens, because there is no --dataset" + fails
	}
	return as + fmt.Sprintf("the reference outputs of %s (quality %g)",
		plural.Count(len(cfg.Dataset.Samples), "prompt", "prompts"), cfg.Quality)
}

func portNumber(text string) bool {
	_, err := strconv.ParseUint(text, 10, 16)
	return err == nil
}

func (cmd simCommand) serve(c *cli.Context, cfg sim.Config) error {
	s, err := sim.New(cfg)
	if err != nil {
		return exit.Usage(exit.CodeSim, "", "%w", err)
	}
	if _, port, err := net.SplitHostPort(c.String("listen")); err != nil || !portNumber(port) {
		return exit.Usage(exit.CodeListen, "Write --listen 127.0.0.1:8000, or port 0 for a free one",
			"--listen %q is not an address with a port", c.String("listen"))
	}
	l, err := net.Listen("tcp", c.String("listen"))
	if err != nil {
		return exit.Environment(exit.CodeListen, "Choose another --listen, or port 0 for a free one",
			"the simulator cannot listen: %w", err)
	}
	url := "http://" + l.Addr().String()
	if path := c.String("ready-file"); path != "" {
		if err := sim.WriteReadyFile(path, url); err != nil {
			return errors.Join(err, l.Close())
		}
	}
	cmd.notice("simulator: "+url+" serves "+cfg.Model, simAnswers(&cfg))
	if err := s.Serve(c.Context, l); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil // a simulator ends by a signal
}
