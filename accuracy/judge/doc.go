// Package judge decides what package accuracy can not decide by reading: whether a program passes its tests, and, by
// the user's own grader, whether two mathematical expressions are equal.
//
// It owns the runtimes of the languages that benchmarks use (found on this machine, tried once, reported where
// missing), the tests of LiveCodeBench's files, the small Python programs that run them, and the comparison of what
// they print. Programs run in internal/sandbox and nowhere else; without a sandbox New fails.
//
// In: accuracy.CodeTask, the file with the tests, the environment that a command hands over. Out: passed or not, or an
// *accuracy.Unjudged that says why not. The package imports accuracy, internal/sandbox and internal/httpclient, reads
// no flag, and prints nothing. Service asks another machine instead, over a WebSocket (github.com/coder/websocket).
package judge
