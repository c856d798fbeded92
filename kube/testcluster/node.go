package testcluster

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// GPU is a resource of which each node offers 8. They are only numbers.
const GPU corev1.ResourceName = "nvidia.com/gpu"

// Image is what a container finds beside the host's /usr and /etc.
type Image struct {
	Name       string
	Entrypoint []string
	// Folders maps folders of the container to folders of the host. They must exist in the host's tree, like
	// /usr/local/bin.
	Folders map[string]string
}

// Node plays a kubelet: it registers a Node and runs the pods that the scheduler binds to it.
type Node struct {
	cluster *Cluster
	name    string
	dir     string
	client  *kubernetes.Clientset
	images  map[string]Image
	server  *nodeServer
	stop    context.CancelFunc

	mu   sync.Mutex
	pods map[types.UID]*pod
	wait sync.WaitGroup
}

// Node registers a node with the cluster and runs pods on it until the test ends, or Lose.
func (c *Cluster) Node(name string, images ...Image) *Node {
	c.t.Helper()
	return c.node(name, nil, images)
}

// Reserved registers a node that accepts only pods with a toleration for a taint with the key, and a label of that
// name: a test may lose it without the pods of others.
func (c *Cluster) Reserved(key, name string, images ...Image) *Node {
	c.t.Helper()
	return c.node(name, []corev1.Taint{{Key: key, Effect: corev1.TaintEffectNoSchedule}}, images)
}

func (c *Cluster) node(name string, taints []corev1.Taint, images []Image) *Node {
	c.t.Helper()
	n := &Node{cluster: c, name: name, dir: filepath.Join(c.dir, name), client: c.admin,
		images: map[string]Image{}, pods: map[types.UID]*pod{}}
	for _, i := range images {
		n.images[i.Name] = i
	}
	if err := os.MkdirAll(n.dir, 0o755); err != nil {
		c.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	n.stop = stop
	var err error
	if n.server, err = newNodeServer(n); err != nil {
		c.t.Fatal(err)
	}
	if err := n.register(ctx, taints); err != nil {
		c.t.Fatal(err)
	}
	c.mu.Lock()
	c.nodes = append(c.nodes, n)
	c.mu.Unlock()
	n.wait.Go(func() { n.beat(ctx) })
	n.wait.Go(func() { n.watch(ctx) })
	c.atEnd(func() {
		n.Lose()
		c.admin.CoreV1().Nodes().Delete(context.Background(), name, metav1.DeleteOptions{}) // else it is unhealthy
	})
	return n
}

// Lose ends the node as a power failure does, without a message to the API server: its containers are killed, and its
// lease is not renewed.
func (n *Node) Lose() {
	n.stop()
	n.mu.Lock()
	for _, p := range n.pods {
		p.kill()
	}
	n.mu.Unlock()
	n.server.close()
	n.wait.Wait()
}

func (n *Node) register(ctx context.Context, taints []corev1.Taint) error {
	capacity := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("64"),
		corev1.ResourceMemory: resource.MustParse("256Gi"), corev1.ResourcePods: resource.MustParse("200"),
		corev1.ResourceEphemeralStorage: resource.MustParse("100Gi"), GPU: resource.MustParse("8")}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.name, Labels: map[string]string{
		corev1.LabelHostname: n.name, corev1.LabelOSStable: "linux"}}}
	for _, t := range taints {
		node.Labels[t.Key] = ""
	}
	node.Spec.Taints = taints
	if _, err := n.client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
		return err
	}
	return n.updateNode(ctx, func(node *corev1.Node) {
		node.Status = corev1.NodeStatus{Capacity: capacity, Allocatable: capacity,
			Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "127.0.0.1"},
				{Type: corev1.NodeHostName, Address: n.name}},
			DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: n.server.port}},
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue,
				Reason: "KubeletReady", LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now()}}}
	})
}

// updateNode changes the status of the node. It retries, because the node controller changes the same object.
func (n *Node) updateNode(ctx context.Context, change func(*corev1.Node)) error {
	var err error
	for range 10 {
		var node *corev1.Node
		if node, err = n.client.CoreV1().Nodes().Get(ctx, n.name, metav1.GetOptions{}); err != nil {
			return err
		}
		change(node)
		if _, err = n.client.CoreV1().Nodes().UpdateStatus(ctx, node, metav1.UpdateOptions{}); err == nil {
			return nil
		}
	}
	return err
}

