// Package export sends finished runs to an OpenTelemetry collector: traces and metrics by OTLP over HTTP.
//
//	run, err := export.Read(folder)          // of a test or of a workload
//	to, err := export.NewCollector(ctx, "http://host:4318")
//	sent, err := to.Send(ctx, run, 1000)     // at most that many requests become spans
//
// It reads the folder after the run, and not the run while it goes on, for two reasons. The client must be invisible in
// the numbers, and an exporter that works afterwards costs it nothing. And its numbers are those of the record, because
// they come from the same log. To watch a running test, let the collector's Prometheus receiver scrape
// --serve-metrics. docs/reference/otlp.md has the names.
//
// The SDK of OpenTelemetry is a tenth of the program's size. So it is linked into a program of this module only, which
// `mlperf-go metrics upload --otlp` starts.
//
// Nothing of a prompt, an answer or a key is sent. Ids come from the record, so that a run that is sent again has the
// same ones. The package prints nothing.
package export
