package target

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const podKind = "pod"

// kind is a kind of object that leads to a server.
type kind struct {
	name     string
	versions []schema.GroupVersionResource // the first version that the cluster has is read
	urls     func(f *finder, ctx context.Context, found []candidate) ([]string, error)
}

// Kind is a kind of object among which Find searches.
type Kind struct {
	Name     string
	Versions []schema.GroupVersionResource // of which a cluster has one, or none
}

// Kinds returns all of them.
func Kinds() (all []Kind) {
	for _, k := range kinds() {
		all = append(all, Kind{k.name, k.versions})
	}
	return all
}

// kinds returns the table. The group versions are those of Kubernetes, of OpenShift, and of the Gateway API and its
// inference extension.
func kinds() []kind {
	const gateways, inference = "gateway.networking.k8s.io", "inference.networking."
	of := func(group, resource string, versions ...string) (all []schema.GroupVersionResource) {
		for _, v := range versions {
			all = append(all, schema.GroupVersionResource{Group: group, Version: v, Resource: resource})
		}
		return all
	}
	return []kind{
		{"service", of("", "services", "v1"), (*finder).service},
		{"gateway", of(gateways, "gateways", "v1", "v1beta1"), (*finder).gateway},
		{"httproute", of(gateways, "httproutes", "v1", "v1beta1"), (*finder).route},
		{"inferencepool", append(of(inference+"k8s.io", "inferencepools", "v1"),
			of(inference+"x-k8s.io", "inferencepools", "v1alpha2")...), (*finder).pool},
		{"ingress", of("networking.k8s.io", "ingresses", "v1"), (*finder).ingress},
		{"route", of("route.openshift.io", "routes", "v1"), (*finder).openShiftRoute},
		{"deployment", of("apps", "deployments", "v1"), (*finder).deployment},
		{podKind, of("", "pods", "v1"), (*finder).pods},
	}
}

// tiers are the kinds by precedence. Kinds of one tier have the same rank, because an entrance of either kind may be
// meant. The entrances for clients outside the cluster come later: they often have the name of their Service, which is
// nearer to the pods.
var tiers = [][]string{{"service", "gateway", "httproute", "inferencepool"}, {"ingress", "route"}, {"deployment"},
	{podKind}}

// kindOf returns the kind of a name; nil: unknown.
func kindOf(name string) *kind {
	for _, k := range kinds() {
		if k.name == strings.ToLower(name) {
			return &k
		}
	}
	return nil
}

func kindNames() string {
	var all []string
	for _, k := range kinds() {
		all = append(all, k.name+"/NAME")
	}
	return strings.Join(all, ", ")
}

// isReady reports whether a pod answers requests.
func isReady(c candidate) bool {
	p, err := decode[corev1.Pod](c)
	if err != nil || p.DeletionTimestamp != nil || p.Status.PodIP == "" {
		return false
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// decode reads a candidate as a type. The API server validated it against its kind's schema.
func decode[T any](c candidate) (*T, error) {
	var object T
	text, err := c.MarshalJSON()
	if err == nil {
		err = json.Unmarshal(text, &object)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the %s %s: %w", c.kind.name, c.GetName(), err)
	}
	return &object, nil
}

// The parts of an OpenShift Route that determine a URL.
type (
	openShiftRouteObject struct {
		Spec struct {
			Host, Path        string
			To                reference
			AlternateBackends []reference
			TLS               *struct{ Termination string }
		}
		Status struct {
			Ingress []admission
		}
	}
	admission struct {
		Host       string
		Conditions []struct{ Type, Status, Message string }
	}
)

// The parts of the Gateway API that determine a URL.
type (
	gatewayObject struct {
		Spec struct {
			Listeners []struct {
				Name, Protocol string
				Port           int
			}
		}
		Status struct {
			Addresses []struct{ Value string }
		}
	}
	reference struct {
		Kind, Namespace, Name, SectionName string
	}
	routeObject struct {
		Spec struct {
			ParentRefs []reference
			Hostnames  []string
			Rules      []struct {
				Matches []struct {
					Path struct{ Type, Value string }
				}
				BackendRefs []reference
			}
		}
	}
)
