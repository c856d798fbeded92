// Package compare reads results of runs, campaigns, tunes, sweeps and submission trees, and compares them: the
// settings that differ, then each figure with its change and, with request logs, whether the change may be noise.
//
//	a, err := compare.Read(ctx, "results/yesterday", compare.Options{})
//	b, err := compare.Read(ctx, "results/today", compare.Options{})
//	report := compare.Compare([]*compare.Source{a, b}, compare.Settings{Gate: true})
//	err = report.Text(os.Stdout)
//
// Results under different rules (rules.go) are shown and not ranked. Intervals come from a bootstrap of blocks in
// time order (bootstrap.go, docs/explanation/comparison.md). Read reads as much of a folder as possible, and marks
// missing parts.
//
// It imports submission, tune, sweep, report, workload and what is below them, and nothing above; it reads no flags.
package compare
