package launch

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mlperf-go/mlperf-go/kube/cluster"
)

func podWith(change func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "pod"},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "harness"}}}}
	p.Status.Phase = corev1.PodPending
	change(p)
	return p
}

func waitingFor(reason string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "harness", State: corev1.ContainerState{
			Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: "because\x1b[31m"}}}}
	}
}

func ended(reason string, code, signal int32) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Phase = corev1.PodFailed
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "harness", State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{Reason: reason, ExitCode: code, Signal: signal}}}}
	}
}

func unschedulable(since time.Time, why string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse,
			Reason: "Unschedulable", Message: "0/3 nodes" + why, LastTransitionTime: metav1.NewTime(since)}}
	}
}

// TestJudge lists the judgement of each status of a pod.
func TestJudge(t *testing.T) {
	now := time.Now()
	for name, c := range map[string]struct {
		change func(*corev1.Pod)
		want   State
		text   string
	}{
		"new":       {func(*corev1.Pod) {}, State{Phase: Waiting}, ""},
		"running":   {func(p *corev1.Pod) { p.Status.Phase = corev1.PodRunning }, State{Phase: Running}, ""},
		"succeeded": {func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }, State{Phase: Ended}, ""},
		"exit 0":    {ended("Completed", 0, 0), State{Phase: Ended}, ""},
		"exit 1":    {ended("Error", 1, 0), State{Phase: Ended, Exit: 1}, ""},
		"killed":    {ended("Error", 137, 9), State{Phase: Failed, Class: cluster.Launcher}, "SIGKILL"},
		"memory":    {ended("OOMKilled", 137, 9), State{Phase: Failed, Class: cluster.Launcher}, "raise --memory"},
		"evicted": {func(p *corev1.Pod) { p.Status.Phase, p.Status.Reason = corev1.PodFailed, "Evicted" },
			State{Phase: Failed, Class: cluster.Launcher}, "evicted"},
		"deadline": {func(p *corev1.Pod) { p.Status.Phase, p.Status.Reason = corev1.PodFailed, "DeadlineExceeded" },
			State{Phase: Failed, Class: cluster.Timeout}, "--wait"},
		"deleted": {func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: now} },
			State{Phase: Failed, Class: cluster.Launcher}, "deleted"},
		"disrupted": {func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue,
				Reason: "PreemptionByScheduler"}}
		}, State{Phase: Failed, Class: cluster.Launcher}, "a higher priority took its place (PreemptionByScheduler)"},
		"image":         {waitingFor("ImagePullBackOff"), State{Phase: Broken, Class: cluster.Launcher}, "--pull-secret"},
		"configuration": {waitingFor("CreateContainerConfigError"), State{Phase: Broken, Class: cluster.Launcher}, "Secret"},
		"name":          {waitingFor("InvalidImageName"), State{Phase: Broken, Class: cluster.Launcher}, "--image"},
		"loop":          {waitingFor("CrashLoopBackOff"), State{Phase: Failed, Class: cluster.Launcher}, "ends repeatedly"},
		"creating":      {waitingFor("ContainerCreating"), State{Phase: Waiting}, ""},
		"no node yet":   {unschedulable(now.Add(-time.Minute), ""), State{Phase: Waiting}, "0/3 nodes"},
		"no node": {unschedulable(now.Add(-3*time.Minute), ""), State{Phase: Broken, Class: cluster.Scheduling},
			"0/3 nodes"},
		"no volume": {unschedulable(now.Add(-3*time.Minute), ": pod has unbound immediate PersistentVolumeClaims"),
			State{Phase: Broken, Class: cluster.Scheduling}, "Name a --storage-class that offers ReadWriteMany"},
	} {
		t.Run(name, func(t *testing.T) {
			got := Judge(podWith(c.change), now)
			require.Contains(t, got.Text, c.text)
			require.NotContains(t, got.Text, "\x1b", "foreign text is quoted")
			require.Equal(t, c.want.Phase == Broken, CannotStart(fmt.Errorf("outside: %w", got.AsError())))
			got.Text = ""
			require.Equal(t, c.want, got)
		})
	}
}
