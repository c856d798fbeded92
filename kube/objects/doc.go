// Package objects renders what the launcher creates in a cluster: pure functions from a description to API objects.
//
//	l := objects.Launch{ID: "chat-1764000000-x2k9qd", Namespace: "llmdbench", Harness: "inference-perf", Pods: 8, ...}
//	for _, o := range l.Objects() { ... } // in the order in which they are applied
//
// Pods comply with the restricted Pod Security Standard: no root, no capability, no writable root file system, an
// arbitrary user. They get no Kubernetes credentials. Secrets are referenced by name; no object contains a secret
// value.
//
// docs/reference/kube.md lists the objects, their names and labels. The package does not access a cluster.
package objects
