package target

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/mlperf-go/mlperf-go/kube/cluster"
	"github.com/mlperf-go/mlperf-go/kube/kubetest"
	"github.com/mlperf-go/mlperf-go/kube/objects"
	"github.com/mlperf-go/mlperf-go/kube/testcluster"
	"github.com/mlperf-go/mlperf-go/run/exit"
)

func TestMain(m *testing.M) { testcluster.Main(m) }

// stackYAML is the content of the namespace "serving". The objects of the Gateway API have the fields that determine a
// URL.
const stackYAML = `
apiVersion: v1
kind: Service
metadata: {name: vllm-standalone, namespace: serving, labels: {app: alone}}
spec: {ports: [{name: metrics, port: 9090}, {name: web, port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: sglang, namespace: serving}
spec: {selector: {tier: gpu}, ports: [{name: default, port: 30000}, {name: web, port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: sglang-canary, namespace: serving}
spec: {ports: [{name: https, port: 8443}]}
---
apiVersion: v1
kind: Service
metadata: {name: two-ports, namespace: serving}
spec: {ports: [{name: a, port: 8001}, {name: b, port: 8002}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: infra-sim-inference-gateway, namespace: serving}
spec: {gatewayClassName: g, listeners: [{name: web, protocol: HTTP, port: 80}, {name: tls, protocol: HTTPS, port: 443}]}
status: {addresses: [{type: IPAddress, value: 10.1.2.3}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: new, namespace: serving}
spec: {gatewayClassName: g, listeners: [{name: web, protocol: HTTP, port: 80}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: hostile, namespace: serving}
spec: {gatewayClassName: g, listeners: [{name: web, protocol: HTTP, port: 80}]}
status: {addresses: [{type: Hostname, value: "evil/x?\e[31m"}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: llama, namespace: serving}
spec:
  parentRefs: [{name: infra-sim-inference-gateway, sectionName: tls}]
  rules:
  - matches: [{path: {type: PathPrefix, value: /meta-llama-Llama-3-1-8B}}]
    backendRefs: [{group: inference.networking.k8s.io, kind: InferencePool, name: llama-pool}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: qwen, namespace: serving}
spec:
  parentRefs: [{name: infra-sim-inference-gateway}]
  rules:
  - matches: [{path: {type: PathPrefix, value: /qwen/}}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: org-labe-a09ce3e2-labelled-route, namespace: serving}
spec:
  parentRefs: [{name: infra-sim-inference-gateway, sectionName: web}]
  rules:
  - matches: [{path: {type: PathPrefix, value: /own}}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: named, namespace: serving}
spec: {parentRefs: [{name: new}], hostnames: [llm.example.com]}
---
apiVersion: inference.networking.k8s.io/v1
kind: InferencePool
metadata: {name: llama-pool, namespace: serving}
spec: {selector: {matchLabels: {app: decode}}}
---
apiVersion: inference.networking.k8s.io/v1
kind: InferencePool
metadata: {name: lonely-pool, namespace: serving}
spec: {}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: public, namespace: serving}
spec:
  tls: [{hosts: ["*.example.com"], secretName: cert}]
  rules:
  - host: llm.example.com
    http: {paths: [{path: /v1, pathType: Prefix, backend: {service: {name: sglang, port: {number: 30000}}}}]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: by-address, namespace: serving}
spec: {defaultBackend: {service: {name: sglang, port: {number: 30000}}}}
status: {loadBalancer: {ingress: [{ip: 10.9.8.7}]}}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: pending, namespace: serving}
spec: {defaultBackend: {service: {name: sglang, port: {number: 30000}}}}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: pattern, namespace: serving}
spec:
  rules:
  - host: other.example.com
    http: {paths: [{path: /a(/|$)(.*), pathType: ImplementationSpecific, backend: {service: {name: sglang, port: {number: 1}}}}]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: many, namespace: serving}
spec: {rules: [{host: a.example.com}, {host: b.example.com}]}
---
apiVersion: route.openshift.io/v1
kind: Route
metadata: {name: sglang, namespace: serving}
spec: {host: sglang.apps.example.com, to: {kind: Service, name: sglang}}
status: {ingress: [{host: sglang.apps.example.com, conditions: [{type: Admitted, status: "True"}]}]}
---
apiVersion: route.openshift.io/v1
kind: Route
metadata: {name: edge, namespace: serving}
spec:
  host: llm.apps.example.com
  path: /llama
  tls: {termination: edge}
  to: {kind: Service, name: none}
  alternateBackends: [{kind: Service, name: sglang}]
status: {ingress: [{host: llm.apps.example.com, conditions: [{type: Admitted, status: "True"}]}]}
---
apiVersion: route.openshift.io/v1
kind: Route
metadata: {name: refused, namespace: serving}
spec: {host: x.example.com, to: {kind: Service, name: sglang}}
status: {ingress: [{host: x.example.com, conditions: [{type: Admitted, status: "False", message: "taken\e[31m"}]}]}
---
apiVersion: route.openshift.io/v1
kind: Route
metadata: {name: early, namespace: serving}
spec: {to: {kind: Service, name: sglang}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: decode, namespace: serving}
spec:
  replicas: 2
  selector: {matchLabels: {app: decode}}
  template:
    metadata: {labels: {app: decode, tier: gpu}}
    spec: {containers: [{name: main, image: "example/shell:1", command: [sleep, "1000"], ports: [{containerPort: 8200}]}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: absent, namespace: serving}
spec:
  replicas: 0
  selector: {matchLabels: {app: absent}}
  template:
    metadata: {labels: {app: absent}}
    spec: {containers: [{name: main, image: "example/shell:1"}]}
---
apiVersion: v1
kind: Pod
metadata: {name: single, namespace: serving, labels: {tier: gpu}}
spec: {containers: [{name: main, image: "example/shell:1", command: [sleep, "1000"]}]}
`

