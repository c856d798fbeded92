// Package ldb writes the run of a workload as benchmark reports of llm-d-benchmark: versions 0.1, 0.2 and 0.2.1, one
// report for each stage.
//
//	files, err := ldb.Reports("0.2.1", record, profile, metrics)
//
// The schemas schema/ldb-0.1.schema.json and ldb-0.2.schema.json describe the reports. Latencies are in seconds, by
// this program's definitions (docs/reference/bench.md#definitions).
//
// The package prints nothing and writes no file. It imports workload/bench, and must not import cmd.
package ldb
