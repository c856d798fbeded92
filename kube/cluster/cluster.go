package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/remotecommand"

	"github.com/mlperf-go/mlperf-go/kube/objects"
	"github.com/mlperf-go/mlperf-go/run/exit"
)

// FieldManager is the name under which the API server records who set a field.
const FieldManager = "mlperf-go"

// Cluster is the access to one cluster with the rights of one user.
type Cluster struct {
	config  *rest.Config
	Client  kubernetes.Interface
	Dynamic dynamic.Interface
	// Namespace of the kubeconfig's context.
	Namespace string
}

// Connect reads a kubeconfig (empty: KUBECONFIG, the file in the home folder, or the service account of a pod) and
// selects a context of it (empty: the current one). It does not contact the cluster.
func Connect(kubeconfig, name string) (*Cluster, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules,
		&clientcmd.ConfigOverrides{CurrentContext: name})
	config, err := loader.ClientConfig()
	if err != nil {
		return nil, exit.Environment(Access, "Name a kubeconfig with --kubeconfig, and one of its contexts with --context",
			"no access to a cluster: %w", err)
	}
	c, err := New(config)
	if err != nil {
		return nil, err
	}
	c.Namespace, _, err = loader.Namespace()
	return c, err
}

// New returns the access that a configuration describes.
func New(config *rest.Config) (*Cluster, error) {
	config = rest.CopyConfig(config)
	// The default of 5 requests a second would delay a launch of many pods in the client.
	config.QPS, config.Burst = 50, 100
	config.UserAgent = FieldManager
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	dyn, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return &Cluster{config: config, Client: client, Dynamic: dyn, Namespace: metav1.NamespaceDefault}, nil
}

// resources are the kinds for Apply and Delete. The table saves a discovery request at each start.
var resources = map[string]struct {
	schema.GroupVersionResource
	global bool
}{
	"Namespace":             {resource("", "v1", "namespaces"), true},
	"ServiceAccount":        {resource("", "v1", "serviceaccounts"), false},
	"PersistentVolumeClaim": {resource("", "v1", "persistentvolumeclaims"), false},
	"ConfigMap":             {resource("", "v1", "configmaps"), false},
	"Service":               {resource("", "v1", "services"), false},
	"Pod":                   {resource("", "v1", "pods"), false},
	"Job":                   {resource("batch", "v1", "jobs"), false},
	"Deployment":            {resource("apps", "v1", "deployments"), false},
	"Role":                  {resource("rbac.authorization.k8s.io", "v1", "roles"), false},
	"RoleBinding":           {resource("rbac.authorization.k8s.io", "v1", "rolebindings"), false},
}

func resource(group, version, name string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: group, Version: version, Resource: name}
}

func (c *Cluster) of(kind, namespace string) (dynamic.ResourceInterface, error) {
	r, ok := resources[kind]
	if !ok {
		return nil, fmt.Errorf("objects of kind %q are not supported", kind)
	}
	if r.global {
		return c.Dynamic.Resource(r.GroupVersionResource), nil
	}
	return c.Dynamic.Resource(r.GroupVersionResource).Namespace(namespace), nil
}

// Apply creates or changes an object and returns a reference to it, with which it can own others.
func (c *Cluster) Apply(ctx context.Context, o runtime.Object) (*metav1.OwnerReference, error) {
	u, err := objects.Unstructured(o)
	if err != nil {
		return nil, err
	}
	to, err := c.of(u.GetKind(), u.GetNamespace())
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(u)
	if err != nil {
		return nil, err
	}
	force := true
	got, err := to.Patch(ctx, u.GetName(), types.ApplyPatchType, text, metav1.PatchOptions{FieldManager: FieldManager,
		Force: &force})
	if err != nil {
		return nil, Explain(err, "creating the %s %s in the namespace %q", u.GetKind(), u.GetName(), u.GetNamespace())
	}
	return reference(got), nil
}

// ApplyShared applies objects that others may have made. A namespace that the user may not change is left as it is.
func (c *Cluster) ApplyShared(ctx context.Context, all []runtime.Object) error {
	for _, o := range all {
		if _, err := c.Apply(ctx, o); err != nil {
			if n, isNamespace := o.(*corev1.Namespace); isNamespace && c.namespaceExists(ctx, n.Name) {
				continue
			}
			return err
		}
	}
	return nil
}

// namespaceExists reports whether the service accounts of a namespace can be listed. Users without rights to namespaces
// can make this request.
func (c *Cluster) namespaceExists(ctx context.Context, name string) bool {
	_, err := c.Client.CoreV1().ServiceAccounts(name).List(ctx, metav1.ListOptions{Limit: 1})
	return err == nil
}

