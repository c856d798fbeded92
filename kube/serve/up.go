package serve

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mlperf-go/mlperf-go/kube/cluster"
	"github.com/mlperf-go/mlperf-go/kube/objects"
	"github.com/mlperf-go/mlperf-go/run/exit"
)

// poll is the time between two checks of the cluster.
const poll = time.Second

// Options are how a server is started.
type Options struct {
	objects.Server
	Wait   time.Duration // until every replica must be ready; 0: the server's Startup
	Keep   bool          // leave a server that does not become ready
	Notify func(string)  // receives a sentence for each change; nil: it is dropped
}

// URL returns the address of the Service of a server, for clients in the cluster.
func URL(s *objects.Server) string {
	return fmt.Sprintf("http://%s.%s.svc:%d", s.Name, s.Namespace, s.Port)
}

// Up creates a server, or changes the one of that name, and returns once every replica is ready. A server that does not
// become ready is removed, except with Keep.
func Up(ctx context.Context, c *cluster.Cluster, o Options) error {
	if o.Notify == nil {
		o.Notify = func(string) {}
	}
	if o.Wait == 0 {
		o.Wait = o.Startup
	}
	ctx, cancel := context.WithTimeout(ctx, o.Wait)
	defer cancel()
	u := &up{Options: o, cluster: c, told: map[string]string{}}
	if err := u.awaitName(ctx); err != nil {
		return err
	}
	err := u.create(ctx)
	if err == nil {
		err = u.await(ctx)
	}
	if err == nil {
		return nil
	}
	if o.Keep {
		o.Notify("the server is left; " + u.removal())
		return err
	}
	ending, stop := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer stop()
	if removed := remove(ending, c, Named{o.Namespace, o.Name}); removed != nil {
		return errors.Join(err, fmt.Errorf("%w; %s", removed, u.removal()))
	}
	return err
}

type up struct {
	Options
	cluster    *cluster.Cluster
	generation int64             // of the Deployment that was applied
	told       map[string]string // last reported sentence, by pod
}

func (u *up) removal() string {
	return fmt.Sprintf("remove it with `mlperf-go kube server down -p %s --name %s`", u.Namespace, u.Name)
}

// awaitName waits for the end of an earlier deletion of a Deployment with that name. A Deployment that this program did
// not create is an error.
func (u *up) awaitName(ctx context.Context) error {
	for {
		d, err := u.cluster.Client.AppsV1().Deployments(u.Namespace).Get(ctx, u.Name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			return nil
		case err != nil:
			return cluster.Explain(err, "looking for the Deployment %s in the namespace %s", u.Name, u.Namespace)
		case d.Labels[objects.LabelManager] != objects.Manager || d.Labels[objects.LabelServer] != u.Name:
			return exit.Usage(exit.CodeUsage, "Pass another --name", "the namespace %s has a Deployment %s that this program "+
				"did not create", u.Namespace, u.Name)
		case d.DeletionTimestamp == nil:
			return nil
		}
		if !pause(ctx) {
			return exit.Environment(cluster.Timeout, "Wait for its end, or pass another --name",
				"an earlier server %s is still being deleted", u.Name)
		}
	}
}

// pause waits for the next check; it returns false at the end of ctx.
func pause(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(poll):
		return true
	}
}

func (u *up) create(ctx context.Context) error {
	if err := u.cluster.ApplyShared(ctx, u.Shared()); err != nil {
		return err
	}
	owner, err := u.cluster.Apply(ctx, u.Deployment())
	if err != nil {
		return err
	}
	if _, err := u.cluster.Apply(ctx, u.Service(owner)); err != nil {
		return err
	}
	d, err := u.cluster.Client.AppsV1().Deployments(u.Namespace).Get(ctx, u.Name, metav1.GetOptions{})
	if err != nil {
		return cluster.Explain(err, "looking for the Deployment %s", u.Name)
	}
	u.generation = d.Generation
	u.Notify(fmt.Sprintf("created the Deployment and the Service %s with %d replicas in the namespace %s", u.Name,
		u.Replicas, u.Namespace))
	return nil
}

