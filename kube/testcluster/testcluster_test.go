package testcluster

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/remotecommand"
)

func TestMain(m *testing.M) { Main(m) }

const image = "example/shell:1"

func podOf(name, script string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever,
		Containers: []corev1.Container{{Name: "main", Image: image, Command: []string{"/bin/sh", "-c", script},
			Env: []corev1.EnvVar{{Name: "POD", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{
				FieldPath: "metadata.name"}}}},
			VolumeMounts: []corev1.VolumeMount{{Name: "config", MountPath: "/config"}, {Name: "data", MountPath: "/requests"}}}},
		Volumes: []corev1.Volume{
			{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
				LocalObjectReference: corev1.LocalObjectReference{Name: "config"}}}},
			{Name: "data", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}}}
}

func (c *Cluster) phase(name string, want corev1.PodPhase) (*corev1.Pod, func(ctx context.Context) error) {
	got := new(corev1.Pod)
	return got, func(ctx context.Context) error {
		p, err := c.admin.CoreV1().Pods("default").Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		*got = *p
		if p.Status.Phase != want {
			return fmt.Errorf("phase %s, want %s: %+v", p.Status.Phase, want, p.Status.ContainerStatuses)
		}
		return nil
	}
}

// TestPods checks that pods behave as on a real node: volumes, tokens, logs, exec, exit codes, an unknown image,
// deletion.
func TestPods(t *testing.T) {
	c := Start(t)
	c.Node("node-1", Image{Name: image})
	ctx := t.Context()
	core := c.Client().CoreV1()
	_, err := core.ConfigMaps("default").Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "config"},
		Data: map[string]string{"greeting": "hello"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c.Eventually(time.Minute, "the service account exists", func(ctx context.Context) error {
		_, err := core.ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{})
		return err
	})
	for name, script := range map[string]string{
		"ends": `cat /config/greeting; echo " $POD"; cd /var/run/secrets/kubernetes.io/serviceaccount
			test -s token && id -u; exit 3`,
		"stays": `echo up; trap 'exit 0' TERM; while :; do sleep 0.1; done`,
	} {
		if _, err := core.Pods("default").Create(ctx, podOf(name, script), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	foreign := podOf("foreign", "true")
	foreign.Spec.Containers[0].Image = "example/unknown"
	if _, err := core.Pods("default").Create(ctx, foreign, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}

	pod, failed := c.phase("ends", corev1.PodFailed)
	c.Eventually(time.Minute, "the pod ends", failed)
	if code := pod.Status.ContainerStatuses[0].State.Terminated.ExitCode; code != 3 {
		t.Errorf("exit code %d, want 3", code)
	}
	log, err := core.Pods("default").GetLogs("ends", &corev1.PodLogOptions{}).DoRaw(ctx)
	if err != nil || string(log) != "hello ends\n1000650000\n" {
		t.Errorf("log %q, %v", log, err)
	}

	_, running := c.phase("stays", corev1.PodRunning)
	c.Eventually(time.Minute, "the pod runs", running)
	out, code, err := c.run(ctx, "stays", strings.NewReader("from stdin"), "/bin/sh", "-c",
		"cat >/requests/x; cat /requests/x; exit 7")
	if err != nil || code != 7 || out != "from stdin" {
		t.Errorf("exec: %q, code %d, %v", out, code, err)
	}
	if err := core.Pods("default").Delete(ctx, "stays", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.Eventually(30*time.Second, "the pod is gone", func(ctx context.Context) error {
		if _, err := core.Pods("default").Get(ctx, "stays", metav1.GetOptions{}); err == nil {
			return fmt.Errorf("it is still there")
		}
		return nil
	})

	pod, pending := c.phase("foreign", corev1.PodPending)
	c.Eventually(time.Minute, "the image is missed", func(ctx context.Context) error {
		if err := pending(ctx); err != nil {
			return err
		}
		if len(pod.Status.ContainerStatuses) == 0 || pod.Status.ContainerStatuses[0].State.Waiting.Reason != "ErrImagePull" {
			return fmt.Errorf("status %+v", pod.Status)
		}
		return nil
	})
}

// run executes a command in a pod through the API server.
func (c *Cluster) run(ctx context.Context, pod string, in io.Reader, command ...string) (out string, code int,
	err error) {
	request := c.admin.CoreV1().RESTClient().Post().Resource("pods").Namespace("default").Name(pod).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{Container: "main", Command: command, Stdin: true, Stdout: true, Stderr: true},
			scheme.ParameterCodec)
	e, err := remotecommand.NewWebSocketExecutor(c.Admin(), "GET", request.URL().String())
	if err != nil {
		return "", 0, err
	}
	var stdout, stderr bytes.Buffer
	err = e.StreamWithContext(ctx, remotecommand.StreamOptions{Stdin: in, Stdout: &stdout, Stderr: &stderr})
	if exit, ok := err.(interface{ ExitStatus() int }); ok {
		return stdout.String(), exit.ExitStatus(), nil
	}
	return stdout.String() + stderr.String(), 0, err
}
