// Package judge decides about answers that package accuracy cannot judge by reading: whether a program passes its
// tests, and, with the user's own grader, whether two mathematical expressions are equal.
//
// New finds and tries the runtimes of the languages that benchmarks use, and indexes the files with LiveCodeBench's
// tests. A Judge runs programs only in internal/sandbox, and New fails without a sandbox. JudgeCode returns whether a
// program passed, or an *accuracy.Unjudged with the reason why that is unknown. A Grader runs the user's program for
// expressions. A Service asks another machine over a WebSocket (github.com/coder/websocket).
//
// The package imports accuracy, internal/sandbox and internal/httpclient, reads no flags or environment, and prints
// nothing.
package judge
