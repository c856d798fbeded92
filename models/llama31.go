package models

func init() { register(&llama31_8b, &llama31_8bEdge, &llama31_405b) }

// Default is the default benchmark of the commands.
const Default = "llama3.1-8b"

// Token ids of the Llama 3.1 family: docs/reference/benchmarks.md#token-ids; the end ids are those of the model's
// generation_config.
const (
	llama31Vocabulary = 128256
	llama31BOS        = 128000
)

var llama31EOS = []int32{128001, 128008, 128009}

var llama31Special = []SpecialToken{
	{llama31BOS, "<|begin_of_text|>"}, {128001, "<|end_of_text|>"}, {128008, "<|eom_id|>"}, {128009, "<|eot_id|>"},
}

// articlesLicence is the licence of CNN/DailyMail on the Hugging Face hub.
const articlesLicence = "Apache-2.0; the articles are third parties'"

// The instruction is a string in the calibration file and an object elsewhere (docs/reference/benchmarks.md#data-sets).
var llama31_8bColumns = []Column{
	{Name: "instruction", Type: "text|object", Role: "template"},
	{Name: "input", Type: "text", Role: "input"},
	{Name: "tok_input", Type: "ids", Required: true, Role: "input_ids"},
	{Name: "output", Type: "text", Role: "target"},
}

// Sampling: temperature 0, top_p 1, top_k 1, seed 42, 1..128 new tokens (docs/reference/benchmarks.md#sampling). Counts
// and limits: docs/reference/benchmarks.md#limits-and-counts.
var llama31_8b = Row{
	Name:         "llama3.1-8b",
	Aliases:      []string{"llama3_1-8b", "llama31_8b", "llama3.1-8b-instruct"},
	ServedModels: []string{"meta-llama/Llama-3.1-8B-Instruct", "meta-llama/Meta-Llama-3.1-8B-Instruct"},
	Scenarios: []ScenarioRow{
		offline("llama3_1-8b", 13368),
		server("llama3_1-8b", 2000, 100, 0),
		interactive("llama3_1-8b-interactive", 500, 30, 0),
	},
	UseTokenLatencies: true,
	DatasetSamples:    13368,
	PerformanceCount:  13368,
	Vocabulary:        llama31Vocabulary,
	BOS:               llama31BOS,
	EOS:               llama31EOS,
	MinOutputTokens:   1,
	Sampling:          bothModes(greedy(1, 128).withSeed(42)),
	Columns:           llama31_8bColumns,
	Data: DataSource{
		From: "MLCommons: CNN/DailyMail 3.0.0, validation part", URL: reference("language/llama3.1-8b"),
		Licence: articlesLicence, Fetch: fromStorage("llama3-1-8b-cnn-eval"),
		Files: []DataFile{{Name: "cnn_eval.json", Format: formatJSON, Samples: 13368}},
	},
	Special: llama31Special,
	Scoring: Scoring{
		Scorer: ScoreSummaries, Columns: ScoringColumns{Target: "output"}, Source: scoringSource,
		Targets: []Target{
			atLeast("rouge1", 38.7792, 0.99, 38.391408000000006), atLeast("rouge2", 15.9075, 0.99, 15.748425000000001),
			atLeast("rougeL", 24.4957, 0.99, 24.250743), atLeast("rougeLsum", 35.793, 0.99, 35.435069999999996),
			within("gen_len", 8167644, 7350879.600000001, 8984408.4),
		},
	},
	Decisions: []Decision{
		{"quality in the rules", "rules: the figures of GPT-J at 99.9 %; checker and reference README: their own",
			"the checker's"},
		{"temperature", "this reference SUT: temperature 0, top_p 1, top_k 1, seed 42; that of the 405B: temperature 1, " +
			"top_p 0, top_k 1; both are greedy", "greedy is sent, as temperature 0, top_p 1, top_k 1, with the seed 42"},
	},
	Source: sourceRow,
}

