// Package http1 is the fast HTTP client. It answers the queries of one shard over HTTP/1.1, with or without TLS and
// proxies, with one epoll loop on one locked OS thread (docs/reference/measurements.md#clients-compared).
//
// The loop waits for events and passes them on. Its parts are the poller (epoll, clock and wheel of deadlines), the
// intake of queries, the pool of connections, the reporter to the sink, and the exchanges, which attempt and repeat
// requests with a dialer, a sender and a receiver. No part calls the loop back. First tokens and completions are
// reported by the loop's own thread when it parses them, so that they are in order. backends/internal/policy decides
// about refusals, repeats and deadlines, as it does for nethttp.
//
// The files whose first line begins with HOT PATH run once a query or a token; each one states what it may not do. The
// others run once a connection, a failure or a test.
//
// TLS is crypto/tls. A goroutine makes the handshake, and the request to a proxy for a tunnel, with bytes that the loop
// carries (opening). Then the loop itself calls crypto/tls, which never waits: a read without bytes returns a temporary
// error, and a write collects records (session).
//
// The package does not support HTTP/2; nethttp does. It must not import a wire protocol, sut, run or cmd.
package http1
