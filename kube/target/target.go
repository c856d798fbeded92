package target

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/mlperf-go/mlperf-go/internal/foreign"
	"github.com/mlperf-go/mlperf-go/kube/cluster"
	"github.com/mlperf-go/mlperf-go/kube/objects"
	"github.com/mlperf-go/mlperf-go/run/exit"
)

// Query describes the server that is meant.
type Query struct {
	Namespace string // of the stack
	Name      string // method, KIND/NAME, KEY=VALUE, or a name or part of a name; with :PORT at its end
	Model     string // selects a path of a Gateway; empty: unknown
}

// Target is a server that was found.
type Target struct {
	Query     string   `json:"query"`
	Kind      string   `json:"kind"` // as in KIND/NAME
	Namespace string   `json:"namespace"`
	Name      string   `json:"name"`
	URLs      []string `json:"urls"` // base URLs as pods of the cluster reach them
}

// String returns one line about the target.
func (t *Target) String() string {
	return fmt.Sprintf("%s/%s in the namespace %s: %s", t.Kind, t.Name, t.Namespace, strings.Join(t.URLs, ", "))
}

// methods are the values of --methods of llm-d-benchmark: the kind and the names of what they deploy
// (docs/reference/kube.md#discovery).
var methods = map[string]struct{ kind, name string }{
	"standalone":   {"service", "standalone"},
	"modelservice": {"gateway", "^infra-.*-inference-gateway$"},
}

// finder answers one query.
type finder struct {
	Query
	cluster *cluster.Cluster
	port    int // 0: the object's own choice
}

// Find returns the server that a query describes.
func Find(ctx context.Context, c *cluster.Cluster, q Query) (*Target, error) {
	f := &finder{Query: q, cluster: c}
	name := f.cutPort(q.Name)
	found, err := f.search(ctx, name)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, f.nothing(ctx)
	}
	if len(found) > 1 && !samePods(found, name) {
		return nil, usage("Name one of them with -t", "%q matches several servers in the namespace %q: %s", q.Name,
			q.Namespace, names(found))
	}
	urls, err := found[0].kind.urls(f, ctx, found)
	if err != nil {
		return nil, err
	}
	t := &Target{Query: q.Name, Kind: found[0].kind.name, Namespace: q.Namespace, Name: found[0].GetName(), URLs: urls}
	if len(found) > 1 {
		t.Name = name
	}
	return t, nil
}

// samePods reports whether the candidates are the pods of one selector, which share the load.
func samePods(found []candidate, name string) bool {
	return found[0].kind.name == podKind && strings.Contains(name, "=")
}

// cutPort removes the port from the end of a name.
func (f *finder) cutPort(name string) string {
	i := strings.LastIndexByte(name, ':')
	if port, err := strconv.ParseUint(name[i+1:], 10, 16); i > 0 && err == nil && port > 0 {
		f.port = int(port)
		return name[:i]
	}
	return name
}

// candidate is an object that may match the query.
type candidate struct {
	unstructured.Unstructured
	kind *kind
}

// search returns the objects that match a name.
func (f *finder) search(ctx context.Context, name string) ([]candidate, error) {
	if m, ok := methods[name]; ok {
		all, err := f.list(ctx, kindOf(m.kind), "")
		return matching(all, regexp.MustCompile(m.name).MatchString), err
	}
	if kindName, object, ok := strings.Cut(name, "/"); ok {
		k := kindOf(kindName)
		if k == nil {
			return nil, usage("Write one of "+kindNames(), "-t %q: unknown kind %q", name, kindName)
		}
		all, err := f.list(ctx, k, "")
		return matching(all, func(n string) bool { return n == object }), err
	}
	selector := ""
	if strings.Contains(name, "=") {
		if _, err := labels.Parse(name); err != nil {
			return nil, usage("Write KEY=VALUE", "-t %q is not a label selector: %w", name, err)
		}
		selector, name = name, ""
	}
	for _, tier := range tiers {
		var all []candidate
		for _, k := range tier {
			some, err := f.list(ctx, kindOf(k), selector)
			if err != nil {
				return nil, err
			}
			all = append(all, some...)
		}
		if found := matching(all, func(n string) bool { return n == name }); len(found) > 0 {
			return found, nil
		}
		if found := matching(all, func(n string) bool { return strings.Contains(n, name) }); len(found) > 0 {
			return found, nil
		}
	}
	return nil, nil
}

// list returns the objects of a kind, or none if the cluster lacks the kind. It omits pods that end, that are not
// ready, or that measure.
func (f *finder) list(ctx context.Context, k *kind, selector string) ([]candidate, error) {
	items, err := f.cluster.List(ctx, k.versions, f.Namespace, selector)
	if err != nil {
		return nil, err
	}
	var all []candidate
	for _, u := range items {
		c := candidate{u, k}
		_, measures := u.GetLabels()[objects.LabelRun]
		if !measures && (k.name != podKind || isReady(c)) {
			all = append(all, c)
		}
	}
	slices.SortFunc(all, func(a, b candidate) int { return strings.Compare(a.GetName(), b.GetName()) })
	return all, nil
}

func matching(all []candidate, match func(name string) bool) (found []candidate) {
	for _, c := range all {
		if match(c.GetName()) {
			found = append(found, c)
		}
	}
	return found
}

// nothing returns the error of a query without a match. It lists the existing candidates.
func (f *finder) nothing(ctx context.Context) error {
	var all []candidate
	for _, k := range tiers[0] {
		some, err := f.list(ctx, kindOf(k), "")
		if err != nil {
			return err
		}
		all = append(all, some...)
	}
	return usage("Give --endpoint-url with the server's URL as the pods reach it, or -t with the name of a Service, "+
		"Gateway, Deployment or pod, and -p with its namespace",
		"nothing in the namespace %q is a server named %q, or its pods are not ready; there are: %s", f.Namespace, f.Name,
		names(all))
}

// mostNames bounds the candidates that an error lists.
const mostNames = 20

func names(all []candidate) string {
	var list []string
	for _, c := range all[:min(len(all), mostNames)] {
		list = append(list, c.kind.name+"/"+c.GetName())
	}
	if more := len(all) - len(list); more > 0 {
		list = append(list, fmt.Sprintf("and %d more", more))
	}
	return cmp.Or(foreign.Line(strings.Join(list, ", "), 2000), "none")
}

func usage(hint, format string, args ...any) error {
	return exit.Usage(exit.CodeEndpoint, hint, format, args...)
}
