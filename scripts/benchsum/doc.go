// Command benchsum reads the output of several rounds of `go test -bench` and prints medians and ratios.
//
//	benchsum FILE...        a table on stdout, then the same as one line of JSON
//
// It owns the table of ratios: which benchmark stands for the program, and which for the reference that ran in the same round,
// so that a busy or slow machine moves both. Lines of measuring tests ("medians of N: ...") are passed on. It is a tool of
// scripts/bench.sh, imports nothing of the project and is imported by nothing.
package main
