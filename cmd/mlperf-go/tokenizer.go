package main

import (
	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/accuracy"
	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run"
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
		&cli.StringFlag{Name: "tokenizer", Usage: "tokenizer.json, tokenizer.model, the folder of one, or a model's name " +
			"(ORG/MODEL) in the Hugging Face cache"},
		&cli.StringFlag{Name: "tokenizer-revision",
			Usage: "branch or commit of the model in the cache or the hub; default: main"},
		&cli.BoolFlag{Name: "fetch-tokenizer", Usage: "download the tokenizer into the Hugging Face cache where it is " +
			"found nowhere else (HF_ENDPOINT, HF_TOKEN)"},
	}
}

// tokensOf finds what decodes the answers to a data set's prompts.
func (p *program) tokensOf(c *cli.Context, row *models.Row, ds *datasets.Dataset) (accuracy.RemoteDecoder,
	*finder.Source, error) {
	o := finder.FromEnviron(p.environ)
	o.Name, o.Revision, o.Fetch = c.String("tokenizer"), c.String("tokenizer-revision"), c.Bool("fetch-tokenizer")
	o.Models = row.ServedModels
	if url := c.String("endpoint"); url != "" {
		o.Server = &finder.Server{URL: url, Model: c.String("served-model"), Key: finder.Secret(c.String("api-key"))}
	}
	decoder, source, err := findDecoder(c.Context, o, row, ds)
	if err != nil {
		return nil, nil, run.UsageError("tokenizer", "", "%w", err)
	}
	return decoder, source, nil
}
