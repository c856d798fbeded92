// Package reader reads and judges one answer of an inference server, whatever its wire protocol is.
//
// It owns what all protocols share: framing and bounds of an answer (answer.go), how events become tokens and text
// (merge.go), the verdict (judge.go), and the pieces that a protocol's own walk over its JSON is made of (scan.go,
// skip.go, value.go; object.go: the same with encoding/json, wherever a walk is not sure). A protocol brings a Decoder,
// which turns one JSON document into an Event.
//
// In come the bytes of an answer, out go the fields of a backends.Outcome.
//
// Everything but object.go and judge.go is a hot path: no allocation per event, no lock, no clock.
//
// It must not import any protocol or HTTP client.
package reader
