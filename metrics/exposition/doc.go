// Package exposition reads the metrics page of a server: Prometheus' text format 0.0.4, which vLLM, SGLang, llama.cpp
// and gateways write (docs/reference/metrics.md#page).
//
//	parser := exposition.NewParser()
//	values, err := parser.Parse(body) // values[i] belongs to parser.Series()[i]
//
// A Parser remembers the series of earlier pages, so that a page costs a look-up and a number per line. It parses
// the name and the labels of a new series with Prometheus' own expfmt.
//
// It does not use expfmt for whole pages, because that allocates a tree for each page. On a page of vLLM with 1,000
// series, expfmt took about 20 times as long as this package (BenchmarkParse), and a run scrapes every replica each
// second on the machine whose lag it measures.
//
// It reads bytes only, and imports nothing of the project.
package exposition
