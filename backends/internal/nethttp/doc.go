// Package nethttp is the compatible HTTP client. It answers the queries of one shard through net/http, which supports
// TLS, HTTP/2, proxies and unusual servers.
//
// A worker goroutine sends one request after another, and a watchdog ends its attempts at their deadlines. One
// reporting goroutine, locked to its OS thread, makes all calls for first tokens and completions in order, because
// LoadGen keeps a log for each thread and merges them unordered
// (docs/reference/measurements.md#first-token-and-answer-from-two-threads).
//
// The package must not import a wire protocol, sut, run or cmd. It reads no environment, not even for proxies (see
// Config.Proxy), and follows no redirect.
package nethttp
