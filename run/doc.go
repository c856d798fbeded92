// Package run is one LoadGen test, from its configuration to its record.
//
// In comes an effective configuration (or plain settings, or a data set in memory); a Plan resolves it against the
// model registry. Run then does preflight, StartTest, and reads back what LoadGen wrote; out go the run's folder, the
// Record (run.json) and its verdict, which stands above LoadGen's.
//
// The package reads no flags, no environment and no terminal, and prints nothing: progress goes to an Observer. One
// process runs one test, because LoadGen keeps state; whoever wants several starts the program again. It must not
// import submission, tune, workload, sim or cmd.
package run
