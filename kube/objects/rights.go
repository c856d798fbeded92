package objects

import (
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Rights returns the Role with everything that the launcher asks of the API server in a namespace, and its binding to a
// user. The pods themselves need no rights.
func Rights(namespace, user string) []runtime.Object {
	meta := metav1.ObjectMeta{Name: "mlperf-go-launcher", Namespace: namespace}
	apply := []string{"create", "get", "patch"}
	role := &rbacv1.Role{TypeMeta: kind("rbac.authorization.k8s.io/v1", "Role"), ObjectMeta: meta,
		Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: append(apply, "delete")},
			{APIGroups: []string{""}, Resources: []string{"serviceaccounts"}, Verbs: append(apply, "list")},
			{APIGroups: []string{""}, Resources: []string{"persistentvolumeclaims"}, Verbs: apply},
			{APIGroups: []string{"batch"}, Resources: []string{"jobs"}, Verbs: append(apply, "delete", "list")},
			{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get", "list", "watch"}},
			{APIGroups: []string{""}, Resources: []string{"pods/log"}, Verbs: []string{"get"}},
			{APIGroups: []string{""}, Resources: []string{"pods/exec"}, Verbs: []string{"create", "get"}},
		}}
	binding := &rbacv1.RoleBinding{TypeMeta: kind("rbac.authorization.k8s.io/v1", "RoleBinding"), ObjectMeta: meta,
		RoleRef:  rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "Role", Name: meta.Name},
		Subjects: []rbacv1.Subject{{Kind: "User", APIGroup: "rbac.authorization.k8s.io", Name: user}}}
	return []runtime.Object{role, binding}
}
