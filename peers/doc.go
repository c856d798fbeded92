// Package peers writes the requests of a run in the formats of other benchmark clients, each by the definitions of that
// client: where a latency starts and ends, what it is divided by, how a percentile and a deviation are computed.
//
//	log, err := peers.FromRun(record, requests) // or a Log of another engine
//	e, err := peers.Convert("guidellm", log)
//	for _, f := range e.Files { ... f.Name, f.Write(w) ... }
//
// A Log contains the events of requests in ns, independent of any client. Figures that need other data, such as the
// time of each token, are left out of the files, as the client itself does if it is not asked for them;
// Export.Notes lists them. docs/reference/peers.md has the definitions and the differences.
//
// The package imports ledger and run/record for FromRun, prints nothing and writes no file.
package peers
