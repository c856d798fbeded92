package launch

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// recheck is how often the pods are judged without a change, because some judgements depend on the time.
const recheck = 5 * time.Second

// watch calls see with all pods of a selector, sorted by name, after each change and every few seconds, until it
// returns true or the context ends. A dropped connection is continued where it broke, so that see receives the changes
// in between.
func watch(ctx context.Context, client kubernetes.Interface, namespace, selector string,
	see func([]*corev1.Pod) bool) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	changed := make(chan struct{}, 1)
	notice := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	pods := client.CoreV1().Pods(namespace)
	source := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.LabelSelector = selector
			return pods.List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (apiwatch.Interface, error) {
			o.LabelSelector = selector
			return pods.Watch(ctx, o)
		}}
	store, controller := cache.NewInformerWithOptions(cache.InformerOptions{ListerWatcher: source,
		ObjectType: &corev1.Pod{}, ResyncPeriod: recheck, // also a change, so that time-dependent judgements are repeated
		Handler: cache.ResourceEventHandlerFuncs{AddFunc: func(any) { notice() },
			UpdateFunc: func(any, any) { notice() }, DeleteFunc: func(any) { notice() }}})
	done := make(chan struct{})
	go func() {
		defer close(done)
		controller.RunWithContext(ctx)
	}()
	defer func() {
		stop()
		<-done
	}()
	for {
		if controller.HasSynced() && see(podsOf(store)) {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-changed:
		}
	}
}

func podsOf(store cache.Store) []*corev1.Pod {
	var all []*corev1.Pod
	for _, o := range store.List() {
		all = append(all, o.(*corev1.Pod))
	}
	slices.SortFunc(all, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// newest returns the latest pod of each completion index of an indexed job: a failed pod may have a successor.
func newest(pods []*corev1.Pod) []*corev1.Pod {
	latest := map[string]*corev1.Pod{}
	for _, p := range pods {
		index := p.Annotations["batch.kubernetes.io/job-completion-index"]
		if old := latest[index]; old == nil || old.CreationTimestamp.Before(&p.CreationTimestamp) {
			latest[index] = p
		}
	}
	return slices.SortedFunc(maps.Values(latest), func(a, b *corev1.Pod) int { return indexOf(a) - indexOf(b) })
}
