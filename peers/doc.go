// Package peers writes the requests of a run in the formats of other benchmark clients, each by the definitions of that
// client: where a latency starts and ends, what it is divided by, how a percentile and a deviation are computed.
//
//	log, err := peers.FromRun(record, requests) // or a Log of another engine
//	e, err := peers.Convert("guidellm", log)
//	for _, f := range e.Files { ... f.Name, f.Data ... }
//
// A Log is neutral: events of requests, in ns. What a log does not contain, such as the time of each token, is left out
// of the files, as the client does that was not asked for it, and Export.Notes lists it. docs/reference/peers.md has
// the definitions and what differs.
//
// The package imports ledger and run/record for FromRun, prints nothing and writes no file.
package peers
