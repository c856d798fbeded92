package models

func init() { register(&gptOSS120b) }

// Counts and limits: docs/reference/benchmarks.md#limits-and-counts. mlperf.conf sets no Offline min_query_count, and
// the checker requires 6396 samples: the row has 6396 and the generated user.conf sets it. Sampling: temperature 1,
// top_p 1, top_k off, no seed, 10240 new tokens in performance (the reference's figure,
// docs/reference/benchmarks.md#where-sources-disagree) and 32768 in accuracy. Token ids:
// docs/reference/benchmarks.md#token-ids; each prompt begins with a harmony marker, so BOS is not fixed.
var gptOSS120b = Row{
	Name:         "gpt-oss-120b",
	Aliases:      []string{"gpt_oss_120b", "gptoss120b", "gpt-oss", "gptoss"},
	ServedModels: []string{"openai/gpt-oss-120b"},
	Scenarios: []ScenarioRow{
		offline("gpt-oss-120b", 6396),
		server("gpt-oss-120b", 3000, 80, 0),
		interactive("gpt-oss-120b-interactive", 2000, 15, 0),
	},
	UseTokenLatencies: true,
	DatasetSamples:    6396,
	PerformanceCount:  6396,
	AccuracyCount:     4395,
	Vocabulary:        201088,
	BOS:               NoBOS,
	EOS:               []int32{199999, 200012, 200002},
	MinOutputTokens:   1,
	Sampling: map[Mode]Sampling{
		Performance: gptOSSSampling(10240),
		Accuracy:    gptOSSSampling(32768),
	},
	Columns: []Column{
		{Name: "input_tokens", Aliases: []string{"tok_input"}, Type: "ids", Required: true, Role: "input_ids"},
		{Name: "text_input", Type: "text", Role: "input"},
		{Name: "dataset", Type: "text"},
		{Name: "ground_truth", Type: "text"},
		{Name: "ref_output", Type: "text", Role: "target"},
		{Name: "ref_tests", Type: "text"}, // not in the real file: tests of a program, for rehearsals
	},
	Data: DataSource{
		From:    "MLCommons: summaries of medical papers; AIME, GPQA and LiveCodeBench for accuracy",
		URL:     reference("language/gpt-oss-120b"),
		Licence: "none stated for the whole; AIME, GPQA and LiveCodeBench: CC0, CC-BY-4.0 and CC",
		Fetch:   fromStorage("gpt-oss-data"),
		Files: []DataFile{
			{Name: "perf/perf_eval_ref.parquet", Use: "performance", Format: formatParquet, Samples: 6396},
			{Name: "acc/acc_eval_ref.parquet", Use: "accuracy", Format: formatParquet, Samples: 4395},
			{Name: "acc/acc_eval_compliance_gpqa.parquet", Use: "TEST07", Format: formatParquet, Samples: 990},
		},
	},
	Special: harmonySpecial,
	Scoring: Scoring{
		Scorer: ScoreHarmony, Columns: ScoringColumns{Target: "ground_truth", Subset: "dataset", Tests: "ref_tests"},
		Source: scoringSource,
		Targets: []Target{
			atLeast("exact_match", 83.13, 0.99, 82.2987),
			{Metric: "tokens_per_sample", Max: 10998.900000000001, Optional: true, Reference: 9999, HighFactor: 1.1},
		},
	},
	Decisions: []Decision{
		{"new tokens in performance", "rules: 10000; README, the endpoints client's example and the reference harness: 10240",
			"10240, and a note in the record"},
		{"Interactive limit per output token", "rules: 20 ms; mlperf.conf and checker: 15 ms", "15 ms"},
		{"top_k", "README: 0; generation_config: -1; both switch it off", "nothing is sent"},
		{"Offline min_query_count", "mlperf.conf: none; checker: 6396 samples", "6396, in the generated user.conf"},
		{"TEST07's reasoning effort", "card of the data set: high; audit: the performance settings, low",
			"low, as in the audit's text (compliance/TEST07 of mlcommons/inference); the effort is part of the compliance " +
				"data set's prompts"},
	},
	Source: sourceRow,
}

// Special tokens of the harmony format (docs/reference/benchmarks.md#token-ids); the scorer reads them, so answers keep
// them.
var harmonySpecial = []SpecialToken{
	{199998, "<|startoftext|>"}, {199999, "<|endoftext|>"}, {200002, "<|return|>"}, {200003, "<|constrain|>"},
	{200005, "<|channel|>"},
	{200006, "<|start|>"}, {200007, "<|end|>"}, {200008, "<|message|>"}, {200012, "<|call|>"},
}

func gptOSSSampling(maxTokens int) Sampling {
	return Sampling{MaxTokens: maxTokens, Temperature: ptr(1.0), TopP: ptr(1.0)}
}
