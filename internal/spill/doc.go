// Package spill keeps many byte strings: in memory up to a limit, and above it in one mapped scratch file.
//
// In: byte strings, copied. Out: slices of them that stay where they are, in memory or in the file's map, and cost
// nothing to read. The file has no name any more once it is open, so nothing of it stays behind, whatever ends the
// process; a full disk is an error of Put and never a signal on reading.
//
// A Store has one owner; what it handed out may be read by any number of goroutines until it is dropped.
//
// It imports nothing of the project and prints nothing.
package spill
