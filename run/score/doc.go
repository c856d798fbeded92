// Package score prepares the scoring of accuracy runs: it finds the log, the data set with its references, the
// tokenizer and the judges that a benchmark's scorer needs.
//
// Plan returns the scoring that a test does at its end; Find and Log.Score score the log of an earlier test.
// Settings are read by name through a function, so they can come from a command's flags or from a test's
// configuration. The package reads no flag, prints nothing and must not import cmd.
package score
