// Package worker runs a measurement in a pod and keeps its results until they have been fetched.
//
//	code, err := worker.Run(ctx, worker.Order{Folder: folder, Command: command, Hold: time.Hour}, stdout, stderr)
//
// Without a volume claim the results live as long as the pod, so Run stays after its command has ended: until Release,
// or for Hold. Other processes of the pod, which the launcher starts through the API server, wait for the end (Await),
// send the files (internal/parcel) and release the pod. They share nothing but the folder, so they work from any
// process of the container.
//
// The file worker.json of the folder states how the command ended. The package prints nothing. It imports
// internal/atomicfile and internal/crash only.
package worker
