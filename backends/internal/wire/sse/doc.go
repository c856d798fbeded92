// Package sse splits a stream of server-sent events into the data of its events.
//
// A Framer accepts a response body in pieces of any size and returns the data of each event in order, without a copy if
// one piece contains the whole event. It handles line ends (LF, CRLF, CR), comments, the optional blank behind the
// colon and data of several lines, limits their length, and notes the lines "error:" of older servers. It does not
// interpret the data, not even "[DONE]".
//
// The package is a hot path: one call per event, no allocation in the steady state, no lock, no clock. It imports
// nothing of the project.
package sse
