package models

func init() { register(&gptj) }

// The benchmark was retired after v5.0 (docs/reference/benchmarks.md#names). The reference uses beam search of width 4
// with 30 to 128 new tokens (docs/reference/benchmarks.md#sampling), which current servers do not offer in their usual
// request fields. LoadGen infers token latencies instead of measuring them
// (docs/reference/benchmarks.md#limits-and-counts).
var gptj = Row{
	Name:         "gptj",
	Aliases:      []string{"gpt-j", "gptj-99", "gptj-99.9", "gpt-j-6b"},
	ServedModels: []string{"EleutherAI/gpt-j-6B"},
	Scenarios: []ScenarioRow{
		offline("gptj", 13368),
		server("gptj", 0, 0, 20000),
	},
	DatasetSamples:   13368,
	PerformanceCount: 13368,
	MaxInputTokens:   1919,
	Vocabulary:       50400,
	BOS:              NoBOS,
	EOS:              []int32{50256},
	MinOutputTokens:  30,
	Sampling:         bothModes(greedy(30, 128)),
	Columns: []Column{
		{Name: "instruction", Type: "text", Role: "template"},
		{Name: "input", Type: "text", Required: true, Role: "input"},
		{Name: "tok_input", Type: "ids", Role: "input_ids"},
		{Name: "output", Type: "text", Role: "target"},
	},
	Data: DataSource{
		From:    "MLCommons' script: CNN/DailyMail 3.0.0, validation part",
		URL:     "https://github.com/mlcommons/inference/tree/v5.0/language/gpt-j",
		Licence: articlesLicence,
		Fetch: []string{"git clone --branch v5.0 https://github.com/mlcommons/inference",
			"cd inference/language/gpt-j && python download_cnndm.py"},
		Files: []DataFile{{Name: "data/cnn_eval.json", Format: formatJSON, Samples: 13368}},
	},
	Scoring: Scoring{
		Scorer: ScoreSummaries, Columns: ScoringColumns{Target: "output"},
		Source: "targets of gptj-99 in v5.0's submission checker, tools/submission of mlcommons/inference",
		Targets: []Target{
			atLeast("rouge1", 42.9865, 0.99, 42.556635), atLeast("rouge2", 20.1235, 0.99, 19.922265),
			atLeast("rougeL", 29.9881, 0.99, 29.688219),
			atLeast("gen_len", 4016878, 0.9, 3615190.2),
		},
	},
	Retired: true,
	Source:  "reference of v5.0 in mlcommons/inference, language/gpt-j; " + sourceConf,
}
