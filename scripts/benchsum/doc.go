// Command benchsum reads the output of rounds of benchmarks, one file per round, and prints one table: the figures of
// the hot path with their floors and goals (goals.go), and whether they meet them. With -json it also writes the table
// and the median of every measurement to a file.
//
// It reads lines of "go test -bench" and lines "MEASURED name value unit" of tests that measure by themselves. It only
// prints: a figure below its floor does not fail.
package main
