// Command mlperf-go runs MLPerf Inference tests of large language models against inference servers.
//
// Each command is one type in one file: it reads its flags, makes one call to a package below and prints the result.
// Only this package reads flags, the environment and the terminal. Help texts, completion and errors come from the same
// tables as the behaviour (settings, benchmarks, faults).
//
// Results go to stdout, progress and logs to stderr, and the exit codes are run.Exit*. All commands share the type
// program (environment, secrets, exit code) and with it the console (output and log).
package main
