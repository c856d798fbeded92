package models

func init() { register(&generic) }

// Generic is the name of the row that accepts any served model and any file of prompts.
const Generic = "generic"

// The generic row has no limits, no equal-issue mode, and LoadGen's wildcard settings
// (docs/reference/loadgen.md#values-of-mlperfconf). The sampling is the default of the older Python harness for unknown
// models (docs/reference/benchmarks.md#sampling). The file must have one of tok_input and input.
var generic = Row{
	Name: Generic,
	Scenarios: []ScenarioRow{
		offline(Generic, confMinQueries),
		server(Generic, 0, 0, 0),
		singleStream(Generic),
	},
	UseTokenLatencies: true,
	BOS:               NoBOS,
	MinOutputTokens:   1,
	TextAnswers:       true,
	Sampling:          bothModes(greedy(1, 1024)),
	Columns: []Column{
		{Name: "tok_input", Aliases: []string{"input_tokens", "input_ids"}, Type: "ids", Role: "input_ids"},
		{Name: "input", Aliases: []string{"text_input", "prompt"}, Type: "text", Role: "input"},
		{Name: "output", Aliases: []string{"ref_output", "gt_output"}, Type: "text", Role: "target"},
	},
	Source: "this program, docs/how-to/models.md; wildcard rows of " + sourceConf,
}
