// Package backends is the client side of inference servers: it turns the queries of one shard into requests and each
// answer into one outcome.
//
// It owns the interfaces that run, sut and the wire protocols share (Backend, Driver, Sink, Protocol, Answer), the
// failure codes, the faults of an endpoint and the registry of drivers by name. Its folders hold the rest: openai
// (vLLM's and OpenAI's routes), http1 (the fast HTTP client), nethttp (the compatible one, for TLS), sse (event
// framing), balance (which endpoint).
//
// In come a loadgen.Source of queries and the request bytes of each loaded sample; out go Outcomes to a Sink, one for
// each query, whatever the server does.
//
// It must not import sut, qsl, run or cmd, reads no flags and no environment, and writes nothing to the terminal.
package backends
