package serve

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mlperf-go/mlperf-go/kube/cluster"
	"github.com/mlperf-go/mlperf-go/kube/objects"
	"github.com/mlperf-go/mlperf-go/run/exit"
)

// pod returns the pod of a server with one container in a state.
func pod(phase corev1.PodPhase, c corev1.ContainerStatus) *corev1.Pod {
	c.Name = objects.ServerContainer
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"},
		Spec:   corev1.PodSpec{Containers: []corev1.Container{{Name: objects.ServerContainer}}},
		Status: corev1.PodStatus{Phase: phase, ContainerStatuses: []corev1.ContainerStatus{c}}}
}

func waiting(reason, message string) corev1.ContainerStatus {
	return corev1.ContainerStatus{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason,
		Message: message}}}
}

func restarted(n, code int32, reason string) corev1.ContainerStatus {
	c := waiting("CrashLoopBackOff", "back-off")
	c.RestartCount = n
	c.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason}
	return c
}

// TestJudge lists the states of a pod with their sentence, and which of them are final.
func TestJudge(t *testing.T) {
	now := time.Now()
	nowhere := pod(corev1.PodPending, corev1.ContainerStatus{})
	nowhere.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse,
		Message: "0/3 nodes are available: 3 Insufficient nvidia.com/gpu.", LastTransitionTime: metav1.NewTime(now)}}
	forever := nowhere.DeepCopy()
	forever.Status.Conditions[0].LastTransitionTime = metav1.NewTime(now.Add(-time.Hour))
	evicted := pod(corev1.PodFailed, corev1.ContainerStatus{})
	evicted.Status.Reason = "Evicted"
	for name, e := range map[string]struct {
		pod  *corev1.Pod
		want state
	}{
		"image": {pod(corev1.PodPending, waiting("ImagePullBackOff", "no such image")), state{fatal: true,
			class: cluster.Launcher,
			text:  "p: the pod cannot start (ImagePullBackOff): no such image. Check --image and --pull-secret"}},
		"secret": {pod(corev1.PodPending, waiting("CreateContainerConfigError", `secret "hf" not found`)), state{fatal: true,
			class: cluster.Launcher, text: `p: the pod cannot start (CreateContainerConfigError): secret "hf" not found. ` +
				"Create the Secret, the ConfigMap or the claim that the message names"}},
		"no node": {nowhere, state{
			text: "p: no node accepts the pod: 0/3 nodes are available: 3 Insufficient nvidia.com/gpu."}},
		"no node for long": {forever, state{fatal: true, class: cluster.Scheduling,
			text: "p: no node accepts the pod: 0/3 nodes are available: 3 Insufficient nvidia.com/gpu."}},
		"loads":   {pod(corev1.PodRunning, corev1.ContainerStatus{}), state{text: "p: the server is starting"}},
		"evicted": {evicted, state{text: "p: its node evicted it; another pod follows"}},
		"ended once": {pod(corev1.PodRunning, restarted(1, 3, "Error")),
			state{text: "p: the server ended with code 3, and is started again"}},
		"ended twice": {pod(corev1.PodRunning, restarted(2, 3, "Error")), state{fatal: true, crashed: true,
			class: cluster.Launcher, text: "p: the server ended with code 3, 2 times"}},
		"memory": {pod(corev1.PodRunning, restarted(2, 137, "OOMKilled")), state{fatal: true, crashed: true,
			class: cluster.Launcher,
			text:  "p: the server ended with code 137: it needed more than its memory; raise --memory, 2 times"}},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, e.want, judge(e.pod, now)) })
	}
}

// TestRefused reports pods that a quota or a policy rejects, if that lasts.
func TestRefused(t *testing.T) {
	now := time.Now()
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "d"}, Status: appsv1.DeploymentStatus{
		Conditions: []appsv1.DeploymentCondition{{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue,
			Message: "pods are forbidden: exceeded quota", LastTransitionTime: metav1.NewTime(now)}}}}
	require.NoError(t, refused(d, now.Add(time.Second)))
	err := refused(d, now.Add(time.Minute))
	require.ErrorContains(t, err, "the cluster refuses the pods of d: pods are forbidden: exceeded quota")
	require.Equal(t, cluster.Quota, exit.Classify(err).Code)
}

// TestQuote hides secrets and control characters of a log, and bounds it.
func TestQuote(t *testing.T) {
	got := quote("one\x1b[2J\nHF_TOKEN=hf_abcdefghijklmnop\n")
	require.NotContains(t, got, "\x1b")
	require.NotContains(t, got, "abcdefgh")
	require.True(t, strings.HasPrefix(got, "  | one"), got)
	require.Equal(t, logLines, strings.Count(quote(strings.Repeat("x\n", 100)), "|"))
}
