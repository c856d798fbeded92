package launch

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mlperf-go/mlperf-go/kube/cluster"
	"github.com/mlperf-go/mlperf-go/kube/objects"
	"github.com/mlperf-go/mlperf-go/run/exit"
)

// Experiment names a launch in a cluster.
type Experiment struct{ ID, Namespace string }

// Collect waits for the pods of a launch that Run left, collects their results and deletes the launch. The fields
// Launch of the options are read from the cluster.
func Collect(ctx context.Context, c *cluster.Cluster, e Experiment, o Options) (*Result, error) {
	jobs, err := c.Client.BatchV1().Jobs(e.Namespace).List(ctx,
		metav1.ListOptions{LabelSelector: objects.LabelRun + "=" + e.ID})
	if err != nil && !errors.IsNotFound(err) {
		return nil, cluster.Explain(err, "looking for the experiment %s in the namespace %q", e.ID, e.Namespace)
	}
	if err != nil || len(jobs.Items) == 0 {
		return nil, exit.Usage("usage",
			"`kubectl get jobs -l "+objects.LabelManager+"="+objects.Manager+"` lists what is there",
			"there is no experiment %q in the namespace %q", e.ID, e.Namespace)
	}
	job := &jobs.Items[0]
	o.Launch = objects.Launch{ID: e.ID, Namespace: e.Namespace, Harness: strings.TrimSuffix(job.Name, "-"+e.ID)}
	if job.Spec.Completions != nil {
		o.Pods = int(*job.Spec.Completions)
	}
	o.Storage = objects.StorageOf(&job.Spec.Template.Spec)
	if o.Notify == nil {
		o.Notify = func(string) {}
	}
	o.Wait = 1 << 62
	r := &runner{Options: o, cluster: c, collector: &collector{cluster: c, namespace: e.Namespace, notify: o.Notify,
		pause: backoff}}
	result, err := r.follow(ctx)
	return result, r.finish(ctx, err)
}
