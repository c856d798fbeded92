package main

import "github.com/urfave/cli/v2"

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
