// Package ledger records what happened to each sample, and when.
//
// A Ledger has one Entry per issued sample, counters for the progress display and live histograms of TTFT and ITL. Each
// thread writes through its Shard: Issue, FirstToken, Gap and Complete take no lock and allocate nothing. A sample is
// completed once; the ledger rejects a second completion and counts it.
//
// Compute derives Metrics from entries and scheduled times alone, so that a report can be rebuilt from
// requests.jsonl.zst.
//
// Reason and TokenSource are the types of every failure reason and token source, from the client to the record.
//
// Of this project it imports only internal/atomicfile.
package ledger
