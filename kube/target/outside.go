package target

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/mlperf-go/mlperf-go/internal/foreign"
)

// ingress returns the URL of an Ingress: its host name, else the address of its load balancer, with its path.
func (f *finder) ingress(_ context.Context, found []candidate) ([]string, error) {
	in, err := decode[networkingv1.Ingress](found[0])
	if err != nil {
		return nil, err
	}
	host, err := ingressHost(in)
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, r := range in.Spec.Rules {
		if r.HTTP == nil {
			continue
		}
		for _, p := range r.HTTP.Paths {
			if isPattern(p) {
				return nil, usage("Give --endpoint-url", "the path %.100q of the Ingress %s is a pattern of its controller", p.Path,
					in.Name)
			}
			paths = append(paths, cmp.Or(p.Path, "/"))
		}
	}
	path, err := f.path(paths, "the Ingress "+in.Name)
	if err != nil {
		return nil, err
	}
	return f.outside(len(in.Spec.TLS) > 0 && hasCertificate(in, host), host, path)
}

// isPattern reports whether a path has characters of regular expressions, which some controllers accept.
func isPattern(p networkingv1.HTTPIngressPath) bool {
	specific := p.PathType != nil && *p.PathType == networkingv1.PathTypeImplementationSpecific
	return specific && strings.ContainsAny(p.Path, `()[]*+^$|\`)
}

// ingressHost returns the host name of an Ingress, or the address of its load balancer.
func ingressHost(in *networkingv1.Ingress) (string, error) {
	hosts := map[string]bool{}
	for _, r := range in.Spec.Rules {
		hosts[r.Host] = true
	}
	if len(hosts) > 1 {
		var all []string
		for _, r := range in.Spec.Rules {
			all = append(all, r.Host)
		}
		return "", usage("Give --endpoint-url with one of them", "the Ingress %s has several hosts: %s", in.Name,
			foreign.Line(strings.Join(all, ", "), 1000))
	}
	for host := range hosts {
		if host != "" {
			return host, nil
		}
	}
	for _, l := range in.Status.LoadBalancer.Ingress {
		if address := cmp.Or(l.IP, l.Hostname); address != "" {
			return address, nil
		}
	}
	return "", usage("Wait until its controller gave it one (kubectl get ingress), or give --endpoint-url",
		"the Ingress %s has neither a host nor an address yet", in.Name)
}

// hasCertificate reports whether an Ingress has a certificate for a host.
func hasCertificate(in *networkingv1.Ingress, host string) bool {
	_, domain, _ := strings.Cut(host, ".")
	return slices.ContainsFunc(in.Spec.TLS, func(t networkingv1.IngressTLS) bool {
		return len(t.Hosts) == 0 || slices.Contains(t.Hosts, host) || slices.Contains(t.Hosts, "*."+domain)
	})
}

// openShiftRoute returns the URL of an OpenShift Route that a router has admitted.
func (f *finder) openShiftRoute(_ context.Context, found []candidate) ([]string, error) {
	r, err := decode[openShiftRouteObject](found[0])
	if err != nil {
		return nil, err
	}
	name, why := found[0].GetName(), "no router has taken it up"
	for _, a := range r.Status.Ingress {
		for _, c := range a.Conditions {
			switch {
			case c.Type != "Admitted":
			case c.Status == "True":
				path, err := f.path([]string{cmp.Or(r.Spec.Path, "/")}, "the Route "+name)
				if err != nil {
					return nil, err
				}
				return f.outside(r.Spec.TLS != nil, cmp.Or(a.Host, r.Spec.Host), path)
			default:
				why = "its router rejected it: " + foreign.Line(c.Message, 400)
			}
		}
	}
	look := fmt.Sprintf("Look at it (kubectl -n %s describe route %s), or give --endpoint-url", f.Namespace, name)
	return nil, usage(look, "the Route %s answers no requests: %s", name, why)
}

// outside returns the URL of an entrance for clients outside the cluster.
func (f *finder) outside(tls bool, host, path string) ([]string, error) {
	if tls {
		return address("https", host, cmp.Or(f.port, 443), path)
	}
	return address("http", host, cmp.Or(f.port, 80), path)
}
