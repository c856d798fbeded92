package launch

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mlperf-go/mlperf-go/kube/cluster"
	"github.com/mlperf-go/mlperf-go/run/exit"
)

// lastByItself is the highest exit code of a command that no signal ended.
const lastByItself = 128

// judge returns what the status of a pod means for this launch. If a successor continues, a command that was ended by a
// signal is not a result.
func (f *follower) judge(p *corev1.Pod) State {
	s := Judge(p, time.Now())
	if f.Attempts > 0 && s.Phase == Ended && s.Exit > lastByItself {
		return State{Phase: Failed, Class: cluster.Launcher,
			Text: sentence(p, fmt.Sprintf("the pod was ended by the signal %d", s.Exit-lastByItself), "")}
	}
	return s
}

// dropReplaced ends the collection from pods that are gone or have a successor. A pod that is gone for good, without
// its results, is an error.
func (f *follower) dropReplaced(pods []*corev1.Pod) error {
	for name, cancel := range f.collecting {
		if slices.ContainsFunc(pods, func(p *corev1.Pod) bool { return p.Name == name }) {
			continue
		}
		cancel()
		if f.Attempts == 0 && !f.isDone(name) {
			return exit.Environment(cluster.Launcher, "Run it again", "%s: the pod is gone, and its results with it", name)
		}
	}
	return nil
}

func (f *follower) isDone(name string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, done := f.done[name]
	return done
}

// awaitSuccessor ends the collection from a lost pod and saves its log. It returns an error if the job starts no
// further pod.
func (f *follower) awaitSuccessor(p *corev1.Pod, s State) error {
	if cancel := f.collecting[p.Name]; cancel != nil {
		cancel()
	}
	if !f.lost[p.Name] {
		f.lost[p.Name] = true
		f.wait.Go(func() { f.collector.saveLog(f.ctx, p, filepath.Join(f.Output, "logs")) })
	}
	again := fmt.Sprintf("The results so far are on the claim %s; the same command with --id %s continues",
		f.Storage.Claim, f.ID)
	job, err := f.cluster.Client.BatchV1().Jobs(f.Namespace).Get(f.ctx, f.JobName(), metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return exit.Environment(cluster.Launcher, again, "%s; the job %s was deleted", s.Text, f.JobName())
	case err != nil:
		return nil // the next change, or the timeout, decides
	}
	if finished(job) {
		return exit.Environment(cluster.Launcher, again, "%s; no further pod follows", s.Text)
	}
	return nil
}

// mayRecover reports whether results that could not be collected may be collected later: their pod has not ended, but
// its node or the network does not answer. The collection from a lost pod ends with ctx.
func (f *follower) mayRecover(ctx context.Context, p *corev1.Pod, err error) bool {
	if f.Attempts == 0 || ctx.Err() != nil || isLocal(err) {
		return false
	}
	now, gone := f.cluster.Client.CoreV1().Pods(f.Namespace).Get(ctx, p.Name, metav1.GetOptions{})
	return gone != nil || f.judge(now).Phase != Ended
}
