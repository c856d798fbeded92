// Package wire defines what an HTTP client has to know of a wire protocol: the path of requests, the place of request
// ids, and the reader of answers.
//
// A driver builds a Protocol from its configuration; package client passes it to http1 or nethttp, which create one
// Answer for each response that they read at a time. The folders below hold what readers of answers share: framing
// (sse, ndjson), JSON (reader), request bodies (encode) and requests of several prompts (batch).
//
// It must not import a client or a wire protocol.
package wire
