package models

func init() { register(&qwen3VL, &qwen36_27b) }

// Limits apply to the whole answer: 12 s in Server, 1.5 s in Interactive. Interactive has no LoadGen key of its own and
// uses 8000 rows (docs/reference/benchmarks.md#limits-and-counts). Nothing is sent for sampling: the server's
// generation_config applies (docs/reference/benchmarks.md#where-sources-disagree). The columns cover the original file
// (images as bytes) and the converted one (images in base64). Token ids: docs/reference/benchmarks.md#token-ids.
var qwen3VL = Row{
	Name:         "qwen3-vl-235b-a22b",
	Aliases:      []string{"qwen3_vl_235b_a22b", "qwen3vl", "qwen3-vl", "qwen3-vl-235b", "qwen3-vl-235b-a22b-instruct"},
	ServedModels: []string{"Qwen/Qwen3-VL-235B-A22B-Instruct"},
	Scenarios: []ScenarioRow{
		offline("qwen3-vl-235b-a22b", 48289),
		server("qwen3-vl-235b-a22b", 0, 0, 12000),
		qwen3VLInteractive(),
	},
	DatasetSamples:   48289,
	PerformanceCount: 48289,
	Vocabulary:       151936,
	BOS:              NoBOS,
	EOS:              []int32{151643, 151645},
	MinOutputTokens:  1,
	TextAnswers:      true,
	API:              "chat",
	Sampling:         bothModes(Sampling{}),
	Columns: []Column{
		{Name: "messages", Type: "messages", Role: "messages"},
		{Name: "system_message", Type: "text", Role: "system"},
		{Name: "product_title", Type: "text", Role: "part"},
		{Name: "product_description", Type: "text", Role: "part"},
		{Name: "product_image", Aliases: []string{"product_image_base64"}, Type: "text|object", Role: "image"},
		{Name: "product_image_format", Type: "text"}, // only in the converted file; otherwise the image's bytes decide
		{Name: "potential_product_categories", Type: "text|array"},
		{Name: "ground_truth_category", Type: "text"},
		{Name: "ground_truth_brand", Type: "text"},
		{Name: "ground_truth_is_secondhand", Type: "text|bool"},
	},
	Data: DataSource{
		From: "Shopify/product-catalogue; nvidia/Shopify-product-catalogue-8k for Interactive",
		URL:  "https://huggingface.co/datasets/Shopify/product-catalogue", Licence: "on the data sets' pages",
		Fetch: []string{
			fromHub("Shopify/product-catalogue", "d5c517c509f5aca99053897ef1de797d6d7e5aa5", "catalogue"),
			fromHub("nvidia/Shopify-product-catalogue-8k", "2bc8c6c4b6ebd27b880b0cba519cb45d09867045", "catalogue-8k"),
		},
		Prepare: []string{
			"mlperf-go dataset convert catalogue/data/train-*.parquet catalogue/data/test-*.parquet catalogue.parquet " +
				"--model qwen3-vl-235b-a22b",
			"mlperf-go dataset convert catalogue-8k/data/train-*.parquet catalogue-8k.parquet --model qwen3-vl-235b-a22b",
		},
		Files: []DataFile{
			{Name: "catalogue.parquet", Use: "Offline, Server", Format: formatParquet, Samples: 48289},
			{Name: "catalogue-8k.parquet", Use: "Interactive", Format: formatParquet, Samples: 8000},
		},
	},
	Special: qwenSpecial,
	Guided:  Guided{Schema: productSchema},
	Scoring: Scoring{
		Scorer: ScoreCatalogue, Source: scoringSource,
		Columns: ScoringColumns{Target: "ground_truth_category", Brand: "ground_truth_brand",
			Secondhand: "ground_truth_is_secondhand"},
		Targets:   []Target{atLeast("f1", 0.7903, 0.99, 0.782397)},
		Scenarios: map[Scenario][]Target{Interactive: {atLeast("f1", 0.7878, 0.99, 0.7799219999999999)}},
	},
	Decisions: []Decision{
		{"sampling", "rules FAQ: temperature 1.0 and top_p 1.0; README of v6.1: nothing is sent, so the server's " +
			"generation_config applies (0.7, 0.8, top_k 20)", "nothing is sent"},
		{"prompt", "v6.0 has two typos and categories as a Python list; v6.1 is corrected and has them as JSON",
			"the template is the user's: one file per round"},
		{"new tokens", "the endpoints client's interactive example: 150; v6.0: no limit is sent",
			"no limit is sent; --max-tokens sets one"},
		{"guided decoding", "v6.0: an option; v6.1: off",
			"off; --response-format benchmark asks for the schema of an answer, which in v6.1 is a breach"},
		{"Interactive in v6.0", "rules and mlperf.conf: no such scenario; checker: optional on systems of both types",
			"Server's limit, data set and target, under the folder's name"},
	},
	Source: sourceRow,
}

// productSchema allows exactly the answers that the scorer accepts (docs/reference/scoring-rules.md#product-catalogue).
const productSchema = `{"type":"object","properties":{"category":{"type":"string"},"brand":{"type":"string"},` +
	`"is_secondhand":{"type":"boolean"}},` +
	`"required":["category","brand","is_secondhand"],"additionalProperties":false}`

