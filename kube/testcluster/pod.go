package testcluster

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// pod is one pod on a node, from its start to its end.
type pod struct {
	node   *Node
	spec   *corev1.Pod
	dir    string
	ctx    context.Context
	cancel context.CancelFunc

	mu         sync.Mutex
	containers []*container // one per container of the specification, in its order
	deleted    bool
	finished   bool
	evicted    string // the message of an eviction
	reason     string // why the containers were killed
}

func newPod(ctx context.Context, n *Node, spec *corev1.Pod) *pod {
	p := &pod{node: n, spec: spec, dir: filepath.Join(n.dir, string(spec.UID))}
	p.ctx, p.cancel = context.WithCancel(ctx)
	return p
}

// run runs the init containers in sequence, then all containers, and reports each change.
func (p *pod) run() {
	defer p.cancel()
	if waiting, message := p.prepare(); waiting != "" {
		p.report(corev1.PodPending, p.waiting(waiting, message))
		<-p.ctx.Done()
		p.finishDeletion()
		return
	}
	for i := range p.spec.Spec.InitContainers {
		c := p.container(&p.spec.Spec.InitContainers[i])
		if err := c.start(); err == nil {
			c.wait()
		}
		if c.code != 0 {
			p.report(corev1.PodFailed, nil)
			p.finishDeletion()
			return
		}
	}
	p.runContainers()
	p.finishDeletion()
}

// prepare returns why the pod cannot start: a kubelet's reason and a message.
func (p *pod) prepare() (reason, message string) {
	for _, c := range append(p.spec.Spec.InitContainers[:len(p.spec.Spec.InitContainers):len(p.spec.Spec.InitContainers)],
		p.spec.Spec.Containers...) {
		if _, ok := p.node.images[c.Image]; !ok {
			return "ErrImagePull", fmt.Sprintf("image %q is not on the node", c.Image)
		}
	}
	if err := p.makeVolumes(); err != nil {
		return "CreateContainerConfigError", err.Error()
	}
	for i := range p.spec.Spec.Containers {
		if _, err := p.environment(&p.spec.Spec.Containers[i]); err != nil {
			return "CreateContainerConfigError", err.Error()
		}
	}
	return "", ""
}

func (p *pod) runContainers() {
	for i := range p.spec.Spec.Containers {
		p.mu.Lock()
		p.containers = append(p.containers, p.container(&p.spec.Spec.Containers[i]))
		p.mu.Unlock()
	}
	for _, c := range p.containers {
		if err := c.start(); err != nil {
			c.fail(err)
		}
	}
	p.mu.Lock()
	if p.deleted || p.evicted != "" { // terminate was called before the start
		p.signalAll()
	}
	p.mu.Unlock()
	p.report(corev1.PodRunning, p.current())
	var running sync.WaitGroup
	for i := range p.containers {
		running.Go(func() { p.supervise(i) })
	}
	running.Wait()
	failed := false
	for _, c := range p.containers {
		failed = failed || c.code != 0
	}
	phase := corev1.PodSucceeded
	if failed || p.evicted != "" {
		phase = corev1.PodFailed
	}
	if p.node.isLost(p.ctx) {
		return
	}
	p.report(phase, p.current())
}

func (n *Node) isLost(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return true
	default:
		return false
	}
}

func (p *pod) container(spec *corev1.Container) *container {
	return &container{pod: p, spec: spec, done: make(chan struct{}), log: filepath.Join(p.dir, spec.Name+".log")}
}

// terminate asks the containers to end, and kills them after the grace period.
func (p *pod) terminate() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.deleted {
		return
	}
	p.deleted = true
	if p.finished {
		go p.remove() // not in the watch's own goroutine
		return
	}
	p.signalAll()
	if len(p.containers) == 0 {
		p.cancel()
		return
	}
	grace := 30 * time.Second
	if s := p.spec.Spec.TerminationGracePeriodSeconds; s != nil {
		grace = time.Duration(*s) * time.Second
	}
	time.AfterFunc(grace, p.kill)
}