func reference(u *unstructured.Unstructured) *metav1.OwnerReference {
	return &metav1.OwnerReference{APIVersion: u.GetAPIVersion(), Kind: u.GetKind(), Name: u.GetName(), UID: u.GetUID()}
}

// Delete deletes an object and, in the background, what it owns. A missing one is no error.
func (c *Cluster) Delete(ctx context.Context, kind, namespace, name string) error {
	from, err := c.of(kind, namespace)
	if err != nil {
		return err
	}
	background := metav1.DeletePropagationBackground
	err = from.Delete(ctx, name, metav1.DeleteOptions{PropagationPolicy: &background})
	if isGone(err) {
		return nil
	}
	return Explain(err, "deleting the %s %s in the namespace %q", kind, name, namespace)
}

// List returns the objects of a namespace that a selector selects, of the first version that the cluster has; none
// where it has no version.
func (c *Cluster) List(ctx context.Context, versions []schema.GroupVersionResource, namespace, selector string) (
	[]unstructured.Unstructured, error) {
	for _, v := range versions {
		list, err := c.Dynamic.Resource(v).Namespace(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
		if err == nil {
			return list.Items, nil
		}
		if !isGone(err) {
			return nil, Explain(err, "listing the %s in the namespace %q", v.Resource, namespace)
		}
	}
	return nil, nil
}

// Exec runs a command in a container with the streams that are not nil. A command that ends with another code than 0 is
// an error with the last of what it wrote to its standard error.
func (c *Cluster) Exec(ctx context.Context, namespace, pod, container string, command []string, in io.Reader,
	out io.Writer) error {
	request := c.Client.CoreV1().RESTClient().Post().Resource("pods").Namespace(namespace).Name(pod).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{Container: container, Command: command, Stdin: in != nil, Stdout: out != nil,
			Stderr: true}, scheme.ParameterCodec)
	websocket, err := remotecommand.NewWebSocketExecutor(c.config, "GET", request.URL().String())
	if err != nil {
		return err
	}
	spdy, err := remotecommand.NewSPDYExecutor(c.config, "POST", request.URL())
	if err != nil {
		return err
	}
	e, err := remotecommand.NewFallbackExecutor(websocket, spdy, isUpgradeFailure)
	if err != nil {
		return err
	}
	var said lastBytes
	err = e.StreamWithContext(ctx, remotecommand.StreamOptions{Stdin: in, Stdout: out, Stderr: &said})
	if err != nil && said.String() != "" {
		err = fmt.Errorf("%w: %s", err, said.String())
	}
	return Explain(err, "running %q in the pod %s", strings.Join(command, " "), pod)
}

// Logs copies the log of a container. Pods that never started have none, which is an error.
func (c *Cluster) Logs(ctx context.Context, namespace, pod, container string, most int64, to io.Writer) error {
	return c.LogsSince(ctx, namespace, pod, container, false, time.Time{}, most, to)
}

// LogsSince copies the log of a container from a time on; with previous, of its last run before a restart.
func (c *Cluster) LogsSince(ctx context.Context, namespace, pod, container string, previous bool, since time.Time,
	most int64, to io.Writer) error {
	options := &corev1.PodLogOptions{Container: container, LimitBytes: &most, Previous: previous}
	if !since.IsZero() {
		options.SinceTime = &metav1.Time{Time: since}
	}
	stream, err := c.Client.CoreV1().Pods(namespace).GetLogs(pod, options).Stream(ctx)
	if err != nil {
		return Explain(err, "reading the log of the pod %s", pod)
	}
	defer stream.Close()
	_, err = io.Copy(to, io.LimitReader(stream, most))
	return err
}

// LastLines returns the end of the log of a container; with previous, of its
// last run before a restart.
func (c *Cluster) LastLines(ctx context.Context, namespace, pod, container string, previous bool, lines int64) (string,
	error) {
	const most = 1 << 20 // bytes; lines may be long
	text, err := c.Client.CoreV1().Pods(namespace).GetLogs(pod, &corev1.PodLogOptions{Container: container,
		Previous: previous, TailLines: &lines}).Stream(ctx)
	if err != nil {
		return "", Explain(err, "reading the log of the pod %s", pod)
	}
	defer text.Close()
	var last lastBytes
	_, err = io.Copy(&last, io.LimitReader(text, most))
	return last.String(), err
}

// Version asks the API server for its version, to notice a missing one early.
func (c *Cluster) Version(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	text, err := c.Client.Discovery().RESTClient().Get().AbsPath("/version").Do(ctx).Raw()
	if err != nil {
		return "", Explain(err, "asking %s for its version", c.config.Host)
	}
	var v struct {
		GitVersion string `json:"gitVersion"`
	}
	return v.GitVersion, json.Unmarshal(text, &v)
}
