// Package mllog reads the files that LoadGen writes (detail log, summary, accuracy log), broken ones included.
//
// LoadGen does not escape quotes in strings, prints -nan and inf, ignores a full disk, and leaves files unfinished if
// its process dies. The readers stream, bound their memory, read such files as far as possible, and report what is
// missing.
//
// ReadDetail and ReadAccuracy return entries one at a time. Summarize returns the result of a test from its folder:
// verdict, error counts, result keys, and whether the files are complete.
//
// A log is a regular file: a link in its place is an error. Format: docs/reference/loadgen.md#log-files.
package mllog
