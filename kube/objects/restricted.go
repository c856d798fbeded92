package objects

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// home returns the namespace and the service account of pods.
func home(namespace, account string) []runtime.Object {
	return []runtime.Object{
		&corev1.Namespace{TypeMeta: kind("v1", "Namespace"), ObjectMeta: metav1.ObjectMeta{Name: namespace}},
		&corev1.ServiceAccount{TypeMeta: kind("v1", "ServiceAccount"), AutomountServiceAccountToken: no(),
			ObjectMeta: metav1.ObjectMeta{Name: account, Namespace: namespace,
				Labels: map[string]string{LabelManager: Manager}}},
	}
}

// Placement is on which nodes pods may run.
type Placement struct {
	NodeSelector map[string]string   // labels of the nodes
	Tolerations  []corev1.Toleration // of taints of the nodes
}

// restricted returns a pod without containers that fits the restricted Pod Security Standard, with an arbitrary user.
func restricted(account string, pullSecrets []string, place Placement, group int64) corev1.PodSpec {
	spec := corev1.PodSpec{ServiceAccountName: account, AutomountServiceAccountToken: no(), EnableServiceLinks: no(),
		NodeSelector: place.NodeSelector, Tolerations: place.Tolerations,
		SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: yes(),
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}}}
	if group != 0 {
		spec.SecurityContext.FSGroup = &group
	}
	for _, name := range pullSecrets {
		spec.ImagePullSecrets = append(spec.ImagePullSecrets, corev1.LocalObjectReference{Name: name})
	}
	return spec
}

func restrictedContainer() *corev1.SecurityContext {
	return &corev1.SecurityContext{AllowPrivilegeEscalation: no(), ReadOnlyRootFilesystem: yes(), RunAsNonRoot: yes(),
		Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}}
}

// quantities returns the processors and memory of a container, without those that are zero.
func quantities(cpu, memory resource.Quantity) corev1.ResourceList {
	all := corev1.ResourceList{}
	for name, q := range map[corev1.ResourceName]resource.Quantity{corev1.ResourceCPU: cpu,
		corev1.ResourceMemory: memory} {
		if !q.IsZero() {
			all[name] = q
		}
	}
	return all
}

// secretVariables returns variables whose values stay in a Secret, sorted by name.
func secretVariables(keys map[string]SecretKey) (all []corev1.EnvVar) {
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		key := keys[name]
		all = append(all, corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: key.Secret}, Key: key.Key}}})
	}
	return all
}