// await returns when all replicas are ready, with an error when one cannot become ready, or at the end of ctx. It asks
// again if the API server does not answer.
func (u *up) await(ctx context.Context) error {
	for {
		ready, err := u.look(ctx)
		if ready || err != nil && (ctx.Err() == nil && isFinal(err)) {
			return err
		}
		if err != nil && ctx.Err() == nil {
			u.tell("cluster", err.Error())
		}
		if pause(ctx) {
			continue
		}
		if errors.Is(ctx.Err(), context.Canceled) {
			return context.Cause(ctx)
		}
		return u.late(context.WithoutCancel(ctx))
	}
}

// isFinal reports whether further requests would fail in the same way.
func isFinal(err error) bool {
	var known *exit.Error
	return errors.As(err, &known) && (known.Code != cluster.Access || apierrors.IsForbidden(err) ||
		apierrors.IsUnauthorized(err))
}

// look judges the Deployment and its pods.
func (u *up) look(ctx context.Context) (ready bool, err error) {
	d, err := u.cluster.Client.AppsV1().Deployments(u.Namespace).Get(ctx, u.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, exit.Environment(cluster.Launcher, "", "somebody deleted the Deployment %s", u.Name)
	}
	if err != nil {
		return false, cluster.Explain(err, "looking at the Deployment %s", u.Name)
	}
	if d.Status.ObservedGeneration < u.generation {
		return false, nil // the controller has not seen it yet
	}
	n := int32(u.Replicas)
	if s := d.Status; s.UpdatedReplicas == n && s.Replicas == n && s.ReadyReplicas == n {
		return true, nil
	}
	if err := refused(d, time.Now()); err != nil {
		return false, err
	}
	pods, err := u.pods(ctx)
	if err != nil {
		return false, err
	}
	for i := range pods {
		s := judge(&pods[i], time.Now())
		if s.fatal {
			return false, u.explain(ctx, &pods[i], s)
		}
		u.tell(pods[i].Name, s.text)
	}
	return false, nil
}

// pods returns the pods of the version of the server that was applied.
func (u *up) pods(ctx context.Context) ([]corev1.Pod, error) {
	template := u.Deployment().Spec.Template.Labels[objects.LabelTemplate]
	list, err := u.cluster.Client.CoreV1().Pods(u.Namespace).List(ctx, metav1.ListOptions{
		LabelSelector: objects.ServerSelector(u.Name) + "," + objects.LabelTemplate + "=" + template})
	if err != nil {
		return nil, cluster.Explain(err, "listing the pods of the server %s", u.Name)
	}
	return slices.DeleteFunc(list.Items, func(p corev1.Pod) bool { return p.DeletionTimestamp != nil }), nil
}

// refusedFor is how long the cluster may reject the pods of a Deployment before that is an error.
const refusedFor = 5 * time.Second

// refused returns an error if the cluster rejects the pods of a Deployment, because of a quota or a policy of the
// namespace.
func refused(d *appsv1.Deployment, now time.Time) error {
	for _, c := range d.Status.Conditions {
		if c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue &&
			now.Sub(c.LastTransitionTime.Time) > refusedFor {
			return exit.Environment(cluster.Quota, "Change the setting that the message names, or the policy of the namespace",
				"the cluster refuses the pods of %s: %s", d.Name, line(c.Message))
		}
	}
	return nil
}

func (u *up) tell(about, text string) {
	if text != "" && u.told[about] != text {
		u.told[about] = text
		u.Notify(text)
	}
}

// late returns the error of a server that is not ready in time: the reason why each pod waits, and the log of a running
// one.
func (u *up) late(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	text := fmt.Sprintf("the server %s was not ready within %s", u.Name, u.Wait)
	pods, err := u.pods(ctx)
	if err != nil {
		return errors.Join(exit.Environment(cluster.Timeout, "", "%s", text), err)
	}
	var waits []string
	log := ""
	for i := range pods {
		if s := judge(&pods[i], time.Now()); s.text != "" {
			waits = append(waits, s.text)
		}
		if log == "" {
			log = u.log(ctx, &pods[i], false)
		}
	}
	if len(waits) > 0 {
		text += ": " + strings.Join(waits, "; ")
	}
	return exit.Environment(cluster.Timeout, "Wait longer with --wait-timeout, or with startup_timeout in the server file",
		"%s%s", text, log)
}
