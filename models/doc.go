// Package models is the registry of benchmarks, with one Row per benchmark.
//
// A row holds the values that the MLPerf rules and LoadGen's built-in mlperf.conf fix for a benchmark: LoadGen keys,
// latency limits, counts, sampling parameters, data set columns, token ids and scoring. To add a benchmark, add a row.
//
// Find accepts any spelling of a benchmark's name, an "-interactive" name or a Hugging Face id. A name that matches no
// row, or several, is a NameError with candidates; there is no silent fallback to the generic row.
//
//	match, err := models.Find("meta-llama/Llama-3.1-8B-Instruct") // match.Row.Name is llama3.1-8b
//	scenario, err := match.Row.Scenario("server")
//
// Rows must not be changed after start-up. Package rounds adapts a row to a round. The package imports only
// internal/config, and reads no flag and no environment.
package models
