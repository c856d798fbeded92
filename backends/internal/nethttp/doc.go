// Package nethttp is the compatible HTTP client: it answers the queries of one shard through net/http, which knows TLS,
// HTTP/2, proxies and every odd server.
//
// It owns the worker goroutines (one a request in flight, reused), the deadlines, the repeat on a dead connection, the
// mapping of transport errors to failure codes, and the one reporting goroutine, locked to its OS thread, through which
// every first token and every completion goes in order: LoadGen keeps a log per thread and merges them unordered
// (docs/reference/measurements.md#first-token-and-answer-from-two-threads).
//
// In come a loadgen.Source and Config.Request's bytes, sent as they are; out go Sink calls, Complete exactly once a
// query.
//
// It must not import a wire protocol (wire.Protocol brings it), sut, run or cmd; it reads no environment, also no
// proxy settings (Config.Proxy brings them), and follows no redirect.
package nethttp
