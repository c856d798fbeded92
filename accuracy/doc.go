// Package accuracy scores the answers of an accuracy run like the benchmarks' reference scripts.
//
// Score reads LoadGen's accuracy log, decodes the answers with a Decoder, compares them with the references of the data
// set and returns a *Result with metrics, subsets and, on request, one score per sample. Result.WriteText writes the
// text that the submission checker reads, and CheckText reads it like the checker. Benchmarks lists the scored
// benchmarks.
//
//	b, err := accuracy.Find("llama3.1-8b")
//	refs, err := b.References(dataset)
//	result, err := accuracy.Score(ctx, accuracy.Input{Benchmark: b.Name, Log: path, References: refs, Decoder: tokens})
//
// The algorithms are ROUGE (with the Porter stemmer and Punkt sentences), exact match, harmony sections, hierarchical
// F1, function calls and mathematics; see docs/reference/scoring-rules.md, and docs/reference/rounds.md for the
// targets. The package never runs model-written code: without a CodeJudge such answers are counted as unscored, and no
// total is claimed.
//
// To add a benchmark, add a row to package models. The package imports internal/mllog, datasets, models, rounds and
// tokenizer/finder, and prints nothing.
package accuracy
