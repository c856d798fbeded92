// Package backends sends the queries of LoadGen to inference servers and turns each answer into one outcome.
//
// A Driver implements one wire protocol. It is registered by name when the program starts, encodes samples as request
// bodies, and opens a Backend for each shard. The Backend takes queries from a loadgen.Source and reports an Outcome
// for each of them to a Sink, whatever the server does. A protocol of one's own needs these types only:
//
//	func init() { backends.Register("mine", driver{}) }
//
// The folders openai, sglang, llamacpp and ollama are the drivers of this program; importing one registers it. The
// code that they share is below internal: the HTTP clients, the choice of an endpoint, framing and JSON of answers,
// and probing.
//
// The package must not import sut, qsl, run or cmd. It reads no flags and no environment, and writes nothing to the
// terminal.
package backends
