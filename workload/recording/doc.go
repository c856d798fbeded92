// Package recording reads recorded sessions of agents: spans of OpenTelemetry and the traces of Weka.
//
//	list, skipped, err := recording.Read("traces", "otel", recording.Options{})
//	list[0].Calls[3].After // the calls whose answers the fourth call waits for
//
// A Session is a graph of calls. A recording contains times, not dependencies, so the graph is inferred: a call
// waits for the call whose conversation it continues, and for the calls that ended in between.
//
// The files come from others: their number, their sizes and the calls of a session are bounded, and no link is
// followed. Rehearse writes small recordings of both forms, marked as synthetic.
//
// The package must not import prompts, engine or cmd.
package recording
