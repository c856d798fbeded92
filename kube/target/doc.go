// Package target finds the server that a launch measures among the objects of a cluster.
//
//	found, err := target.Find(ctx, cluster, target.Query{Namespace: "serving", Name: "standalone"})
//	for _, url := range found.URLs { ... }
//
// A name means, in this order: a method of llm-d-benchmark (standalone, modelservice), an object KIND/NAME, labels
// KEY=VALUE, or a name or part of a name. Services, Gateways, HTTPRoutes and InferencePools precede Ingresses and
// OpenShift Routes, these precede Deployments, and these precede pods. Several candidates are an error that lists them:
// a run never measures a guess.
//
// docs/reference/kube.md#discovery has the rules. The package changes nothing in the cluster, and prints nothing.
package target
