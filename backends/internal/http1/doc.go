// Package http1 is the fast HTTP client: it answers the queries of one shard over plain HTTP/1.1 with one epoll loop on
// one locked OS thread (docs/reference/measurements.md#clients-compared).
//
// It owns the sockets and their states, the HTTP/1.1 parser, the timer wheel, and the calls of the sink: first tokens
// and completions are reported by the loop's own thread at the moment of parsing, so their order holds by construction.
//
// In come a loadgen.Source and Config.Request's bytes, sent as they are; out go Sink calls, Complete exactly once a
// query. What it decides about refusals, repeats and deadlines is backends/internal/policy's, as it is nethttp's.
//
// loop.go, pace.go, conn.go, answer.go, reading.go, parser.go, field.go, chunk.go, wheel.go and syscall.go are the hot
// path: each says what it may not do. client.go, dial.go, fail.go, cancel.go and source.go run once a connection, a
// failure or a test.
//
// It speaks no TLS and no HTTP/2 and knows no proxy: nethttp does. It must not import a wire protocol, sut, run or cmd.
package http1
