// Package alarm wakes a thread that sleeps on file descriptors at a time, or at once. An event loop sleeps on the FD of
// its source of queries, so no thread of its own has to issue them.
//
// It imports nothing of the project.
package alarm