// The edge row is the same model and prompt on 5000 samples (docs/reference/benchmarks.md#data-sets).
var llama31_8bEdge = func() Row {
	r := llama31_8b
	r.Name, r.Aliases = "llama3.1-8b-edge", []string{"llama3_1-8b-edge", "llama31_8b_edge"}
	r.Scenarios = []ScenarioRow{singleStream("llama3_1-8b-edge"), offline("llama3_1-8b-edge", 5000)}
	r.DatasetSamples, r.PerformanceCount = 5000, 5000
	r.Data = DataSource{
		From: "MLCommons: 5,000 articles of CNN/DailyMail 3.0.0", URL: reference("language/llama3.1-8b"),
		Licence: articlesLicence, Fetch: fromStorage("llama3-1-8b-sample-cnn-eval-5000"),
		Files: []DataFile{{Name: "sample_cnn_eval_5000.json", Format: formatJSON, Samples: 5000}},
	}
	r.Scoring.Targets = []Target{
		atLeast("rouge1", 39.06, 0.99, 38.6694), atLeast("rouge2", 16.1147, 0.99, 15.953553),
		atLeast("rougeL", 24.6375, 0.99, 24.391125), atLeast("rougeLsum", 36.124, 0.99, 35.76276),
		within("gen_len", 3051113, 2746001.7, 3356224.3000000003),
	}
	r.Decisions = nil
	return r
}()

// The output limits 2..20000 come from the rules; the reference SUT uses 1..2000
// (docs/reference/benchmarks.md#where-sources-disagree). The benchmark is retired from v6.1 on and runs only under
// earlier rounds. The prompt limit is the ingress figure of the rules.
var llama31_405b = Row{
	Name:         "llama3.1-405b",
	Aliases:      []string{"llama3_1-405b", "llama31_405b", "llama3.1-405b-instruct"},
	ServedModels: []string{"meta-llama/Llama-3.1-405B-Instruct", "meta-llama/Meta-Llama-3.1-405B-Instruct"},
	Scenarios: []ScenarioRow{
		offline("llama3_1-405b", 8313),
		server("llama3_1-405b", 6000, 175, 0),
		interactive("llama3_1-405b-interactive", 4500, 80, 0),
	},
	UseTokenLatencies: true,
	DatasetSamples:    8313,
	PerformanceCount:  8313,
	MaxInputTokens:    20000,
	Vocabulary:        llama31Vocabulary,
	BOS:               llama31BOS,
	EOS:               llama31EOS,
	MinOutputTokens:   2,
	Sampling:          bothModes(greedy(2, 20000)),
	Columns: []Column{
		{Name: "input", Type: "text", Role: "input"},
		{Name: "tok_input", Type: "ids", Required: true, Role: "input_ids"},
		{Name: "tok_input_len", Type: "int"},
		{Name: "gt_output", Type: "text", Role: "target"},
		{Name: "metric", Type: "text"},
		{Name: "dataset", Type: "text"},
	},
	Data: DataSource{
		From: "MLCommons: GovReport, LongDataCollections, LongBench and RULER", URL: reference("language/llama3.1-405b"),
		Licence: "none stated for the whole; those of its four sources", Fetch: fromStorage("llama3-1-405b-dataset-8313"),
		Files: []DataFile{{Name: "mlperf_llama3.1_405b_dataset_8313_processed_fp16_eval.pkl", Format: formatPickle,
			Samples: 8313, Bytes: 851e6}},
	},
	Special: llama31Special,
	Scoring: Scoring{
		Scorer: ScoreLongContext, Columns: ScoringColumns{Target: "gt_output", Metric: "metric", Subset: "dataset"},
		Source: scoringSource,
		Targets: []Target{
			atLeast("rougeL", 21.6666, 0.99, 21.449934), atLeast("exact_match", 90.1335, 0.99, 89.232165),
			within("tokens_per_sample", 684.68, 616.212, 753.148),
		},
	},
	Decisions: []Decision{
		{"output limits", "rules: 2 to 20000 new tokens; reference SUT: 1 to 2000; which of them gave the reference's " +
			"684.68 tokens per sample is unknown",
			"2 to 20000, because the rules text governs the closed division; --min-tokens 1 --max-tokens 2000 sets " +
				"the other with a warning"},
		{"model revision", "the README names be673f326cab4cd22ccfef76109faf68e41aa5f1, which is the 8B model's",
			"no revision is pinned"},
	},
	Source: sourceRow,
}