// customKinds are the kinds of a cluster with the Gateway API and the routes of OpenShift: group, plural, kind.
var customKinds = [][3]string{{"gateway.networking.k8s.io", "gateways", "Gateway"},
	{"gateway.networking.k8s.io", "httproutes", "HTTPRoute"},
	{"inference.networking.k8s.io", "inferencepools", "InferencePool"},
	{"route.openshift.io", "routes", "Route"}}

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1",
	Resource: "customresourcedefinitions"}

// installKinds installs definitions of the kinds, which accept any field.
func installKinds(t *testing.T, tc *testcluster.Cluster, c dynamic.Interface) {
	t.Helper()
	for _, k := range customKinds {
		group, plural, kind := k[0], k[1], k[2]
		text := strings.NewReplacer("GROUP", group, "PLURAL", plural, "SINGULAR", strings.ToLower(kind), "KIND", kind).Replace(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: PLURAL.GROUP, annotations: {api-approved.kubernetes.io: unapproved, of a test}}
spec:
  group: GROUP
  scope: Namespaced
  names: {plural: PLURAL, singular: SINGULAR, kind: KIND}
  versions:
  - {name: v1, served: true, storage: true, subresources: {status: {}},
     schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`)
		text = strings.Replace(text, "unapproved, of a test", `"unapproved, of a test"`, 1)
		_, err := c.Resource(definitions).Create(t.Context(), parse(t, text), metav1.CreateOptions{})
		require.NoError(t, err)
		tc.Eventually(time.Minute, plural+" are served", func(ctx context.Context) error {
			_, err := c.Resource(schema.GroupVersionResource{Group: group, Version: "v1", Resource: plural}).
				Namespace("serving").List(ctx, metav1.ListOptions{})
			return err
		})
	}
}

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	require.NoError(t, yaml.Unmarshal([]byte(text), &u.Object))
	return u
}

// create creates objects with their status.
func create(t *testing.T, c dynamic.Interface, text string) {
	t.Helper()
	for _, document := range strings.Split(text, "\n---\n") {
		u := parse(t, document)
		r := c.Resource(resourceOf(u)).Namespace(u.GetNamespace())
		made, err := r.Create(t.Context(), u, metav1.CreateOptions{})
		require.NoError(t, err, u.GetName())
		if status, ok := u.Object["status"]; ok {
			made.Object["status"] = status
			_, err = r.UpdateStatus(t.Context(), made, metav1.UpdateOptions{})
			require.NoError(t, err, u.GetName())
		}
	}
}

func resourceOf(u *unstructured.Unstructured) schema.GroupVersionResource {
	v := u.GroupVersionKind()
	return schema.GroupVersionResource{Group: v.Group, Version: v.Version, Resource: plural(v.Kind)}
}

func plural(kind string) string {
	if kind == "Ingress" {
		return "ingresses"
	}
	return strings.ToLower(kind) + "s"
}

// TestFind finds servers in a namespace with the real kinds, for a user with only the rights of Rights.
func TestFind(t *testing.T) {
	t.Parallel() // each has a control plane: kinds belong to the whole cluster
	tc := testcluster.Start(t)
	tc.Node("node-1", testcluster.Image{Name: "example/shell:1"})
	admin, err := dynamic.NewForConfig(tc.Admin())
	require.NoError(t, err)
	installKinds(t, tc, admin)
	access := kubetest.Connect(t, tc.Admin())
	prepare(t, access)
	create(t, admin, stackYAML)
	user := kubetest.Connect(t, tc.User())
	tc.Eventually(time.Minute, "the pods are ready", func(ctx context.Context) error {
		pods, err := (&finder{cluster: user, Query: Query{Namespace: "serving"}}).list(ctx, kindOf(podKind), "")
		if err == nil && len(pods) != 3 {
			err = errors.New(names(pods))
		}
		return err
	})
	for _, c := range []struct {
		name, model string
		want        string // kind/name and URLs
		pods        string // names without their random end
	}{
		{"standalone", "", "service/vllm-standalone http://vllm-standalone.serving.svc:80", ""},
		{"standalone:9090", "", "service/vllm-standalone http://vllm-standalone.serving.svc:9090", ""},
		{"app=alone", "", "service/vllm-standalone http://vllm-standalone.serving.svc:80", ""},
		{"sglang", "", "service/sglang http://sglang.serving.svc:30000", "decode decode single"},
		{"service/sglang-canary", "", "service/sglang-canary https://sglang-canary.serving.svc:8443", ""},
		{"Service/two-ports:8002", "", "service/two-ports http://two-ports.serving.svc:8002", ""},
		{"modelservice", "meta-llama/Llama-3.1-8B",
			"gateway/infra-sim-inference-gateway http://10.1.2.3:80/meta-llama-Llama-3-1-8B", "decode decode"},
		{"modelservice", "org/labelled", "gateway/infra-sim-inference-gateway http://10.1.2.3:80/own", "decode decode"},
		{"modelservice:443", "META-llama/llama-3.1-8b",
			"gateway/infra-sim-inference-gateway https://10.1.2.3:443/meta-llama-Llama-3-1-8B", "decode decode"},
		{"modelservice:443", "qwen", "gateway/infra-sim-inference-gateway https://10.1.2.3:443/qwen", "decode decode"},
		{"httproute/llama", "", "httproute/llama https://10.1.2.3:443/meta-llama-Llama-3-1-8B", "decode decode"},
		{"qwen", "", "httproute/qwen http://10.1.2.3:80/qwen", "decode decode"},
		{"llama-pool", "", "inferencepool/llama-pool https://10.1.2.3:443/meta-llama-Llama-3-1-8B", "decode decode"},
		{"public", "", "ingress/public https://llm.example.com:443", "decode decode single"},
		{"by-address:8080", "", "ingress/by-address http://10.9.8.7:8080", "decode decode single"},
		{"route/sglang", "", "route/sglang http://sglang.apps.example.com:80", "decode decode single"},
		{"edge", "", "route/edge https://llm.apps.example.com:443/llama", "decode decode single"},
		{"decode", "", "deployment/decode http://127.0.0.1:8200 http://127.0.0.1:8200", "decode decode"},
		{"app=decode", "", "pod/app=decode http://127.0.0.1:8200 http://127.0.0.1:8200", "decode decode"},
		{"sing:8000", "", "pod/single http://127.0.0.1:8000", "single"},
	} {
		found, err := Find(t.Context(), user, Query{Namespace: "serving", Name: c.name, Model: c.model})
		require.NoError(t, err, c.name)
		require.Equal(t, c.want, found.Kind+"/"+found.Name+" "+strings.Join(found.URLs, " "), c.name)
		require.Contains(t, found.String(), found.URLs[0])
		pods, err := found.Pods(t.Context(), user)
		require.NoError(t, err, c.name)
		var serving []string
		for _, p := range pods {
			name, _, _ := strings.Cut(p.Name, "-")
			serving = append(serving, name)
		}
		require.Equal(t, c.pods, strings.Join(serving, " "), c.name)
	}
	require.NoError(t, user.LogsSince(t.Context(), "serving", "single", "main", false, time.Now(), 100, io.Discard))
	for name, want := range map[string]string{
		"sgl":                       `"sgl" matches several servers in the namespace "serving": service/sglang, service/sglang-canary`,
		"llam":                      "httproute/llama, inferencepool/llama-pool",
		"decode-":                   "several servers",
		"service/two-ports":         "its ports are: 8001, 8002. Write the port: -t service/two-ports:PORT",
		"two-ports:8003":            "its ports are: 8001, 8002",
		"modelservice":              "forwards several paths: /meta-llama-Llama-3-1-8B, /own, /qwen/",
		"gateway/new":               "has no address yet",
		"hostile":                   `"evil/x?\x1b[31m" is neither`,
		"named":                     "answers only requests to the hosts llm.example.com",
		"lonely":                    "has not exactly one HTTPRoute that leads to it; there are: none",
		"absent":                    "no pod that is ready",
		"pending":                   "neither a host nor an address yet",
		"pattern":                   "is a pattern of its controller",
		"many":                      "has several hosts: a.example.com, b.example.com",
		"refused":                   `its router rejected it: taken\u001b[31m`,
		"early":                     "no router has taken it up",
		"pod/single":                "declares no port",
		"tier=gpu":                  "the pod single declares no port",
		"nothing":                   "there are: service/sglang",
		"job/x":                     `unknown kind "job"`,
		"a=b=c":                     "is not a label selector",
		"service/sglang-canary:443": "its ports are: 8443",
	} {
		_, err := Find(t.Context(), user, Query{Namespace: "serving", Name: name})
		require.ErrorContains(t, err, want, name)
		known, ok := errors.AsType[*exit.Error](err)
		require.True(t, ok)
		require.Equal(t, exit.StatusUsage, known.Exit, name)
		require.NotEmpty(t, known.Hint)
	}
	// Without the rights in a namespace, the message names the missing one.
	_, err = Find(t.Context(), user, Query{Namespace: "default", Name: "x"})
	require.ErrorContains(t, err, "kube rights")
}

// TestFindWithoutGateways finds a Service in a cluster that lacks the Gateway API.
func TestFindWithoutGateways(t *testing.T) {
	t.Parallel() // each has a control plane: kinds belong to the whole cluster
	tc := testcluster.Start(t)
	access := kubetest.Connect(t, tc.Admin())
	prepare(t, access)
	admin, err := dynamic.NewForConfig(tc.Admin())
	require.NoError(t, err)
	create(t, admin, strings.Split(stackYAML, "\n---\n")[0])
	found, err := Find(t.Context(), access, Query{Namespace: "serving", Name: "vllm"})
	require.NoError(t, err)
	require.Equal(t, "vllm-standalone", found.Name)
	_, err = Find(t.Context(), access, Query{Namespace: "serving", Name: "modelservice"})
	require.ErrorContains(t, err, "there are: service/vllm-standalone. Give --endpoint-url")
}

// prepare creates the namespace, and grants the user the rights of Rights.
func prepare(t *testing.T, access *cluster.Cluster) {
	t.Helper()
	names := objects.Launch{Namespace: "serving", ServiceAccount: "default"}
	for _, o := range append(names.Shared(), objects.Rights("serving", "serving", "user")...) {
		_, err := access.Apply(t.Context(), o)
		require.NoError(t, err)
	}
}
