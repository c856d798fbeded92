package models

func init() { register(&deepseekR1) }

// Counts and limits: docs/reference/benchmarks.md#limits-and-counts. Sampling: docs/reference/benchmarks.md#sampling,
// without top_k. The longest prompt has 3136 tokens plus 4 tokens of the template. Token ids:
// docs/reference/benchmarks.md#token-ids; the vocabulary is the model's embedding height.
var deepseekR1 = Row{
	Name:         "deepseek-r1",
	Aliases:      []string{"deepseek_r1", "deepseek"},
	ServedModels: []string{"deepseek-ai/DeepSeek-R1"},
	Scenarios: []ScenarioRow{
		offline("deepseek-r1", 4388),
		server("deepseek-r1", 2000, 80, 0),
		interactive("deepseek-r1-interactive", 1500, 15, 0),
	},
	UseTokenLatencies: true,
	DatasetSamples:    4388,
	PerformanceCount:  4388,
	MaxInputTokens:    3140,
	Vocabulary:        129280,
	BOS:               0,
	EOS:               []int32{1},
	MinOutputTokens:   1,
	Sampling: bothModes(Sampling{
		MinTokens: 1, MaxTokens: 20000,
		Temperature: ptr(0.0), TopP: ptr(1.0), Seed: ptr(int64(42)),
	}),
	Columns: []Column{
		{Name: "dataset", Type: "text"},
		{Name: "ground_truth", Type: "text"},
		{Name: "metric", Type: "text"},
		{Name: "question", Type: "text"},
		{Name: "text_input", Type: "text", Role: "input"},
		{Name: "tok_input", Type: "ids", Required: true, Role: "input_ids"},
		{Name: "ref_output", Type: "text", Role: "target"},
		{Name: "tok_ref_output", Type: "ids"},
		{Name: "tok_input_len", Type: "int"},
		{Name: "tok_ref_output_len", Type: "int"},
		{Name: "ref_accuracy", Type: "number"},
		{Name: "ref_extracted_answer", Type: "any"},
		{Name: "templated_text_input", Type: "text"},
		{Name: "ref_tests", Type: "text"}, // not in the real file: tests of a program, for rehearsals
	},
	Data: DataSource{
		From: "MLCommons: AIME, MATH-500, GPQA, MMLU-Pro and LiveCodeBench", URL: reference("language/deepseek-r1"),
		Licence: "CC0, MIT, CC-BY-4.0, MIT and CC, in this order", Fetch: fromStorage("deepseek-r1-datasets-fp8-eval"),
		Files: []DataFile{{Name: "mlperf_deepseek_r1_dataset_4388_fp8_eval.pkl", Format: formatPickle, Samples: 4388}},
	},
	Special: []SpecialToken{{0, "<｜begin▁of▁sentence｜>"}, {1, "<｜end▁of▁sentence｜>"}, {128798, "<think>"},
		{128803, "<｜User｜>"}, {128804, "<｜Assistant｜>"}},
	Scoring: Scoring{
		Scorer: ScoreReasoning, Columns: ScoringColumns{Target: "ground_truth", Subset: "dataset", Tests: "ref_tests"},
		Source: scoringSource,
		Targets: []Target{
			atLeast("exact_match", 81.3582, 0.99, 80.544618),
			within("tokens_per_sample", 3886.2274, 3497.6046600000004, 4274.8501400000005),
		},
	},
	Decisions: []Decision{
		{"reference score", "rules: 81.9132; README and checker: 81.3582", "81.3582"},
		{"seed", "reference: 42; its PyTorch program: 965", "42"},
	},
	Source: sourceRow,
}
