// Package ndjson splits a stream of JSON documents, one on each line, into its documents.
//
// A Framer accepts a response body in pieces of any size and returns each document in order, without a copy if one
// piece contains the whole line. It handles line ends (LF, CRLF), blank lines and a last line without an end, and
// limits their length. It does not check that the documents are JSON.
//
// The package is a hot path: one call per document, no allocation in the steady state, no lock, no clock. It imports
// nothing of the project.
package ndjson
