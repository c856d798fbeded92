// Package pickle reads tables out of Python pickles without running anything.
//
// A pickle is a program: it names classes and functions to be called while it is read. This machine calls none. It
// knows a table of names (pandas' frames, numpy's arrays, plain containers, Pillow's images), notes what was to be made
// of them, and refuses every other name, saying which. The notes are then read as data: the rows of a DataFrame (block
// managers of pandas 0.25 to 3), of a list of dicts, or of a dict of columns.
//
// In: a stream. Out: a Table, whose rows are JSON text, or an *Error with the byte's place.
//
// Pickles are foreign bytes: stack, nesting, marks and memory are bounded, the last in proportion to what was read. A
// Table holds the whole file's values; lists of small integers take four bytes each.
//
// The machine is our own because gopickle v0.3.0 does not bound what a stream claims: a frame opcode that announces
// 2^40 bytes ends the process with "out of memory", which no caller can recover from, and a string of 2^62 bytes
// panics. On a frame of 24,576 rows with 12.9 million ids (108 MB) it peaked at 743 MiB, where "dataset info" with this
// package, decoding and statistics included, peaked at 346 MiB.
//
// It imports datasets/internal/jsontext and nothing else of the project.
package pickle
