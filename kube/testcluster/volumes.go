package testcluster

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// volume returns the folder of a volume. Claims have the folder of their PersistentVolume.
func (p *pod) volume(name string) string {
	for i := range p.spec.Spec.Volumes {
		v := &p.spec.Spec.Volumes[i]
		if v.Name == name && v.PersistentVolumeClaim != nil {
			if path, err := p.claim(v.PersistentVolumeClaim.ClaimName); err == nil {
				return path
			}
		}
	}
	return filepath.Join(p.dir, "volumes", name)
}

func (p *pod) claim(name string) (string, error) {
	claim, err := p.node.client.CoreV1().PersistentVolumeClaims(p.spec.Namespace).Get(p.ctx, name, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	volume, err := p.node.client.CoreV1().PersistentVolumes().Get(p.ctx, claim.Spec.VolumeName, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("claim %s is not bound: %w", name, err)
	}
	if volume.Spec.HostPath == nil {
		return "", fmt.Errorf("volume %s has no host path", volume.Name)
	}
	return volume.Spec.HostPath.Path, nil
}

// makeVolumes writes the files of the pod's volumes.
func (p *pod) makeVolumes() error {
	if err := os.MkdirAll(p.dir, 0o755); err != nil {
		return err
	}
	for i := range p.spec.Spec.Volumes {
		v := &p.spec.Spec.Volumes[i]
		if v.PersistentVolumeClaim != nil {
			if _, err := p.claim(v.PersistentVolumeClaim.ClaimName); err != nil {
				return err
			}
			continue
		}
		dir := p.volume(v.Name)
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return err
		}
		if err := os.Chmod(dir, 0o777); err != nil {
			return err
		}
		files, err := p.files(v)
		if err != nil {
			return fmt.Errorf("volume %s: %w", v.Name, err)
		}
		for name, text := range files {
			path := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				return err
			}
			if err := os.WriteFile(path, text, 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *pod) files(v *corev1.Volume) (map[string][]byte, error) {
	switch {
	case v.ConfigMap != nil:
		return p.configMap(v.ConfigMap.Name, v.ConfigMap.Items)
	case v.Secret != nil:
		return p.secret(v.Secret.SecretName, v.Secret.Items)
	case v.Projected != nil:
		return p.projected(v.Projected)
	case v.EmptyDir != nil:
		return nil, nil
	}
	return nil, fmt.Errorf("this kind of volume is not supported")
}

func (p *pod) projected(v *corev1.ProjectedVolumeSource) (map[string][]byte, error) {
	all := map[string][]byte{}
	for _, s := range v.Sources {
		var files map[string][]byte
		var err error
		switch {
		case s.ServiceAccountToken != nil:
			files, err = p.token(s.ServiceAccountToken)
		case s.ConfigMap != nil:
			files, err = p.configMap(s.ConfigMap.Name, s.ConfigMap.Items)
		case s.Secret != nil:
			files, err = p.secret(s.Secret.Name, s.Secret.Items)
		case s.DownwardAPI != nil:
			files = map[string][]byte{}
			for _, item := range s.DownwardAPI.Items {
				files[item.Path] = []byte(p.field(item.FieldRef.FieldPath))
			}
		}
		if err != nil {
			return nil, err
		}
		for name, text := range files {
			all[name] = text
		}
	}
	return all, nil
}

// token asks the API server for a token of the pod's service account, as a kubelet does.
func (p *pod) token(s *corev1.ServiceAccountTokenProjection) (map[string][]byte, error) {
	request := &authenticationv1.TokenRequest{}
	request.Spec.ExpirationSeconds = s.ExpirationSeconds
	request.Spec.BoundObjectRef = &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1",
		Name: p.spec.Name, UID: p.spec.UID}
	if s.Audience != "" {
		request.Spec.Audiences = []string{s.Audience}
	}
	answer, err := p.node.client.CoreV1().ServiceAccounts(p.spec.Namespace).CreateToken(p.ctx,
		p.spec.Spec.ServiceAccountName, request, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	return map[string][]byte{s.Path: []byte(answer.Status.Token)}, nil
}

func (p *pod) configMap(name string, items []corev1.KeyToPath) (map[string][]byte, error) {
	m, err := p.node.client.CoreV1().ConfigMaps(p.spec.Namespace).Get(p.ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	all := map[string][]byte{}
	for key, text := range m.Data {
		all[key] = []byte(text)
	}
	for key, data := range m.BinaryData {
		all[key] = data
	}
	return choose(all, items)
}

func (p *pod) secret(name string, items []corev1.KeyToPath) (map[string][]byte, error) {
	s, err := p.node.client.CoreV1().Secrets(p.spec.Namespace).Get(p.ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return choose(s.Data, items)
}

func choose(all map[string][]byte, items []corev1.KeyToPath) (map[string][]byte, error) {
	if len(items) == 0 {
		return all, nil
	}
	chosen := map[string][]byte{}
	for _, i := range items {
		text, ok := all[i.Key]
		if !ok {
			return nil, fmt.Errorf("there is no key %s", i.Key)
		}
		chosen[i.Path] = text
	}
	return chosen, nil
}

// environment returns the variables of a container.
func (p *pod) environment(c *corev1.Container) ([]string, error) {
	env := []string{"PATH=" + defaultPath, "HOSTNAME=" + p.spec.Name, "HOME=/"}
	for _, from := range c.EnvFrom {
		if from.ConfigMapRef == nil {
			return nil, fmt.Errorf("environment from a secret is not supported")
		}
		files, err := p.configMap(from.ConfigMapRef.Name, nil)
		if err != nil {
			return nil, err
		}
		for key, text := range files {
			env = append(env, key+"="+string(text))
		}
	}
	for _, e := range c.Env {
		value, err := p.value(e)
		if err != nil {
			return nil, fmt.Errorf("variable %s: %w", e.Name, err)
		}
		env = append(env, e.Name+"="+expand(value, env))
	}
	return env, nil
}

// expand replaces the references $(NAME) to variables.
func expand(text string, env []string) string {
	const dollar = "\x00"
	text = strings.ReplaceAll(text, "$$", dollar) // an escaped dollar
	for _, e := range env {
		name, value, _ := strings.Cut(e, "=")
		text = strings.ReplaceAll(text, "$("+name+")", value)
	}
	return strings.ReplaceAll(text, dollar, "$")
}

func (p *pod) value(e corev1.EnvVar) (string, error) {
	from := e.ValueFrom
	switch {
	case from == nil:
		return e.Value, nil
	case from.FieldRef != nil:
		return p.field(from.FieldRef.FieldPath), nil
	case from.SecretKeyRef != nil:
		return p.keyOf(from.SecretKeyRef.Key, from.SecretKeyRef.Optional, func() (map[string][]byte, error) {
			return p.secret(from.SecretKeyRef.Name, nil)
		})
	case from.ConfigMapKeyRef != nil:
		return p.keyOf(from.ConfigMapKeyRef.Key, from.ConfigMapKeyRef.Optional, func() (map[string][]byte, error) {
			return p.configMap(from.ConfigMapKeyRef.Name, nil)
		})
	}
	return "", fmt.Errorf("this source is not supported")
}

func (p *pod) keyOf(key string, optional *bool, read func() (map[string][]byte, error)) (string, error) {
	files, err := read()
	text, ok := files[key]
	if err == nil && !ok {
		err = fmt.Errorf("there is no key %s", key)
	}
	if err != nil && optional != nil && *optional {
		return "", nil
	}
	return string(text), err
}

// field returns a field of the pod for the downward API.
func (p *pod) field(path string) string {
	switch path {
	case "metadata.name":
		return p.spec.Name
	case "metadata.namespace":
		return p.spec.Namespace
	case "metadata.uid":
		return string(p.spec.UID)
	case "spec.nodeName":
		return p.node.name
	case "status.podIP", "status.hostIP":
		return "127.0.0.1"
	}
	for prefix, m := range map[string]map[string]string{"metadata.labels": p.spec.Labels,
		"metadata.annotations": p.spec.Annotations} {
		if key, ok := strings.CutPrefix(path, prefix+"['"); ok {
			return m[strings.TrimSuffix(key, "']")]
		}
	}
	return ""
}
