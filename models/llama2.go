package models

func init() { register(&llama2_70b99, &llama2_70b999) }

// The two accuracy targets share model, data set, LoadGen keys and limits (docs/reference/benchmarks.md#names).
var (
	llama2_70b99 = llama2_70b("llama2-70b-99", "llama2_70b_99", []Target{
		atLeast("rouge1", 44.4312, 0.99, 43.98688799999999), atLeast("rouge2", 22.0352, 0.99, 21.814847999999998),
		atLeast("rougeL", 28.6162, 0.99, 28.330038),
	})
	llama2_70b999 = llama2_70b("llama2-70b-99.9", "llama2_70b_99.9", []Target{
		atLeast("rouge1", 44.4312, 0.999, 44.3867688), atLeast("rouge2", 22.0352, 0.999, 22.0131648),
		atLeast("rougeL", 28.6162, 0.999, 28.5875838),
	})
)

var llama2Special = []SpecialToken{{0, "<unk>"}, {1, "<s>"}, {2, "</s>"}}

// Counts and limits: docs/reference/benchmarks.md#limits-and-counts. Sampling: docs/reference/benchmarks.md#sampling.
// Token ids: docs/reference/benchmarks.md#token-ids.
func llama2_70b(name, alias string, targets []Target) Row {
	return Row{
		Name:         name,
		Aliases:      []string{alias},
		ServedModels: []string{"meta-llama/Llama-2-70b-chat-hf"},
		Scenarios: []ScenarioRow{
			offline("llama2-70b", 24576),
			server("llama2-70b", 2000, 200, 0),
			interactive("llama2-70b-interactive", 450, 40, 0),
		},
		UseTokenLatencies: true,
		DatasetSamples:    24576,
		PerformanceCount:  24576,
		MaxInputTokens:    1024,
		Vocabulary:        32000,
		BOS:               1,
		EOS:               []int32{2},
		MinOutputTokens:   1,
		Sampling:          bothModes(greedy(1, 1024)),
		Columns: []Column{
			{Name: "id", Type: "text", Role: "id"},
			{Name: "system_prompt", Type: "text"},
			{Name: "question", Type: "text"},
			{Name: "input", Type: "text", Role: "input"},
			{Name: "tok_input", Type: "ids", Required: true, Role: "input_ids"},
			{Name: "output", Type: "text", Role: "target"},
			{Name: "tok_output", Type: "ids"},
			{Name: "origin", Type: "text"},
			{Name: "tok_input_length", Type: "int"},
			{Name: "tok_output_length", Type: "int"},
		},
		Data: DataSource{
			From: "MLCommons: OpenOrca, answers of GPT-4", URL: reference("language/llama2-70b"),
			Licence: "MIT", Fetch: fromStorage("llama-2-70b-open-orca-dataset"),
			Files: []DataFile{{Name: "open_orca_gpt4_tokenized_llama.sampled_24576.pkl.gz", Format: formatPickle,
				Samples: 24576, SHA256: "b64e66e54b6267f79eb4f9ccec52d466bab3ac94747ed258c3b0f337ed166fab"}},
		},
		Special: llama2Special,
		Scoring: Scoring{
			Scorer: ScoreAnswers, Columns: ScoringColumns{Target: "output"}, Source: scoringSource,
			Targets: append(targets, within("tokens_per_sample", 294.45, 265.005, 323.89500000000004)),
		},
		Source: sourceRow,
	}
}
