// Package accuracy scores the answers of an accuracy run as the benchmarks' reference scripts do.
//
// It owns the algorithms (ROUGE with the Porter stemmer and Punkt sentences, exact-match families, harmony sections,
// hierarchical F1, function-call checks, MATH equality), the table of scorers with their targets (Benchmarks), and the
// text that the submission checker reads (WriteText, CheckText).
//
// In: LoadGen's accuracy log, the references of the data set, a Decoder for token ids, sentence parameters. Out: a
// *Result with metrics, subsets and one score per sample. Answers that need a judge which the user did not give are
// counted as unscored, and then no total is claimed: model-written code is never run here.
//
// Adding a benchmark is adding a row to Benchmarks. The package imports internal/mllog, datasets, models and
// tokenizer/finder, and prints nothing. Algorithms: docs/reference/scoring-rules.md; targets: docs/reference/rounds.md.
package accuracy
