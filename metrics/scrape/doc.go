// Package scrape reads the metrics pages of servers at an interval, beside a run, and records them.
//
//	collector, err := scrape.Start(ctx, scrape.Options{Path: path, Targets: targets, Interval: time.Second})
//	...
//	outcomes, err := collector.Stop() // reads each page once more
//
// Targets are read at the same time, each by a goroutine of its own, and never twice at once. A page that is slow,
// large, malformed or gone is a failed scrape with its cause in the record, and nothing else: metrics never end a run.
//
// It imports metrics/exposition and metrics/series, and no client of the test itself. It prints nothing.
package scrape
