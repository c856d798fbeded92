// Package compliance is the audits TEST01, TEST04, TEST06, TEST07, TEST08 and TEST09: which one a benchmark needs in
// which round, what each asks of LoadGen, and whether the logs of such a run pass.
//
// In come the names of benchmark and round, and folders with LoadGen's logs. Out go an audit.config text, and a Result:
// the verdict of the official scripts with the files that they write, byte for byte, and beside it the findings of a
// stricter reading. A caller takes an Audit from Find, gives its Config to a run, and hands the run's logs to Verify.
//
// Logs are read as streams: what is kept is a few numbers per sample, so that logs of hundreds of megabytes fit. Broken
// logs fail the audit with a finding that says where; only a file that can not be opened, or a missing fact, is an
// error.
//
// The package runs no test, starts no process, prints nothing, and must not import run or anything above it.
package compliance
