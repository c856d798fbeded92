// Package compliance implements the audits TEST01, TEST04, TEST06, TEST07, TEST08 and TEST09: which of them a benchmark
// needs in a round, how each configures LoadGen, and whether the logs of such a run pass. TEST01, TEST04 and TEST08
// concern benchmarks that this program does not run; it only verifies their logs.
//
// Find returns the Audit of a benchmark. Its Config is the audit.config of a run, and Verify reads that run's logs. The
// Result contains the verdict of the official scripts, the files that these scripts write (byte for byte), and the
// findings of stricter checks.
//
// Logs are read as streams and only a few numbers are kept per sample, so that logs of hundreds of megabytes fit into
// memory. A broken log fails the audit with a finding that names the position of the fault. Verify returns an error
// only for a file that cannot be opened or a missing input.
//
// The package runs no test, starts no process, prints nothing, and must not import run or anything above it.
package compliance
