package main

import (
	"bytes"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/tokenizer"
	"github.com/mlperf-go/mlperf-go/tokenizer/finder"
)

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
		&cli.StringFlag{Name: "tokenizer", Usage: "tokenizer.json, tokenizer.model, the folder of one, or a model's name (ORG/MODEL) in the Hugging Face cache"},
		&cli.StringFlag{Name: "tokenizer-revision", Usage: "branch or commit of the model in the cache or the hub; default: main"},
		&cli.BoolFlag{Name: "fetch-tokenizer", Usage: "download the tokenizer into the Hugging Face cache where it is found nowhere else (HF_ENDPOINT, HF_TOKEN)"},
	}
}

// findTokenizer finds the tokenizer that the flags or else the benchmark's row name.
func (p *program) findTokenizer(c *cli.Context, row *models.Row) (*finder.Found, error) {
	o := finder.FromEnviron(p.environ)
	o.Name, o.Revision, o.Fetch = c.String("tokenizer"), c.String("tokenizer-revision"), c.Bool("fetch-tokenizer")
	o.Models = row.ServedModels
	if url := c.String("endpoint"); url != "" {
		o.Server = &finder.Server{URL: url, Model: c.String("served-model"), Key: finder.Secret(c.String("api-key"))}
	}
	found, err := finder.Find(c.Context, o)
	if err != nil {
		return nil, &run.Error{Exit: run.ExitUsage, Code: "tokenizer", Err: err}
	}
	return found, nil
}

// tokenizerOf finds the tokenizer for a data set. A synthetic set is written in the synthetic vocabulary, whose tokenizer the
// program has.
func (p *program) tokenizerOf(c *cli.Context, row *models.Row, ds *datasets.Dataset) (*finder.Found, error) {
	if c.String("tokenizer") != "" || !datasets.Synthetic(ds) {
		return p.findTokenizer(c, row)
	}
	var text bytes.Buffer
	if err := datasets.SynthVocabulary().WriteTokenizer(&text); err != nil {
		return nil, err
	}
	t, err := tokenizer.Parse(text.Bytes(), nil)
	if err != nil {
		return nil, err
	}
	return finder.Given(t, "the synthetic vocabulary"), nil
}
