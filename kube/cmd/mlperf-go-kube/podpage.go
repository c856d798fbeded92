package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mlperf-go/mlperf-go/internal/crash"
	"github.com/mlperf-go/mlperf-go/kube/cluster"
	"github.com/mlperf-go/mlperf-go/kube/objects"
	"github.com/mlperf-go/mlperf-go/report/live"
)

// dialEvery is the time between two attempts to reach a page in a pod.
const dialEvery = time.Second

// podPage reaches the live page of a launch of one pod, at a socket in whichever pod runs.
type podPage struct {
	ctx     context.Context // of the connections
	cluster *cluster.Cluster
	launch  *objects.Launch
	dialed  time.Time
}

// followPod shows the page of a launch on a page here until the returned function is called.
func followPod(ctx context.Context, s *live.Server, c *cluster.Cluster, l *objects.Launch) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	p := &podPage{ctx: ctx, cluster: c, launch: l}
	go func() {
		defer crash.Catch()
		defer close(done)
		s.Follow(ctx, &http.Client{Transport: &http.Transport{DialContext: p.dial, DisableKeepAlives: true}})
	}()
	return func() { cancel(); <-done }
}

// dial connects to the socket through `worker connect` in the pod.
func (p *podPage) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	select {
	case <-time.After(time.Until(p.dialed.Add(dialEvery))):
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	p.dialed = time.Now()
	pods, err := p.cluster.Client.CoreV1().Pods(p.launch.Namespace).List(ctx, metav1.ListOptions{
		LabelSelector: p.launch.Selector()})
	if err != nil {
		return nil, err
	}
	for i := range pods.Items {
		if pods.Items[i].Status.Phase == corev1.PodRunning {
			return p.connect(pods.Items[i].Name), nil
		}
	}
	return nil, errors.New("no pod runs")
}

func (p *podPage) connect(pod string) net.Conn {
	here, there := net.Pipe()
	go func() {
		defer crash.Catch()
		defer there.Close()
		_ = p.cluster.Exec(p.ctx, p.launch.Namespace, pod, objects.Container,
			[]string{objects.Program, "worker", "connect", objects.PageSocket}, there, there) // its end ends the connection
	}()
	return here
}
