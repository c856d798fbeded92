// Package mllog reads the files that LoadGen writes: detail log, summary, accuracy log. Also broken ones.
//
// LoadGen does not escape quotes in strings, prints -nan and inf, ignores a full disk, and leaves files without their
// end when its process is ended. Every reader here is streaming and bounded, takes such files as far as they go, and
// says what is missing.
//
// In: a path or an io.Reader. Out: entries one at a time (ReadDetail, ReadAccuracy), or what one test's folder says as
// a whole (Summarize): verdict, counts of errors, result keys, whether the files have their end.
//
// A log is a regular file: a link in the place of one is an error. Format: spec/loadgen-engine.md §6, §7.
package mllog
