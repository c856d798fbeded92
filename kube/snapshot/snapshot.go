package snapshot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/mlperf-go/mlperf-go/internal/foreign"
	"github.com/mlperf-go/mlperf-go/internal/secret"
	"github.com/mlperf-go/mlperf-go/kube/cluster"
	"github.com/mlperf-go/mlperf-go/kube/target"
)

// Names of the folders within the results.
const (
	LogsFolder  = "server-logs"
	StateFolder = "cluster"
)

// Bounds of a snapshot.
const (
	longest   = time.Minute
	mostPods  = 64
	mostState = 8 << 20  // bytes of the objects of a kind
	mostLog   = 8 << 20  // bytes of the log of a container
	mostLogs  = 64 << 20 // bytes of all logs
)

// Options are a snapshot.
type Options struct {
	Namespace string           // of the servers
	Target    *target.Target   // whose pods' logs are kept; nil: it is unknown which pods serve
	Folder    string           // of the run's results
	Since     time.Time        // start of the run; older lines of the logs are left out
	Secrets   *secret.Redactor // further secrets; nil: those that the objects show
	Notify    func(string)
}

// taker takes one snapshot.
type taker struct {
	Options
	cluster *cluster.Cluster
	root    *os.Root
	left    int64 // bytes of all logs that may still be written
}

// Take writes the objects of the namespace into StateFolder, a file for each kind, and the logs of the pods that serve
// into LogsFolder, a file for each container.
func Take(ctx context.Context, c *cluster.Cluster, o Options) {
	ctx, stop := context.WithTimeoutCause(ctx, longest, errors.New("a snapshot of the cluster may take a minute"))
	defer stop()
	if o.Secrets == nil {
		o.Secrets = &secret.Redactor{}
	}
	t := &taker{Options: o, cluster: c, left: mostLogs}
	if err := t.open(); err != nil {
		o.Notify("the state of the cluster cannot be kept: " + err.Error())
		return
	}
	defer t.root.Close()
	for _, k := range target.Kinds() {
		items, err := c.List(ctx, k.Versions, o.Namespace, "")
		t.keep(k.Name, items, err)
	}
	if o.Target == nil {
		return
	}
	pods, err := o.Target.Pods(ctx, c)
	if err != nil {
		t.note("the pods of "+o.Target.Name, err)
	}
	if more := len(pods) - mostPods; more > 0 {
		o.Notify(fmt.Sprintf("the logs of %d more pods are left out", more))
		pods = pods[:mostPods]
	}
	t.nodes(ctx, pods)
	for i := range pods {
		t.logs(ctx, &pods[i])
	}
}

func (t *taker) open() (err error) {
	if err = os.MkdirAll(t.Folder, 0o700); err != nil {
		return err
	}
	if t.root, err = os.OpenRoot(t.Folder); err != nil {
		return err
	}
	for _, folder := range []string{LogsFolder, StateFolder} {
		err = errors.Join(err, t.root.MkdirAll(folder, 0o700))
	}
	return err
}

func (t *taker) note(what string, err error) {
	t.Notify(foreign.Line(t.Secrets.Text(fmt.Sprintf("%s: not kept: %v", what, err)), 400))
}

// keep writes the objects of a kind. Its secrets are registered, so that logs do not show them either.
func (t *taker) keep(kind string, items []unstructured.Unstructured, err error) {
	if err != nil {
		t.note("the state of each "+kind, err)
		return
	}
	var text bytes.Buffer
	for i := range items {
		document, err := yaml.Marshal(clean(items[i].Object, t.Secrets))
		if err != nil {
			t.note(fmt.Sprintf("the state of the %s %s", kind, items[i].GetName()), err)
			continue
		}
		if text.Len()+len(document) > mostState {
			t.Notify(fmt.Sprintf("the state of %d more objects of the kind %s is left out", len(items)-i, kind))
			break
		}
		text.WriteString("---\n")
		text.Write(document)
	}
	if text.Len() == 0 {
		return
	}
	if err := t.root.WriteFile(StateFolder+"/"+kind+".yaml", text.Bytes(), 0o600); err != nil {
		t.note("the state of each "+kind, err)
	}
}
