// Command testsum summarizes the event streams of `go test -json` for people.
//
//	go test -json ./... | testsum            a line per package as it ends, and the output of what failed
//	testsum -again FILE                      "PACKAGE TEST" of each failed test that may run a second time
//	testsum -total FILE...                   every failed test by name, then "N passed, N failed, N skipped"
//
// A part's second run is beside it as NAME-again.json. A test that fails and then passes by itself is reported as FLAKY
// with the output of its failure, and counts as passed; a data race, a panic, a leak or a sanitizer's report gets no
// second run. A test that skips in its second run, or skips a part that ran before, stays failed.
//
// It owns the counting: a test and each of its subtests count as one; a package that fails without a failed test, for
// example because it does not build or its process dies, is one failure. It exits with 1 if anything failed. It is a
// tool of scripts/test.sh, imports nothing of the project and is imported by nothing.
package main
