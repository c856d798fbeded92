// Package bench runs a workload: it detects the kind of servers, sends the profile's requests with package engine,
// computes the figures with package measure, and judges the run by the rules of a LoadGen test.
//
//	r, err := bench.Run(ctx, bench.Options{Profile: p, Endpoints: []string{"http://127.0.0.1:8000"}, Folder: "out"})
//
// The folder contains the event log, bench.json (Record), the profile, and failures.jsonl. Everything but
// the event log can be computed again from it.
//
// A Series makes several runs in sequence. A Stack is the servers that were started for runs, and Resume finds the run
// that an earlier command finished.
//
// The package prints nothing and must not import cmd.
package bench
