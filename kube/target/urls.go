package target

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/mlperf-go/mlperf-go/workload/stack"
)

// service returns the URL of a Service by its name in the cluster's DNS.
func (f *finder) service(_ context.Context, found []candidate) ([]string, error) {
	s, err := decode[corev1.Service](found[0])
	if err != nil {
		return nil, err
	}
	port, err := f.servicePort(s)
	if err != nil {
		return nil, err
	}
	scheme := "http"
	if port.Name == "https" || port.AppProtocol != nil && *port.AppProtocol == "https" || port.Port == 443 {
		scheme = "https"
	}
	return address(scheme, s.Name+"."+s.Namespace+".svc", int(port.Port), "")
}

// servicePort returns the given port, else the one named "default", as llm-d-benchmark has it, else port 80, else the
// only one.
func (f *finder) servicePort(s *corev1.Service) (*corev1.ServicePort, error) {
	var numbers []string
	for _, p := range s.Spec.Ports {
		numbers = append(numbers, strconv.Itoa(int(p.Port)))
	}
	wanted := []func(p corev1.ServicePort) bool{
		func(p corev1.ServicePort) bool { return p.Name == "default" },
		func(p corev1.ServicePort) bool { return p.Port == 80 },
		func(corev1.ServicePort) bool { return len(numbers) == 1 },
	}
	if f.port != 0 {
		wanted = []func(p corev1.ServicePort) bool{func(p corev1.ServicePort) bool { return int(p.Port) == f.port }}
	}
	for _, want := range wanted {
		if i := slices.IndexFunc(s.Spec.Ports, want); i >= 0 {
			return &s.Spec.Ports[i], nil
		}
	}
	return nil, usage(fmt.Sprintf("Write the port: -t service/%s:PORT", s.Name),
		"it is unclear which port of the Service %s is the server's; its ports are: %s", s.Name, strings.Join(numbers, ", "))
}

// gateway returns the URL of a Gateway with the path of its routes.
func (f *finder) gateway(ctx context.Context, found []candidate) ([]string, error) {
	name := found[0].GetName()
	routes, err := f.list(ctx, kindOf("httproute"), "")
	if err != nil {
		return nil, err
	}
	var paths, through []string
	for _, c := range f.ofModel(routes) {
		r, err := decode[routeObject](c)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(r.Spec.ParentRefs, func(p reference) bool { return f.isGateway(p, name) }) {
			paths, through = append(paths, r.paths()...), append(through, "httproute/"+c.GetName())
		}
	}
	path, err := f.path(paths, fmt.Sprintf("the Gateway %s (%s)", name, strings.Join(through, ", ")))
	if err != nil {
		return nil, err
	}
	if len(through) == 0 && methods[f.Name].kind == "gateway" && f.Model != "" {
		path = "/" + stack.ID(f.Model) // as llm-d-benchmark does
	}
	return f.gatewayURL(found[0], "", path)
}

func (f *finder) isGateway(p reference, name string) bool {
	return p.Name == name && cmp.Or(p.Kind, "Gateway") == "Gateway" && cmp.Or(p.Namespace, f.Namespace) == f.Namespace
}

// ofModel returns the objects whose names llm-d-benchmark derives from the model, or all objects if no name matches or
// the model is unknown. With such names, several models behind one Gateway need no paths.
func (f *finder) ofModel(all []candidate) []candidate {
	label := stack.Label(f.Namespace, f.Model)
	own := matching(all, func(name string) bool { return name == label || strings.HasPrefix(name, label+"-") })
	if f.Model == "" || len(own) == 0 {
		return all
	}
	return own
}

// paths returns the prefixes that a route forwards.
func (r *routeObject) paths() (all []string) {
	for _, rule := range r.Spec.Rules {
		if len(rule.Matches) == 0 {
			all = append(all, "/")
		}
		for _, m := range rule.Matches {
			all = append(all, cmp.Or(m.Path.Value, "/"))
		}
	}
	return all
}

// path selects the path of the server from those that an entrance forwards: the model's, or the only one. Paths of the
// API itself, such as /v1/completions, belong to the requests.
func (f *finder) path(all []string, what string) (string, error) {
	different := map[string]bool{}
	for _, p := range all {
		if p == "/v1" || strings.HasPrefix(p, "/v1/") || p == "/" {
			p = ""
		}
		different[strings.TrimSuffix(p, "/")] = true
	}
	for p := range different {
		if f.Model != "" && strings.EqualFold(p, "/"+stack.ID(f.Model)) { // older stacks have it in lower case
			return p, nil
		}
	}
	if len(different) > 1 {
		return "", usage("Give --model with a model that has a path of its own, -t httproute/NAME, or --endpoint-url",
			"%s forwards several paths: %s", what, strings.Join(all[:min(len(all), mostNames)], ", "))
	}
	for p := range different {
		return p, nil
	}
	return "", nil
}

