// Package report reads the folders of finished runs and shows them as one page of HTML that opens without a network.
//
//	run, err := report.Read(folder)       // the record, the request log, the servers' metrics, the failures
//	err = report.WriteHTML(w, []*report.Run{run})
//
// Read reads as much of a folder as possible: a missing or damaged part becomes a note. Figures computes the curves of
// a run: latencies over time and as distributions, rates, requests in flight, the client's own lags, lengths, and the
// servers' signals, with the same definitions as the record (ledger.TimesOf). A run of a million requests becomes a few
// hundred bins (docs/reference/report.md#bins).
//
// Charts are SVG text, drawn here for readers without scripts, and drawn again by report.js for zoom and hover. A
// chart library would add about 200 KB to every page, load parts from the network, or need npm to build.
//
// It imports run/record and ledger, and prints nothing.
package report
