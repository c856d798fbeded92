// Package servermetrics records the metrics pages of the servers beside a test or a workload, and the GPUs of this
// machine with them.
//
//	targets, err := servermetrics.Targets(config, furtherURLs, secrets)
//	r := &servermetrics.Recorder{Access: access, Path: path, Targets: targets, Interval: time.Second}
//	r.Start(ctx)                 // before the first request
//	signals := r.Take()          // for a live page, now and then
//	metrics, notes := r.Stop()   // after the last answer
//
// The file is that of package metrics/series. The pages are read by the client's rules of proxies, authorities and
// keys.
package servermetrics
