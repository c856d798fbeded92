// Package nethttp is the client for HTTP/2. It answers the queries of one shard through net/http, and is the reference
// with which the tests compare http1. Probes send their GET requests with it.
//
// A worker goroutine sends one request after another, and a watchdog ends its attempts at their deadlines. One
// reporting goroutine, locked to its OS thread, makes all calls for first tokens and completions in order, because
// LoadGen keeps a log for each thread and merges them unordered
// (docs/reference/measurements.md#first-token-and-answer-from-two-threads).
//
// The package must not import a wire protocol, sut, run or cmd. It reads no environment, not even for proxies (see
// Config.Proxy), and follows no redirect.
package nethttp
