// Package lengths computes statistics of data sets and of a run's answers: lengths of inputs and outputs, their ratio,
// and finish reasons. The files are streamed; memory depends on the number of different lengths, which is bounded.
//
//	report, err := lengths.OfDataset("prompts.json", options, row, nil)
//	report, err := lengths.OfAnswers("results/run/requests.jsonl.zst")
//	panels := report.Panels("prompts.json") // for internal/plot
//
// The package imports datasets, ledger, models and internal/plot. It reads no flags and prints nothing.
package lengths
