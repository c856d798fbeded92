package models

// Counts and limits: spec/models.md §4. Two tokens at least, greedy: §7. Its code part additionally stops after four given tokens,
// which no request field expresses; scoring trims there.
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
	},
	Audits: []string{"TEST06"},
	Source: "inference rules and reference of v6.0 (spec/models.md §2-§7); mlperf.conf of LoadGen 6.0.17 (spec/loadgen-engine.md Appendix A)",
}
