// Package spans writes the requests of a test as a trace file that ui.perfetto.dev and chrome://tracing open.
//
//	written, err := spans.Write(access, "spans.json.gz", test, spans.Options{Endpoints: urls})
//
// The file follows the Trace Event Format of Chrome. The spans are computed after the test from the ledger's
// timestamps, so they cost nothing during the test. docs/how-to/profiling.md explains how to read them.
//
// Of this project it imports only ledger and internal/atomicfile.
package spans
