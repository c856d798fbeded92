package models

func init() { register(&mixtral8x7b) }

// Counts and limits: docs/reference/benchmarks.md#limits-and-counts. Sampling is greedy with at least two tokens:
// docs/reference/benchmarks.md#sampling. In the reference, the code part also stops after a sequence of four tokens; no
// request field expresses that, so scoring trims the answers there.
var mixtral8x7b = Row{
	Name:         "mixtral-8x7b",
	Aliases:      []string{"mixtral", "mixtral-8x7b-instruct", "mixtral-8x7b-instruct-v0.1"},
	ServedModels: []string{"mistralai/Mixtral-8x7B-Instruct-v0.1"},
	Scenarios: []ScenarioRow{
		offline("mixtral-8x7b", 15000),
		server("mixtral-8x7b", 2000, 200, 0),
	},
	UseTokenLatencies: true,
	DatasetSamples:    15000,
	PerformanceCount:  15000,
	Vocabulary:        32000,
	BOS:               1,
	EOS:               []int32{2},
	MinOutputTokens:   2,
	Sampling:          bothModes(greedy(2, 1024)),
	Columns: []Column{
		{Name: "id", Type: "text", Role: "id"},
		{Name: "dataset", Type: "text"},
		{Name: "input", Type: "text", Role: "input"},
		{Name: "tok_input", Type: "ids", Required: true, Role: "input_ids"},
		{Name: "gt_output", Type: "text", Role: "target"},
		{Name: "ref_solution", Type: "text"}, // not in the real file: a program that passes, for the simulator
	},
	Data: DataSource{
		From: "MLCommons: OpenOrca, GSM8K and MBXP", URL: reference("language/mixtral-8x7b"),
		Licence: "MIT, MIT and CC-BY-4.0, in this order", Fetch: fromStorage("mixtral-8x7b-validation-dataset"),
		Files: []DataFile{{Name: "09292024_mixtral_15k_mintoken2_v1.pkl", Format: formatPickle, Samples: 15000,
			Bytes: 71e6}},
	},
	Special: llama2Special,
	Scoring: Scoring{
		Scorer: ScoreMixture, Columns: ScoringColumns{Target: "gt_output", Subset: "dataset", ID: "id"},
		Solution: "ref_solution", Source: scoringSource,
		Targets: []Target{
			atLeast("rouge1", 45.5989, 0.99, 45.142911), atLeast("rouge2", 23.3526, 0.99, 23.119073999999998),
			atLeast("rougeL", 30.4608, 0.99, 30.156191999999997), atLeast("gsm8k", 73.66, 0.99, 72.9234),
			atLeast("mbxp", 60.16, 0.99, 59.5584),
			{Metric: "tokens_per_sample", Min: 130.356, Max: 160.49, Reference: 144.84, LowFactor: 0.9},
		},
	},
	Decisions: []Decision{
		{"upper bound of tokens per sample", "1.1 x 145.9 in the checker; the lower bound is 0.9 x 144.84",
			"the checker's bounds"},
	},
	Source: "inference_rules.adoc of mlcommons/inference_policies, reference of v6.0 in mlcommons/inference; " +
		sourceConf,
}
