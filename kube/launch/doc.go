// Package launch runs an experiment on a cluster from its objects to its collected results.
//
//	result, err := launch.Run(ctx, cluster, launch.Options{Launch: l, Output: "results", Notify: print})
//
// Run applies the objects, watches the pods, collects the results of each through the API server (internal/parcel),
// saves the pods' logs, and deletes what it created. State judges one pod: its table has a row for every reason for
// which a pod waits or ends. After an error the results stay where they are, and the error names the command that
// collects them.
//
// The package prints nothing: Notify gets one sentence for each change.
package launch
