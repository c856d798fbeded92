package launch

import (
	"context"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mlperf-go/mlperf-go/kube/cluster"
	"github.com/mlperf-go/mlperf-go/kube/objects"
	"github.com/mlperf-go/mlperf-go/run/exit"
)

// Experiment names a launch in a cluster.
type Experiment struct{ ID, Namespace string }

// Collect waits for the pods of a launch that Run left, collects their results and deletes the launch. Results whose
// pods have ended come from the claim, if there is one. The field Launch of the options is read from the cluster; where
// the job is gone, it has to name the claim and an image.
func Collect(ctx context.Context, c *cluster.Cluster, e Experiment, o Options) (*Result, error) {
	jobs, err := c.Client.BatchV1().Jobs(e.Namespace).List(ctx,
		metav1.ListOptions{LabelSelector: objects.LabelRun + "=" + e.ID})
	if err != nil && !errors.IsNotFound(err) {
		return nil, cluster.Explain(err, "looking for the experiment %s in the namespace %q", e.ID, e.Namespace)
	}
	if err != nil || len(jobs.Items) == 0 {
		if o.Storage.Claim != "" && o.Image != "" {
			o.Namespace = e.Namespace
			return CollectClaim(ctx, c, e.ID, o)
		}
		return nil, exit.Usage("usage",
			"`kubectl get jobs -l "+objects.LabelManager+"="+objects.Manager+"` lists what is there; "+
				"give --pvc and --image to collect from a claim", "there is no experiment %q in the namespace %q", e.ID,
			e.Namespace)
	}
	job := &jobs.Items[0]
	o.Launch = launchOf(job, e)
	r := newRunner(c, o)
	r.job = job.UID
	gone, err := r.podsEnded(ctx, job)
	if err != nil {
		return nil, err
	}
	var result *Result
	switch {
	case !gone:
		r.Wait = 1 << 62
		result, err = r.follow(ctx)
	case o.Storage.Claim == "":
		err = exit.Environment(cluster.Launcher, "Run the experiment again, with --pvc to keep results",
			"the pods of the experiment %s have ended, and their results with them", e.ID)
	default:
		result, err = CollectClaim(ctx, c, e.ID, o)
		r.Keep = r.Keep || err != nil
	}
	return result, r.finish(ctx, err)
}

// launchOf returns the launch of a job.
func launchOf(job *batchv1.Job, e Experiment) objects.Launch {
	l := objects.Described(&job.Spec.Template.Spec)
	l.ID, l.Namespace, l.Harness = e.ID, e.Namespace, strings.TrimSuffix(job.Name, "-"+e.ID)
	if job.Spec.Completions != nil {
		l.Pods = int(*job.Spec.Completions)
	}
	if job.Spec.BackoffLimit != nil {
		l.Attempts = int(*job.Spec.BackoffLimit)
	}
	return l
}

// podsEnded reports whether a pod of the launch is gone for good or has ended, so that it sends no results.
func (r *runner) podsEnded(ctx context.Context, job *batchv1.Job) (bool, error) {
	list, err := r.cluster.Client.CoreV1().Pods(r.Namespace).List(ctx, metav1.ListOptions{LabelSelector: r.Selector()})
	if err != nil {
		return false, cluster.Explain(err, "listing the pods of the experiment %s", r.ID)
	}
	var pods []*corev1.Pod
	for i := range list.Items {
		pods = append(pods, &list.Items[i])
	}
	if pods = newest(r.own(pods)); r.Attempts > 0 && !finished(job) {
		return false, nil // a pod runs, or another one follows
	}
	for _, p := range pods {
		if p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
			return true, nil
		}
	}
	return finished(job) && len(pods) < r.Pods, nil // an unfinished job starts the missing pods again
}

// finished reports whether a job starts no further pod.
func finished(job *batchv1.Job) bool {
	for _, c := range job.Status.Conditions {
		if (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue {
			return true
		}
	}
	return false
}
