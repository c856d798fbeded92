// Package environment writes the folder environment/ of a test or a workload: the machine of the client, and the
// servers as far as they describe themselves (docs/reference/runs.md#environment).
//
//	err := environment.Write(folder, &environment.Facts{Access: access, Secrets: secrets, Environ: os.Environ(),
//		Servers: probes})
//
// It reads the machine when it is called, and hides secrets. The folder must be this user's own: it rejects a link in
// its place.
//
// It must not import run or workload/bench, which call it.
package environment
