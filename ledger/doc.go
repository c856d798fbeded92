// Package ledger keeps what happened to each sample, and when.
//
// It owns one Entry per issued sample, the counters a progress display reads, live histograms of TTFT and ITL, and the
// figures computed from the entries afterwards. A Shard is the pen of one thread: Issue, FirstToken, Gap and Complete
// take no lock and allocate nothing; each sample is completed exactly once, a second completion is refused and counted.
//
// In: events of the shards, the scheduled times. Out: Counts, Histogram, Entries, Metrics, requests.jsonl.zst.
// Metrics is a pure function of entries, so that a report can be rebuilt from the requests file.
//
// Reason and TokenSource are the types of every failure reason and token source, from the client to the record.
//
// It imports internal/atomicfile and nothing else of the project.
package ledger
