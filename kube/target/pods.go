package target

import (
	"cmp"
	"context"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mlperf-go/mlperf-go/kube/cluster"
	"github.com/mlperf-go/mlperf-go/kube/objects"
)

// Pods returns the pods that serve a target, ready or not, by name. Behind an entrance of the Gateway API these are the
// pods of the InferencePools and Services to which the HTTPRoutes of the namespace lead; behind an Ingress or an
// OpenShift Route, those of its Services.
func (t *Target) Pods(ctx context.Context, c *cluster.Cluster) ([]corev1.Pod, error) {
	f := &finder{Query: Query{Namespace: t.Namespace}, cluster: c}
	selectors, err := f.selectors(ctx, t)
	if err != nil {
		return nil, err
	}
	named := t.Kind == podKind && len(selectors) == 0
	if named {
		selectors = []string{""}
	}
	found := map[string]corev1.Pod{}
	for _, s := range selectors {
		items, err := c.List(ctx, kindOf(podKind).versions, t.Namespace, s)
		if err != nil {
			return nil, err
		}
		for _, u := range items {
			_, measures := u.GetLabels()[objects.LabelRun]
			if measures || named && u.GetName() != t.Name {
				continue
			}
			p, err := decode[corev1.Pod](candidate{u, kindOf(podKind)})
			if err != nil {
				return nil, err
			}
			found[p.Name] = *p
		}
	}
	all := make([]corev1.Pod, 0, len(found))
	for _, p := range found {
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// selectors returns the label selectors of a target's pods; none: a pod that has only a name.
func (f *finder) selectors(ctx context.Context, t *Target) (all []string, err error) {
	switch t.Kind {
	case podKind:
		if selector := f.cutPort(t.Query); strings.Contains(selector, "=") {
			all = append(all, selector)
		}
		return all, nil
	case "deployment", "service", "inferencepool":
		return f.selectorsOf(ctx, t.Kind, t.Name)
	}
	backends, err := f.backends(ctx, t)
	if err != nil {
		return nil, err
	}
	for _, b := range backends {
		some, err := f.selectorsOf(ctx, strings.ToLower(cmp.Or(b.Kind, "Service")), b.Name)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// backends returns the objects to which an entrance leads: an Ingress or a Route its own, one of the Gateway API those
// of all HTTPRoutes.
func (f *finder) backends(ctx context.Context, t *Target) (all []reference, err error) {
	k := kindOf("httproute")
	if t.Kind == "ingress" || t.Kind == "route" {
		k = kindOf(t.Kind)
	}
	found, err := f.list(ctx, k, "")
	if err != nil {
		return nil, err
	}
	if k.name == t.Kind && k.name != "httproute" {
		found = matching(found, func(n string) bool { return n == t.Name })
	}
	for _, c := range found {
		some, err := backendsOf(c)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

func backendsOf(c candidate) (all []reference, err error) {
	switch c.kind.name {
	case "ingress":
		in, err := decode[networkingv1.Ingress](c)
		if err != nil {
			return nil, err
		}
		return ingressBackends(in), nil
	case "route":
		r, err := decode[openShiftRouteObject](c)
		if err != nil {
			return nil, err
		}
		return append(r.Spec.AlternateBackends, r.Spec.To), nil
	}
	r, err := decode[routeObject](c)
	if err != nil {
		return nil, err
	}
	for _, rule := range r.Spec.Rules {
		all = append(all, rule.BackendRefs...)
	}
	return all, nil
}

func ingressBackends(in *networkingv1.Ingress) (all []reference) {
	add := func(b *networkingv1.IngressBackend) {
		if b != nil && b.Service != nil {
			all = append(all, reference{Name: b.Service.Name})
		}
	}
	add(in.Spec.DefaultBackend)
	for _, r := range in.Spec.Rules {
		if r.HTTP == nil {
			continue
		}
		for i := range r.HTTP.Paths {
			add(&r.HTTP.Paths[i].Backend)
		}
	}
	return all
}

// selectorsOf returns the label selector of an object that selects pods; none: there is no such object.
func (f *finder) selectorsOf(ctx context.Context, kind, name string) (all []string, err error) {
	k := kindOf(kind)
	if k == nil {
		return nil, nil
	}
	found, err := f.list(ctx, k, "")
	if err != nil {
		return nil, err
	}
	for _, c := range matching(found, func(n string) bool { return n == name }) {
		selector := ""
		if kind == "deployment" {
			d, err := decode[appsv1.Deployment](c)
			if err != nil {
				return nil, err
			}
			selector = metav1.FormatLabelSelector(d.Spec.Selector)
		} else {
			selector = labelsOf(c)
		}
		if selector != "" { // an empty one would select every pod
			all = append(all, selector)
		}
	}
	return all, nil
}

// labelsOf returns the selector of a Service or an InferencePool, whose newer version nests it.
func labelsOf(c candidate) string {
	spec, _ := c.Object["spec"].(map[string]any)
	selector, _ := spec["selector"].(map[string]any)
	if nested, ok := selector["matchLabels"].(map[string]any); ok {
		selector = nested
	}
	set := map[string]string{}
	for key, value := range selector {
		if text, ok := value.(string); ok {
			set[key] = text
		}
	}
	if len(set) == 0 {
		return ""
	}
	return metav1.FormatLabelSelector(&metav1.LabelSelector{MatchLabels: set})
}
