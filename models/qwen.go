package models

// Limits are end to end: 12 s in Server, 1.5 s in Interactive, which has no key of its own and a data set of 8000 rows
// (spec/models.md §2, §4, §7). Nothing is sent for sampling: the server's generation_config applies (§6). Columns are those of the converted
// file with base64 images. Token ids: §10.1.
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
	EOS:              []int32{151645, 151643},
	MinOutputTokens:  1,
	Sampling:         bothModes(Sampling{}),
	Columns: []Column{
		{Name: "product_title", Type: "text", Required: true},
		{Name: "product_description", Type: "text", Required: true},
		{Name: "product_image_base64", Type: "text", Required: true},
		{Name: "product_image_format", Type: "text", Required: true},
		{Name: "potential_product_categories", Type: "text", Required: true},
		{Name: "ground_truth_category", Type: "text"},
		{Name: "ground_truth_brand", Type: "text"},
		{Name: "ground_truth_is_secondhand", Type: "text"},
	},
	Source: "inference rules and reference of v6.1 (spec/models.md §2-§7); mlperf.conf of LoadGen 6.0.17 (spec/loadgen-engine.md Appendix A)",
}

func qwen3VLInteractive() ScenarioRow {
	s := interactive("qwen3-vl-235b-a22b", 0, 0, 1500)
	s.Samples = 8000
	return s
}
