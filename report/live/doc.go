// Package live serves the page of a running test: the charts of a report, which grow while the test runs.
//
//	s, err := live.Start(live.Options{Address: "127.0.0.1:0", Title: "...", Folder: folder})
//	r, err := run.Run(ctx, plan, s)   // s is an Observer; s.URL() is what to open
//	s.Finish(r, err)                  // viewers see the verdict, then the server ends
//
// Each second of the test becomes one event with the percentiles and rates of the requests that ended in it. The
// server keeps the events of the last hour, so a viewer who connects late or again receives what it missed.
// Everything is computed from run.Progress, twice a second; no code runs per request.
//
// The server answers only requests whose Host is an address, localhost or its configured name, so that another site
// cannot read the page through a name that points here (DNS rebinding). A POST that stops the test needs a token
// and the page's own origin.
//
// It imports report, run and run/record, and prints nothing.
package live
