// Package snapshot keeps what a cluster shows of the servers of a run: the logs of their pods, and the state of the
// namespace's objects.
//
//	snapshot.Take(ctx, cluster, snapshot.Options{Namespace: "serving", Target: found, Folder: "results", Since: began,
//		Notify: print})
//
// Secrets are removed, control characters are escaped, and size and time are bounded. What cannot be read is a
// sentence for Notify and never an error: the results of the run are complete without it. The package changes nothing
// in the cluster.
package snapshot