var qwenSpecial = []SpecialToken{
	{151643, "<|endoftext|>"}, {151644, "<|im_start|>"}, {151645, "<|im_end|>"}, {151652, "<|vision_start|>"},
	{151653, "<|vision_end|>"}, {151655, "<|image_pad|>"},
}

// The edge-agentic benchmark (docs/reference/benchmarks.md#data-sets) belongs to the endpoints client and has no
// LoadGen key, so the generic key is used. Its accuracy part is 995 rows of function calls with temperature 0, seed 42
// and 1024 new tokens. Vocabulary and end ids come from the server.
var qwen36_27b = Row{
	Name:            "qwen3.6-27b",
	Aliases:         []string{"qwen3_6-27b", "qwen36-27b", "edge-agentic"},
	ServedModels:    []string{"Qwen/Qwen3.6-27B"},
	Scenarios:       []ScenarioRow{qwen36SingleStream()},
	DatasetSamples:  995,
	AccuracyCount:   995,
	BOS:             NoBOS,
	MinOutputTokens: 1,
	TextAnswers:     true,
	API:             "chat",
	Sampling:        bothModes(Sampling{MaxTokens: 1024, Temperature: ptr(0.0), Seed: ptr(int64(42))}),
	Columns: []Column{
		{Name: "sample_id", Type: "text", Role: "id"},
		{Name: "messages", Type: "messages", Required: true, Role: "messages"},
		{Name: "tools", Type: "text|array", Role: "tools"},
		{Name: "tool_choice", Type: "text|object", Role: "tool_choice"},
		{Name: "ground_truth", Type: "any"},
		{Name: "func_description", Type: "any"},
		{Name: "subset", Type: "text"},
	},
	// The hash comes from the loader of mlcommons/endpoints. The file has every single-turn question; the client uses
	// the first questions of each subset.
	Data: DataSource{
		From: "MLCommons' endpoints client: the single-turn questions of BFCL v4, of which it asks 995",
		URL:  "https://github.com/mlcommons/endpoints/tree/main/examples/11_Edge_Agentic_Example", Licence: "Apache-2.0",
		Fetch: []string{"git clone https://github.com/mlcommons/endpoints && cd endpoints && pip install '.[bfcl]'",
			"inference-endpoint benchmark from-config --accuracy-only --config " +
				"examples/11_Edge_Agentic_Example/online_edge_full_run.yaml  # writes the file, then measures"},
		Prepare: []string{"mlperf-go dataset convert dataset_cache/bfcl_v4/bfcl_v4_single_turn.parquet bfcl-995.parquet " +
			"--model qwen3.6-27b --benchmark-rows"},
		Files: []DataFile{
			{Name: "dataset_cache/bfcl_v4/bfcl_v4_single_turn.parquet", Use: "the conversion", Format: formatParquet,
				SHA256: "753e396031ec955718ab0ffe85f21fb9f5f8b1ab6de38bc4fb9f71d8332f1733"},
			{Name: "bfcl-995.parquet", Use: "accuracy", Format: formatParquet, Samples: 995},
		},
		Select: &bfclSelection,
	},
	Scoring: Scoring{
		Scorer: ScoreFunctionCalls, Columns: ScoringColumns{Target: "ground_truth", Subset: "subset", ID: "sample_id",
			Function: "func_description"},
		Targets: []Target{
			atLeast("overall_accuracy", 86.23, 0.97, 83.6431),
			atLeast("normalized_single_turn_score", 87.96, 0.97, 85.32119999999999),
			atLeast("mAP", 86.23, 0.99, 85.3677),
		},
		Notes: []string{"the sources disagree: the benchmark requires 0.97 of 86.23 overall and of 87.96 normalised, the " +
			"submission checker 0.99 of 86.23 overall under the name mAP; all are shown, and all must be met"},
		Source: scoringSource,
	},
	Decisions: []Decision{
		{"factor and name of the target", "README and endpoints client: 0.97 of overall and normalised; checker: 0.99 of " +
			"overall on a line mAP=", "all are reported, and all must be met"},
		{"LoadGen key", "none: the official run is the endpoints client's",
			"the generic key; performance measured with LoadGen is not an official run"},
	},
	Source: "inference_rules.adoc of mlcommons/inference_policies, and the edge-agentic example of mlcommons/endpoints",
}

// bfclSelection are the category rates and the floor in online_edge_full_run.yaml of mlcommons/endpoints. Applied to
// the public files they select 995 questions.
var bfclSelection = Selection{Column: "subset", Whole: 25, Percent: map[string]int{
	"simple_python": 62, "simple_java": 62, "simple_javascript": 62, "multiple": 62, "parallel": 62,
	"parallel_multiple": 62,
	"live_simple":       10, "live_multiple": 10, "live_parallel": 10, "live_parallel_multiple": 10,
	"irrelevance": 10, "live_irrelevance": 10,
}}

func qwen36SingleStream() ScenarioRow {
	s := singleStream(Generic)
	s.MinQueries = 995 // the checker's min-queries
	s.Note = "the official performance test is the endpoints client's replay of 20 trajectories; LoadGen here runs the " +
		"accuracy rows one by one"
	return s
}

func qwen3VLInteractive() ScenarioRow {
	s := interactive("qwen3-vl-235b-a22b", 0, 0, 1500)
	s.Samples = 8000
	return s
}