// beat renews the node's lease, as a kubelet does.
func (n *Node) beat(ctx context.Context) {
	leases := n.client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	for {
		now := metav1.NewMicroTime(time.Now())
		seconds := int32(5)
		lease, err := leases.Get(ctx, n.name, metav1.GetOptions{})
		if err == nil {
			lease.Spec.RenewTime = &now
			leases.Update(ctx, lease, metav1.UpdateOptions{})
		} else {
			leases.Create(ctx, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: n.name},
				Spec: coordinationv1.LeaseSpec{HolderIdentity: &n.name, LeaseDurationSeconds: &seconds, RenewTime: &now}},
				metav1.CreateOptions{})
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Second):
		}
	}
}

// watch runs the pods that are bound to the node, and ends deleted ones.
func (n *Node) watch(ctx context.Context) {
	source := cache.NewListWatchFromClient(n.client.CoreV1().RESTClient(), "pods", metav1.NamespaceAll,
		fields.OneTermEqualSelector("spec.nodeName", n.name))
	_, controller := cache.NewInformerWithOptions(cache.InformerOptions{ListerWatcher: source, ObjectType: &corev1.Pod{},
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc:    func(o any) { n.observe(ctx, o.(*corev1.Pod)) },
			UpdateFunc: func(_, o any) { n.observe(ctx, o.(*corev1.Pod)) },
			DeleteFunc: func(o any) { n.forget(o) },
		}})
	controller.RunWithContext(ctx)
}

func (n *Node) observe(ctx context.Context, spec *corev1.Pod) {
	n.mu.Lock()
	defer n.mu.Unlock()
	p := n.pods[spec.UID]
	if p == nil {
		if spec.Status.Phase == corev1.PodSucceeded || spec.Status.Phase == corev1.PodFailed {
			return
		}
		p = newPod(ctx, n, spec)
		n.pods[spec.UID] = p
		n.wait.Go(p.run)
	}
	if spec.DeletionTimestamp != nil {
		p.terminate()
	}
}

func (n *Node) forget(o any) {
	if late, ok := o.(cache.DeletedFinalStateUnknown); ok {
		o = late.Obj
	}
	spec, ok := o.(*corev1.Pod)
	if !ok {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if p := n.pods[spec.UID]; p != nil {
		p.kill()
		delete(n.pods, spec.UID)
		os.RemoveAll(p.dir)
	}
}

// find returns the running pod of a namespace and name.
func (n *Node) find(namespace, name string) (*pod, error) {
	if p := n.pod(namespace, name); p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("node %s runs no pod %s/%s", n.name, namespace, name)
}

// pod returns the running pod of a namespace and name; nil: the node runs none.
func (n *Node) pod(namespace, name string) *pod {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, p := range n.pods {
		if p.spec.Namespace == namespace && p.spec.Name == name {
			return p
		}
	}
	return nil
}

// Kill kills the containers of a pod with SIGKILL. With a reason, such as OOMKilled, the containers' status has it.
func (c *Cluster) Kill(namespace, name, reason string) {
	c.t.Helper()
	c.pod(namespace, name).killWith(reason)
}

// Evict ends a pod as a kubelet under pressure does: its status is Failed, for the reason Evicted.
func (c *Cluster) Evict(namespace, name, message string) {
	c.t.Helper()
	c.pod(namespace, name).evict(message)
}

// pod returns a running pod; without one it fails the test.
func (c *Cluster) pod(namespace, name string) *pod {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range c.nodes {
		if p := n.pod(namespace, name); p != nil {
			return p
		}
	}
	c.t.Fatalf("no node runs the pod %s/%s", namespace, name)
	return nil
}

func portOf(a net.Addr) (int32, error) {
	_, port, err := net.SplitHostPort(a.String())
	if err != nil {
		return 0, err
	}
	number, err := strconv.ParseInt(port, 10, 32)
	return int32(number), err
}
