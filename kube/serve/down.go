package serve

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mlperf-go/mlperf-go/kube/cluster"
	"github.com/mlperf-go/mlperf-go/kube/objects"
	"github.com/mlperf-go/mlperf-go/run/exit"
)

// Named names a server in a cluster.
type Named struct{ Namespace, Name string }

// Down removes a server and waits until its pods are gone.
func Down(ctx context.Context, c *cluster.Cluster, n Named, wait time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	at := metav1.ListOptions{LabelSelector: objects.ServerSelector(n.Name)}
	list, err := c.Client.AppsV1().Deployments(n.Namespace).List(ctx, at)
	if err != nil {
		return cluster.Explain(err, "looking for the server %s in the namespace %s", n.Name, n.Namespace)
	}
	if len(list.Items) == 0 {
		return exit.Usage(exit.CodeUsage, fmt.Sprintf("`kubectl -n %s get deployments -l %s=%s` lists what is there",
			n.Namespace, objects.LabelManager, objects.Manager), "the namespace %s has no server named %q", n.Namespace,
			n.Name)
	}
	if err := remove(ctx, c, n); err != nil {
		return err
	}
	for {
		pods, err := c.Client.CoreV1().Pods(n.Namespace).List(ctx, at)
		if err == nil && len(pods.Items) == 0 {
			return nil
		}
		if pause(ctx) {
			continue
		}
		if errors.Is(ctx.Err(), context.Canceled) {
			return context.Cause(ctx)
		}
		if err != nil {
			return cluster.Explain(err, "waiting for the end of the pods of the server %s", n.Name)
		}
		var names []string
		for _, p := range pods.Items {
			names = append(names, p.Name)
		}
		return exit.Environment(cluster.Timeout, "The cluster goes on with it; if a node is lost, delete the node",
			"the server %s is deleted, but pods did not end within %s: %s", n.Name, wait, strings.Join(names, ", "))
	}
}

// remove deletes the objects of a server by their labels. The Deployment owns the rest, in the background.
func remove(ctx context.Context, c *cluster.Cluster, n Named) error {
	at := metav1.ListOptions{LabelSelector: objects.ServerSelector(n.Name)}
	services, err := c.Client.CoreV1().Services(n.Namespace).List(ctx, at)
	if err != nil {
		return cluster.Explain(err, "looking for the Service of the server %s", n.Name)
	}
	var failed []error
	for _, s := range services.Items {
		failed = append(failed, c.Delete(ctx, "Service", n.Namespace, s.Name))
	}
	deployments, err := c.Client.AppsV1().Deployments(n.Namespace).List(ctx, at)
	if err != nil {
		return cluster.Explain(err, "looking for the Deployment of the server %s", n.Name)
	}
	for _, d := range deployments.Items {
		failed = append(failed, c.Delete(ctx, "Deployment", n.Namespace, d.Name))
	}
	return errors.Join(failed...)
}
