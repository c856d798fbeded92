// Package score prepares the scoring of accuracy runs: it finds the log, the data set with its references, the
// tokenizer and the judges that a benchmark's scorer needs.
//
// Plan returns what a test scores itself with at its end; Find and Log.Score score a log that a test left earlier.
// Settings are read by name through a function, so that a command's flags and a test's configuration serve alike. The
// package reads no flag, prints nothing and must not import cmd.
package score
