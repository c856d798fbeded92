// Package ndjson cuts a stream of JSON documents, one to a line, into its documents.
//
// In come the bytes of a response body in pieces of any size, out goes each document, in order, without a copy where
// one piece holds the whole line. It owns line ends (LF, CRLF), blank lines, a last line without an end and the bound
// on their length. It knows nothing of what the documents say, and does not check that they are JSON.
//
// This is a hot path: one call per document, no allocation in the steady state, no lock, no clock.
//
// It imports nothing of the project.
package ndjson
