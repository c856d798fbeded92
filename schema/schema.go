package schema

import _ "embed"

// Run is the text of run.schema.json: the JSON Schema of run.json, whose "schema" field is "mlperf-go/run/1".
//
//go:embed run.schema.json
var Run []byte
