// Package reader reads and checks one answer of an inference server, for all wire protocols.
//
// It contains what the protocols share: Answer, with the framing and the limits of one answer (answer.go), the steps
// from events to tokens and text (merge.go, mode.go) and the checks at its end (judge.go); Batch, the same for
// requests with several prompts; and two ways to read JSON. Table walks over a document without allocations (table.go,
// scan.go, skip.go, value.go). Object uses encoding/json (object.go): it reads whatever a walk rejects, and all
// documents of protocols that need no walk. A protocol brings a Decoder, which turns one JSON document into an Event.
//
// All files but object.go, judge.go and calls.go are on the hot path: no allocation per event, no lock, no clock.
//
// It must not import a protocol or an HTTP client.
package reader
