// Package spill stores many byte strings: in memory up to a limit, and above it in one mapped scratch file.
//
// Put copies a byte string and returns a slice that never moves and costs nothing to read. The scratch file is unlinked
// as soon as it is open, so nothing is left behind however the process ends. A full disk is an error of Put and never a
// signal while reading.
//
// A Store has one owner. Any number of goroutines may read its byte strings until they are dropped.
//
// It imports nothing of the project and prints nothing.
package spill