// gatewayURL returns the URL of a Gateway's listener with a name; empty: the only one, or the one for plain HTTP.
func (f *finder) gatewayURL(c candidate, listener, path string) ([]string, error) {
	g, err := decode[gatewayObject](c)
	if err != nil {
		return nil, err
	}
	if len(g.Status.Addresses) == 0 {
		return nil, usage("Wait until its controller gave it one (kubectl get gateways), or give --endpoint-url",
			"the Gateway %s has no address yet", c.GetName())
	}
	var ports []string
	for _, l := range g.Spec.Listeners {
		if (listener == "" || l.Name == listener) && (f.port == 0 || l.Port == f.port) {
			ports = append(ports, fmt.Sprintf("%s:%d", strings.ToLower(l.Protocol), l.Port))
		}
	}
	plain := slices.DeleteFunc(slices.Clone(ports), func(p string) bool { return !strings.HasPrefix(p, "http:") })
	if len(plain) == 1 {
		ports = plain
	}
	if len(ports) != 1 {
		return nil, usage(fmt.Sprintf("Write the port: -t gateway/%s:PORT", c.GetName()),
			"it is unclear which listener of the Gateway %s to use; its listeners are: "+
				"%s", c.GetName(), strings.Join(ports, ", "))
	}
	scheme, port, _ := strings.Cut(ports[0], ":")
	number, _ := strconv.Atoi(port) // it was a number above
	return address(scheme, g.Status.Addresses[0].Value, number, path)
}

// route returns the URL of an HTTPRoute: its Gateway's, with its path.
func (f *finder) route(ctx context.Context, found []candidate) ([]string, error) {
	name := found[0].GetName()
	r, err := decode[routeObject](found[0])
	if err != nil {
		return nil, err
	}
	if len(r.Spec.Hostnames) > 0 {
		return nil, usage("Give --endpoint-url with a host name that the pods can resolve",
			"the HTTPRoute %s answers only requests to the hosts %s", name, strings.Join(r.Spec.Hostnames, ", "))
	}
	path, err := f.path(r.paths(), "the HTTPRoute "+name)
	if err != nil {
		return nil, err
	}
	gateways, err := f.list(ctx, kindOf("gateway"), "")
	if err != nil {
		return nil, err
	}
	for _, p := range r.Spec.ParentRefs {
		for _, g := range gateways {
			if len(r.Spec.ParentRefs) == 1 && f.isGateway(p, g.GetName()) {
				return f.gatewayURL(g, p.SectionName, path)
			}
		}
	}
	return nil, usage("Name the Gateway: -t gateway/NAME with -p and its namespace, or give --endpoint-url",
		"the HTTPRoute %s has not exactly one Gateway in the namespace %q", name, f.Namespace)
}

// pool returns the URL of an InferencePool: that of the HTTPRoute that leads to it.
func (f *finder) pool(ctx context.Context, found []candidate) ([]string, error) {
	name := found[0].GetName()
	routes, err := f.list(ctx, kindOf("httproute"), "")
	if err != nil {
		return nil, err
	}
	var through []candidate
	for _, c := range routes {
		r, err := decode[routeObject](c)
		if err != nil {
			return nil, err
		}
		for _, rule := range r.Spec.Rules {
			if slices.ContainsFunc(rule.BackendRefs, func(b reference) bool {
				return b.Kind == "InferencePool" && b.Name == name
			}) {
				through = append(through, c)
				break
			}
		}
	}
	if len(through) != 1 {
		return nil, usage("Name the entrance: -t httproute/NAME or -t gateway/NAME",
			"the InferencePool %s has not exactly one HTTPRoute that leads to it; there are: %s", name, names(through))
	}
	return f.route(ctx, through)
}

// deployment returns the URLs of the ready pods of a Deployment, which share the load.
func (f *finder) deployment(ctx context.Context, found []candidate) ([]string, error) {
	d, err := decode[appsv1.Deployment](found[0])
	if err != nil {
		return nil, err
	}
	pods, err := f.list(ctx, kindOf(podKind), metav1.FormatLabelSelector(d.Spec.Selector))
	if err != nil {
		return nil, err
	}
	if len(pods) == 0 {
		return nil, usage(fmt.Sprintf("Look at its pods (kubectl -n %s describe pods)", d.Namespace),
			"the Deployment %s has no pod that is ready", d.Name)
	}
	return f.pods(ctx, pods)
}

// pods returns the URLs of pods, with the given port or the first one of their first container.
func (f *finder) pods(_ context.Context, found []candidate) (all []string, err error) {
	for _, c := range found {
		p, err := decode[corev1.Pod](c)
		if err != nil {
			return nil, err
		}
		port := f.port
		for _, container := range p.Spec.Containers {
			if port == 0 && len(container.Ports) > 0 {
				port = int(container.Ports[0].ContainerPort)
			}
		}
		if port == 0 {
			return nil, usage(fmt.Sprintf("Write the port: -t %s:PORT", f.Name), "the pod %s declares no port", p.Name)
		}
		one, err := address("http", p.Status.PodIP, port, "")
		if err != nil {
			return nil, err
		}
		all = append(all, one...)
	}
	return all, nil
}

// address returns a URL from parts in the cluster's objects, which any user of the cluster may have written.
func address(scheme, host string, port int, path string) ([]string, error) {
	if net.ParseIP(host) == nil && len(validation.IsDNS1123Subdomain(strings.ToLower(host))) > 0 {
		return nil, usage("Give --endpoint-url", "the address %.100q is neither an IP address nor a host name", host)
	}
	if scheme != "http" && scheme != "https" {
		return nil, usage("Give --endpoint-url", "the protocol %.20q of %s is not HTTP", scheme, host)
	}
	if u, err := url.Parse(path); path != "" && (err != nil || u.Path != path || path[0] != '/') {
		return nil, usage("Give --endpoint-url", "%.100q is not the path of a URL", path)
	}
	return []string{scheme + "://" + net.JoinHostPort(host, strconv.Itoa(port)) + path}, nil
}
