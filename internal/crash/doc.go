// Package crash passes a panic of any goroutine to one handler, which prints a sentence and the stack and exits with
// code 70. Without it the Go runtime exits with 2, which means wrong usage.
//
// The program sets the handler when it starts, and each goroutine defers Catch. Without a handler, as in tests and in
// other programs, a panic behaves as usual.
//
// It imports nothing of the project.
package crash
