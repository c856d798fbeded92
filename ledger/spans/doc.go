// Package spans writes the requests of a test as a trace file that ui.perfetto.dev and chrome://tracing open.
//
//	written, err := spans.Write(access, "spans.json.gz", test, spans.Options{Endpoints: urls})
//
// The file follows the Trace Event Format of Chrome. Its spans come from the ledger's stamps after the test, so that
// they cost nothing during it. docs/how-to/profiling.md explains how to read them.
//
// It imports ledger and internal/atomicfile and nothing else of the project.
package spans
