package schema

import _ "embed"

// Run is the text of run.schema.json: the JSON Schema of run.json, whose "schema" field is "mlperf-go/run/1".
//
//go:embed run.schema.json
var Run []byte

// Bench is the text of bench.schema.json: the JSON Schema of bench.json, whose "schema" field is "mlperf-go/bench/1".
//
//go:embed bench.schema.json
var Bench []byte

// Calibration is the text of calibration.schema.json: the JSON Schema of calibration.json, whose "schema" field is
// "mlperf-go/calibration/1".
//
//go:embed calibration.schema.json
var Calibration []byte

// Campaign is the text of campaign.schema.json: the JSON Schema of campaign.json, whose "schema" field is
// "mlperf-go/campaign/1".
//
//go:embed campaign.schema.json
var Campaign []byte

// Compare is the text of compare.schema.json: the JSON Schema of `compare --json`, whose "schema" field is
// "mlperf-go/compare/1".
//
//go:embed compare.schema.json
var Compare []byte

// Sweep is the text of sweep.schema.json: the JSON Schema of sweep.json, whose "schema" field is "mlperf-go/sweep/1".
// Its $defs/probe_file is that of the probe.json of a point.
//
//go:embed sweep.schema.json
var Sweep []byte

// Search is the text of search.schema.json: the JSON Schema of search.json, whose "schema" field is
// "mlperf-go/search/1".
//
//go:embed search.schema.json
var Search []byte

// Tune is the text of tune.schema.json: the JSON Schema of tune.json, whose "schema" field is "mlperf-go/tune/1". Its
// $defs/probe_file is that of probe.json.
//
//go:embed tune.schema.json
var Tune []byte

// Experiment is the text of experiment.schema.json: the JSON Schema of experiment.json, whose "schema" field is
// "mlperf-go/experiment/1". Its $defs/probe_file is that of the probe.json of a pass.
//
//go:embed experiment.schema.json
var Experiment []byte

// LDB01 is the text of ldb-0.1.schema.json: the JSON Schema of llm-d-benchmark's report 0.1.
//
//go:embed ldb-0.1.schema.json
var LDB01 []byte

// LDB02 is the text of ldb-0.2.schema.json: the JSON Schema of llm-d-benchmark's reports 0.2 and 0.2.1. JSON has no
// infinity: an unlimited concurrency is the text +Inf.
//
//go:embed ldb-0.2.schema.json
var LDB02 []byte
