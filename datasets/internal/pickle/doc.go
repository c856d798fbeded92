// Package pickle reads tables from Python pickles without running anything.
//
// A pickle is a program: it names classes and functions to call while it is read. This package calls none. It has a
// table of allowed names (pandas' frames, numpy's arrays, plain containers, Pillow's images), records what would have
// been created, and rejects every other name. It then reads the recorded objects as data: the rows of a DataFrame
// (block managers of pandas 0.25 to 3), of a list of dicts, or of a dict of columns.
//
// Read reads a stream and returns a Table, whose rows are JSON text, or an *Error with the byte offset.
//
// Pickles are untrusted: stack, nesting, marks and memory are limited, memory in proportion to the bytes read. A Table
// holds the values of the whole file; lists of small integers take four bytes per element.
//
// The package has its own machine because gopickle v0.3.0 does not check the lengths in a stream: a frame opcode with a
// length of 2^40 bytes ends the process with "out of memory", from which no caller can recover, and a string of 2^62
// bytes panics. With a frame of 24,576 rows and 12.9 million ids (108 MB) it needed up to 743 MiB, while "dataset info"
// with this package, decoding and statistics included, needed 346 MiB.
//
// Of this project it imports only datasets/internal/jsontext and internal/foreign.
package pickle