func (p *pod) signalAll() {
	for _, c := range p.containers {
		c.terminate()
	}
}

func (p *pod) kill() { p.killWith("") }

func (p *pod) killWith(reason string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reason = reason
	for _, c := range p.containers {
		c.kill()
	}
	if len(p.containers) == 0 {
		p.cancel()
	}
}

func (p *pod) evict(message string) {
	p.mu.Lock()
	p.evicted = message
	p.mu.Unlock()
	p.kill()
}

// finishDeletion removes a deleted pod from the API server once its containers have ended. A pod that ended by itself
// stays there with its logs until a user deletes it.
func (p *pod) finishDeletion() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.finished = true
	if p.deleted {
		p.remove()
	}
}

func (p *pod) remove() {
	zero := int64(0)
	uid := p.spec.UID
	p.node.client.CoreV1().Pods(p.spec.Namespace).Delete(context.Background(), p.spec.Name, metav1.DeleteOptions{
		GracePeriodSeconds: &zero, Preconditions: &metav1.Preconditions{UID: &uid}})
}

func (p *pod) waiting(reason, message string) []corev1.ContainerStatus {
	var all []corev1.ContainerStatus
	for _, c := range p.spec.Spec.Containers {
		all = append(all, corev1.ContainerStatus{Name: c.Name, Image: c.Image, State: corev1.ContainerState{
			Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}})
	}
	return all
}

func (p *pod) current() []corev1.ContainerStatus {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []corev1.ContainerStatus
	for _, c := range p.containers {
		all = append(all, c.status(p.reason))
	}
	return all
}

// report writes the status of the pod. It keeps conditions that others set, such as PodScheduled.
func (p *pod) report(phase corev1.PodPhase, containers []corev1.ContainerStatus) {
	pods := p.node.client.CoreV1().Pods(p.spec.Namespace)
	for range 10 {
		now, err := pods.Get(p.ctx, p.spec.Name, metav1.GetOptions{})
		if err != nil || now.UID != p.spec.UID {
			return
		}
		started := metav1.Now()
		if now.Status.StartTime == nil {
			now.Status.StartTime = &started
		}
		now.Status.Phase, now.Status.ContainerStatuses = phase, containers
		now.Status.HostIP, now.Status.PodIP = "127.0.0.1", "127.0.0.1"
		if p.evicted != "" {
			now.Status.Reason, now.Status.Message = "Evicted", p.evicted
		}
		ready := corev1.ConditionFalse
		if phase == corev1.PodRunning && allReady(containers) {
			ready = corev1.ConditionTrue
		}
		conditions := map[corev1.PodConditionType]corev1.ConditionStatus{
			corev1.PodInitialized: corev1.ConditionTrue, corev1.PodReady: ready, corev1.ContainersReady: ready}
		if p.evicted != "" {
			conditions[corev1.DisruptionTarget] = corev1.ConditionTrue // as a kubelet does
		}
		setConditions(&now.Status, conditions)
		if _, err = pods.UpdateStatus(p.ctx, now, metav1.UpdateOptions{}); err == nil {
			return
		}
	}
}

func allReady(containers []corev1.ContainerStatus) bool {
	for _, c := range containers {
		if !c.Ready {
			return false
		}
	}
	return true
}

func setConditions(status *corev1.PodStatus, values map[corev1.PodConditionType]corev1.ConditionStatus) {
	left := maps.Clone(values)
	for i := range status.Conditions {
		c := &status.Conditions[i]
		if v, ok := left[c.Type]; ok {
			if c.Status != v {
				c.Status, c.LastTransitionTime = v, metav1.Now()
			}
			delete(left, c.Type)
		}
	}
	for kind, v := range left {
		status.Conditions = append(status.Conditions, corev1.PodCondition{Type: kind, Status: v,
			LastTransitionTime: metav1.Now()})
	}
}
