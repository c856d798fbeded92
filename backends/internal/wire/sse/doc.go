// Package sse cuts a stream of server-sent events into the data of its events.
//
// In come the bytes of a response body in pieces of any size, out goes the data of each event, in order, without a copy
// where one piece holds the whole event. It owns line ends (LF, CRLF, CR), comments, the optional blank after the
// colon, data of several lines and the bound on their length, and it notes the lines "error:" of older servers. It
// knows nothing of JSON, tokens, "[DONE]" meaning or HTTP.
//
// This is a hot path: one call per event, no allocation in the steady state, no lock, no clock.
//
// It imports nothing of the project.
package sse
