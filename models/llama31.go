package models

const llama31Source = "inference rules and reference of v6.1 (spec/models.md §2-§7); mlperf.conf of LoadGen 6.0.17 (spec/loadgen-engine.md Appendix A)"

// Token ids of the Llama 3.1 family: spec/models.md §10.1; the end ids are those of the model's generation_config.
const (
	llama31Vocabulary = 128256
	llama31BOS        = 128000
)

var llama31EOS = []int32{128001, 128008, 128009}

// The instruction is a string in the calibration file and an object elsewhere (spec/models.md §7).
var llama31_8bColumns = []Column{
	{Name: "instruction", Type: "text|object"},
	{Name: "input", Type: "text", Role: "input"},
	{Name: "tok_input", Type: "ids", Required: true, Role: "input_ids"},
	{Name: "output", Type: "text", Role: "target"},
}

// Sampling: temperature 0, top_p 1, top_k 1, seed 42, 1..128 new tokens (spec/models.md §6 row "llama3.1-8b temperature", §7).
// Counts and limits: spec/models.md §4. Audits: §8.
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
	Audits:            []string{"TEST06"},
	Source:            llama31Source,
}

// The edge row is the same model and prompt on 5000 samples (spec/models.md §7); no audit (§8).
var llama31_8bEdge = Row{
	Name:         "llama3.1-8b-edge",
	Aliases:      []string{"llama3_1-8b-edge", "llama31_8b_edge"},
	ServedModels: []string{"meta-llama/Llama-3.1-8B-Instruct", "meta-llama/Meta-Llama-3.1-8B-Instruct"},
	Scenarios: []ScenarioRow{
		singleStream("llama3_1-8b-edge"),
		offline("llama3_1-8b-edge", 5000),
	},
	UseTokenLatencies: true,
	DatasetSamples:    5000,
	PerformanceCount:  5000,
	Vocabulary:        llama31Vocabulary,
	BOS:               llama31BOS,
	EOS:               llama31EOS,
	MinOutputTokens:   1,
	Sampling:          bothModes(greedy(1, 128).withSeed(42)),
	Columns:           llama31_8bColumns,
	Source:            llama31Source,
}

// Output limits 2..20000 are those of the rules text; the reference SUT has 1..2000 (spec/models.md §6). Retired from v6.1 (§3),
// so runnable only for earlier rounds. The prompt limit is the rules' ingress figure.
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
		{Name: "gt_output", Type: "text", Role: "target"},
		{Name: "metric", Type: "text"},
		{Name: "dataset", Type: "text"},
	},
	Audits: []string{"TEST06"},
	Source: llama31Source,
}
