package launch

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mlperf-go/mlperf-go/kube/cluster"
	"github.com/mlperf-go/mlperf-go/run/exit"
)

// earlierPause is the time between two checks for the remains of an earlier launch.
const earlierPause = 500 * time.Millisecond

// awaitEarlier waits until the deleted objects of an earlier launch with the same id are gone, because its pods have
// the labels of the new ones and write into the same folders of a claim. Start bounds the wait.
func (r *runner) awaitEarlier(ctx context.Context) error {
	if r.Start > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.Start)
		defer cancel()
	}
	var seen []string // at the last check
	for {
		left, err := r.earlier(ctx)
		if err != nil && len(seen) > 0 && ctx.Err() == context.DeadlineExceeded {
			return r.stillThere(seen) // the time ended during the check
		}
		if err != nil || len(left) == 0 {
			return err
		}
		if seen == nil {
			r.Notify(fmt.Sprintf("waiting for the end of an earlier launch with the id %s: %s", r.ID, strings.Join(left, ", ")))
		}
		seen = left
		select {
		case <-time.After(earlierPause):
		case <-ctx.Done():
			if ctx.Err() == context.Canceled {
				return context.Cause(ctx)
			}
			return r.stillThere(seen)
		}
	}
}

// stillThere returns the error for remains that did not end in time.
func (r *runner) stillThere(left []string) error {
	return exit.Environment(cluster.Timeout,
		fmt.Sprintf("Look at it (kubectl -n %s describe pods -l %s); if its node is lost, delete the node; or pass another "+
			"--id", r.Namespace, r.Selector()),
		"an earlier launch with the id %s did not end within %s: %s", r.ID, r.Start, strings.Join(left, ", "))
}

// earlier lists the remains of a deleted launch with the same id. A launch that was not deleted is an error, except for
// an unfinished campaign, which the new launcher follows.
func (r *runner) earlier(ctx context.Context) (left []string, err error) {
	at := metav1.ListOptions{LabelSelector: r.Selector()}
	jobs, err := r.cluster.Client.BatchV1().Jobs(r.Namespace).List(ctx, at)
	if err != nil {
		return nil, cluster.Explain(err, "looking for an earlier launch with the id %s", r.ID)
	}
	for i := range jobs.Items {
		job := &jobs.Items[i]
		switch {
		case job.DeletionTimestamp != nil:
			left = append(left, "job "+job.Name)
		case r.continues(job):
			return nil, nil
		default:
			return nil, exit.Usage(exit.CodeUsage, fmt.Sprintf("Collect its results with `mlperf-go kube collect -p %s %s`, "+
				"remove it with `%s`, or pass another --id", r.Namespace, r.ID, r.removal()),
				"the namespace %s already has a launch with the id %s: the job %s", r.Namespace, r.ID, job.Name)
		}
	}
	pods, err := r.cluster.Client.CoreV1().Pods(r.Namespace).List(ctx, at)
	if err != nil {
		return nil, cluster.Explain(err, "looking for pods of an earlier launch with the id %s", r.ID)
	}
	for _, p := range pods.Items {
		left = append(left, "pod "+p.Name)
	}
	return left, nil
}

// continues reports whether a job is the campaign of this launch and has not ended.
func (r *runner) continues(job *batchv1.Job) bool {
	return r.Attempts > 0 && job.Name == r.JobName() && !finished(job)
}

// own returns the pods of the launch's own job, without those of an earlier job with the same id.
func (r *runner) own(pods []*corev1.Pod) []*corev1.Pod {
	if r.job == "" {
		return pods
	}
	return slices.DeleteFunc(pods, func(p *corev1.Pod) bool {
		owner := metav1.GetControllerOf(p)
		return owner == nil || owner.UID != r.job
	})
}
