package objects

import (
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Rights returns the Role with everything that the launcher asks of the API server in a namespace, the Role with which
// it finds servers in the namespace of the stack and reads their logs, and their bindings to a user. The pods
// themselves need no rights.
func Rights(namespace, stack, user string) []runtime.Object {
	apply := []string{"create", "get", "patch"}
	all := role("mlperf-go-launcher", namespace, user,
		rule("", "configmaps", append(apply, "delete")...),
		rule("", "serviceaccounts", append(apply, "list")...),
		rule("", "persistentvolumeclaims", apply...),
		rule("batch", "jobs", append(apply, "delete", "list")...),
		rule("", "pods", "get", "list", "watch"),
		rule("", "pods/log", "get"),
		rule("", "pods/exec", "create", "get"))
	return append(all, role("mlperf-go-discovery", stack, user,
		rule("", "services", "list"), rule("", "pods", "list"), rule("", "pods/log", "get"),
		rule("apps", "deployments", "list"),
		rule("gateway.networking.k8s.io", "gateways", "list"),
		rule("gateway.networking.k8s.io", "httproutes", "list"),
		rule("inference.networking.k8s.io", "inferencepools", "list"),
		rule("inference.networking.x-k8s.io", "inferencepools", "list"),
		rule("networking.k8s.io", "ingresses", "list"),
		rule("route.openshift.io", "routes", "list"))...)
}

// ServerRights returns the Role with everything that `kube server` and `kube nop` ask of the API server in a namespace,
// and its binding to a user. The servers themselves need no rights.
func ServerRights(namespace, user string) []runtime.Object {
	apply := []string{"create", "get", "patch"}
	return role("mlperf-go-servers", namespace, user,
		rule("apps", "deployments", append(apply, "delete", "list")...),
		rule("", "services", append(apply, "delete", "list")...),
		rule("", "serviceaccounts", append(apply, "list")...),
		rule("", "pods", "list"),
		rule("", "pods/log", "get"),
		rule("", "pods/portforward", "create", "get"))
}

func rule(group, resource string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
}

// role returns a Role and its binding to a user.
func role(name, namespace, user string, rules ...rbacv1.PolicyRule) []runtime.Object {
	meta := metav1.ObjectMeta{Name: name, Namespace: namespace}
	return []runtime.Object{
		&rbacv1.Role{TypeMeta: kind("rbac.authorization.k8s.io/v1", "Role"), ObjectMeta: meta, Rules: rules},
		&rbacv1.RoleBinding{TypeMeta: kind("rbac.authorization.k8s.io/v1", "RoleBinding"), ObjectMeta: meta,
			RoleRef:  rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "Role", Name: name},
			Subjects: []rbacv1.Subject{{Kind: "User", APIGroup: "rbac.authorization.k8s.io", Name: user}}}}
}
