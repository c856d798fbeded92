// Package cluster accesses a Kubernetes cluster: apply, delete, exec, logs and ports of pods, with errors that state
// what to do.
//
//	c, err := cluster.Connect(kubeconfig, context)
//	owner, err := c.Apply(ctx, object)
//	err = c.Exec(ctx, namespace, pod, command, in, out)
//
// Objects are applied on the server by the field manager "mlperf-go". Exec and Forward use WebSockets and fall back to
// SPDY, as kubectl does. The package prints nothing and is independent of launches.
package cluster
