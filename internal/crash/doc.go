// Package crash takes a panic of any goroutine to the one place that ends the program as cli.md says: a sentence, the
// stack, and exit code 70. Without it the Go runtime ends the process with 2, which means wrong usage.
//
// In: the handler that the program sets when it starts, and a deferred Catch at the head of each goroutine. Out: one
// call of the handler. Where none is set, as in tests and in programs of others, a panic goes its usual way.
//
// It imports nothing of the project.
package crash
