package snapshot

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/mlperf-go/mlperf-go/internal/foreign"
)

// nodes keeps the state of the nodes on which the pods run. A user without a right in the whole cluster may not see
// them.
func (t *taker) nodes(ctx context.Context, pods []corev1.Pod) {
	seen := map[string]bool{"": true}
	var found []unstructured.Unstructured
	for i := range pods {
		name := pods[i].Spec.NodeName
		if seen[name] {
			continue
		}
		seen[name] = true
		node, err := t.cluster.Dynamic.Resource(schema.GroupVersionResource{Version: "v1", Resource: "nodes"}).Get(ctx, name,
			metav1.GetOptions{})
		if err != nil {
			t.note("the state of the node "+name, err)
			break // others fail for the same reason
		}
		found = append(found, *node)
	}
	t.keep("node", found, nil)
}

// logs keeps the logs of a pod's containers, and of their runs before a restart.
func (t *taker) logs(ctx context.Context, p *corev1.Pod) {
	for _, s := range append(p.Status.InitContainerStatuses, p.Status.ContainerStatuses...) {
		name := path.Base(p.Name) + "_" + path.Base(s.Name)
		if s.RestartCount > 0 {
			t.log(ctx, p, s.Name, name+".previous.log", true)
		}
		t.log(ctx, p, s.Name, name+".log", false)
	}
}

func (t *taker) log(ctx context.Context, p *corev1.Pod, container, name string, previous bool) {
	what := fmt.Sprintf("the log of the container %s of the pod %s", container, p.Name)
	if t.left <= 0 {
		t.Notify(fmt.Sprintf("%s is left out: all logs together have %d MiB", what, mostLogs>>20))
		return
	}
	file, err := t.root.OpenFile(path.Join(LogsFolder, name), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		t.note(what, err)
		return
	}
	to := foreign.Writer(file, t.Secrets.Text)
	most := min(mostLog, t.left)
	counted := &counter{to: to}
	err = t.cluster.LogsSince(ctx, t.Namespace, p.Name, container, previous, t.Since, most, counted)
	if err = cmp.Or(err, to.Flush(), file.Close()); err != nil {
		t.note(what, err)
	}
	if t.left -= counted.n; counted.n == most {
		t.Notify(fmt.Sprintf("%s is kept without its end: it has more than %d MiB", what, most>>20))
	}
}

// counter counts the bytes that it passes on.
type counter struct {
	to io.Writer
	n  int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.to.Write(p)
	c.n += int64(n)
	return n, err
}
