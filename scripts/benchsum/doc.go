// Command benchsum reads what rounds of benchmarks printed, one file per round, and prints one table: the figures of
// the hot path, each with its floor and its goal (goals.go), and whether it meets them. With -json it writes the same,
// and the median of every measurement, to a file.
//
// In come lines of "go test -bench" and lines "MEASURED name value unit" of tests that measure by themselves; out goes
// the table. It decides nothing: a figure below its floor is printed, not failed.
package main
