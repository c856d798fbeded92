// Package scrape reads the metrics pages of servers at an interval during a run, and records them.
//
//	collector, err := scrape.Start(ctx, scrape.Options{Path: path, Targets: targets, Interval: time.Second})
//	...
//	outcomes, err := collector.Stop() // reads each page once more
//
// All targets are read at the same time, each by its own goroutine, and a target is never read twice at once. If a
// page is slow, too large, malformed or missing, the record has a failed scrape with its cause. Metrics never end a
// run.
//
// It imports metrics/exposition and metrics/series, and no client of the test itself. It prints nothing.
package scrape
