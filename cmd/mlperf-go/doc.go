// Command mlperf-go runs MLPerf Inference tests of large language models against inference servers.
//
// One file per command: flags in, one call of a package below, exit code out. It alone reads flags, environment and
// terminal; what a command knows it gets from the tables below (settings, registry, faults), so that help, completion
// and errors follow from them.
//
// In: arguments and MLPERF_GO_* names. Out: results on stdout, progress and log on stderr, and the exit codes of
// run.Exit*.
package main
