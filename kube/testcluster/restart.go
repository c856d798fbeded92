package testcluster

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// previousLog is the suffix of the log of a container's previous run.
const previousLog = ".previous"

// Delays of restarts: a kubelet waits from 10 s to 5 min.
const (
	firstBackoff = time.Second
	maxBackoff   = 5 * time.Second
)

// supervise waits for the end of a container and starts it again if the pod's policy requires it. It returns after the
// last end.
func (p *pod) supervise(i int) {
	for backoff := firstBackoff; ; backoff = min(2*backoff, maxBackoff) {
		c := p.containers[i]
		ctx, stop := context.WithCancel(p.ctx)
		go p.probe(ctx, c)
		c.wait()
		stop()
		if p.spec.Spec.RestartPolicy != corev1.RestartPolicyAlways || !p.restart(i, backoff) {
			return
		}
	}
}

// restart starts a container again after a delay. It returns false if the pod is to end.
func (p *pod) restart(i int, backoff time.Duration) bool {
	old := p.containers[i]
	os.Rename(old.log, old.log+previousLog)
	next := p.container(old.spec)
	p.mu.Lock()
	if p.deleted || p.evicted != "" {
		p.mu.Unlock()
		return false
	}
	next.restarts, next.last = old.restarts+1, old.terminated(p.reason)
	p.reason, p.containers[i] = "", next
	p.mu.Unlock()
	p.report(corev1.PodRunning, p.current())
	select {
	case <-p.ctx.Done():
	case <-time.After(backoff):
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.deleted || p.evicted != "" || p.ctx.Err() != nil {
		next.fail(fmt.Errorf("the pod ended before its restart"))
		return false
	}
	if err := next.start(); err != nil {
		next.fail(err)
	}
	go func() { p.report(corev1.PodRunning, p.current()) }() // it takes the lock
	return true
}

// probe runs a container's probes, and reports when its readiness changes. It kills a container whose startup probe
// fails too often. It supports only HTTP probes.
func (p *pod) probe(ctx context.Context, c *container) {
	if c.spec.ReadinessProbe == nil {
		return
	}
	if startup := c.spec.StartupProbe; startup != nil {
		for failures := int32(0); !answers(ctx, c, startup); {
			if failures++; failures >= startup.FailureThreshold {
				c.kill()
				return
			}
			if !sleep(ctx, startup) {
				return
			}
		}
	}
	for {
		ready := answers(ctx, c, c.spec.ReadinessProbe)
		p.mu.Lock()
		changed := c.ready != ready
		c.ready = ready
		p.mu.Unlock()
		if ctx.Err() == nil && changed {
			p.report(corev1.PodRunning, p.current())
		}
		if !sleep(ctx, c.spec.ReadinessProbe) {
			return
		}
	}
}

// sleep waits for the next probe; it returns false at the end of ctx.
func sleep(ctx context.Context, probe *corev1.Probe) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(time.Duration(max(1, probe.PeriodSeconds)) * time.Second):
		return true
	}
}

func answers(ctx context.Context, c *container, probe *corev1.Probe) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(max(1, probe.TimeoutSeconds))*time.Second)
	defer cancel()
	port := probe.HTTPGet.Port.IntValue()
	for _, named := range c.spec.Ports {
		if named.Name == probe.HTTPGet.Port.StrVal {
			port = int(named.ContainerPort)
		}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet,
		fmt.Sprintf("http://127.0.0.1:%d%s", port, probe.HTTPGet.Path), nil)
	if err != nil {
		return false
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	answer.Body.Close()
	return answer.StatusCode >= 200 && answer.StatusCode < 400
}
