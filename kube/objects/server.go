package objects

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Server is an inference server: a Deployment, whose pods each serve the model, and a Service in front of them.
type Server struct {
	Name           string // of the Deployment and the Service
	Namespace      string
	Image          string
	PullSecrets    []string
	ServiceAccount string
	Replicas       int
	Command        []string             // command of the server, in which $ has no meaning
	PreStart       []string             // shell commands before it; the server inherits their exports
	Env            map[string]string    // plain variables; $ has no meaning in them
	SecretEnv      map[string]SecretKey // variables whose values stay in a Secret
	KeyVariable    string               // member of SecretEnv that the engine gets as its argument --api-key; empty: none
	Port           int
	HealthPath     string            // answers 200 once the model is loaded
	GPUs           int               // of each replica; 0: no request
	GPUResource    string            // name of the resource, such as nvidia.com/gpu
	CPU, Memory    resource.Quantity // requests and limits; zero: not set
	CacheClaim     string            // existing claim for weights; empty: each pod's own temporary volume
	Placement
	FSGroup int64         // group that owns the volumes; 0: the cluster's choice
	User    int64         // user of the pods; 0: the image's, or the cluster's choice
	Startup time.Duration // until the health path must answer
	Stop    time.Duration // between SIGTERM and SIGKILL
	Probe   time.Duration // between two probes of a ready server
	Silence time.Duration // without an answer after which a server gets no requests
}

// Paths and names inside the pods of a server.
const (
	// CacheDir is the folder of the weights.
	CacheDir = "/cache"
	// ServerContainer is the name of the container that serves.
	ServerContainer = "server"
	httpPort        = "http"
	// probeTimeout is how long a server may take to answer a probe, in seconds.
	probeTimeout = 5
	// startupPeriod is the time between two probes of a server that starts, in seconds.
	startupPeriod = 5
)

// Labels of the objects of a server, beside LabelManager.
const (
	LabelServer = "mlperf-go/server"
	// LabelTemplate differs between the pods of two versions of a server.
	LabelTemplate = "mlperf-go/template"
)

// Labels returns the labels of the objects of a server.
func (s *Server) Labels() map[string]string {
	return map[string]string{LabelManager: Manager, LabelServer: s.Name, "app.kubernetes.io/name": "mlperf-go-server",
		"app": s.Name}
}

// ServerSelector selects the objects of a server.
func ServerSelector(name string) string {
	return LabelManager + "=" + Manager + "," + LabelServer + "=" + name
}

func (s *Server) meta() metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: s.Name, Namespace: s.Namespace, Labels: s.Labels()}
}

// Shared returns the objects that stay when the server is removed.
func (s *Server) Shared() []runtime.Object { return home(s.Namespace, s.ServiceAccount) }

// Objects returns everything in the order in which it is applied.
func (s *Server) Objects() []runtime.Object {
	return append(s.Shared(), s.Deployment(), s.Service(nil))
}

// Deployment returns the pods. A new version replaces all pods of the old one first, because they hold the GPUs.
func (s *Server) Deployment() *appsv1.Deployment {
	replicas, limit := int32(s.Replicas), seconds(s.Startup)
	selector := map[string]string{LabelServer: s.Name}
	d := &appsv1.Deployment{TypeMeta: kind("apps/v1", "Deployment"), ObjectMeta: s.meta()}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: s.Labels()}, Spec: s.pod()}
	template.Labels[LabelTemplate] = digest(template.Spec)
	d.Spec = appsv1.DeploymentSpec{Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: selector},
		Strategy:                appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType},
		ProgressDeadlineSeconds: &limit, Template: template}
	return d
}

// Service returns the address in front of the pods; its owner is the Deployment.
func (s *Server) Service(owner *metav1.OwnerReference) *corev1.Service {
	v := &corev1.Service{TypeMeta: kind("v1", "Service"), ObjectMeta: s.meta()}
	v.Spec = corev1.ServiceSpec{Selector: map[string]string{LabelServer: s.Name}, Type: corev1.ServiceTypeClusterIP,
		Ports: []corev1.ServicePort{{Name: httpPort, Port: int32(s.Port), TargetPort: intstr.FromString(httpPort),
			Protocol: corev1.ProtocolTCP}}}
	if owner != nil {
		v.OwnerReferences = []metav1.OwnerReference{*owner}
	}
	return v
}

// digest returns a short name of a pod's specification.
func digest(spec corev1.PodSpec) string {
	text, err := json.Marshal(spec)
	if err != nil {
		panic(err) // the type has only fields that can be encoded
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// seconds rounds up.
func seconds(d time.Duration) int32 { return int32((d + time.Second - 1) / time.Second) }

func (s *Server) pod() corev1.PodSpec {
	spec := restricted(s.ServiceAccount, s.PullSecrets, s.Placement, s.FSGroup)
	if s.User != 0 {
		spec.SecurityContext.RunAsUser = &s.User
	}
	grace := int64(seconds(s.Stop))
	spec.TerminationGracePeriodSeconds = &grace
	if s.GPUs > 0 { // the convention for nodes with accelerators
		spec.Tolerations = append(slices.Clip(spec.Tolerations), corev1.Toleration{Key: s.GPUResource,
			Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule})
	}
	empty := func(name string, medium corev1.StorageMedium) corev1.Volume {
		return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
			EmptyDir: &corev1.EmptyDirVolumeSource{Medium: medium}}}
	}
	cache := empty("cache", "")
	if s.CacheClaim != "" {
		cache.VolumeSource = corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{
			ClaimName: s.CacheClaim}}
	}
	// The processes of an engine exchange tensors in shared memory; the default of a container is only 64 MiB.
	spec.Volumes = []corev1.Volume{cache, empty("tmp", ""), empty("shm", corev1.StorageMediumMemory)}
	spec.Containers = []corev1.Container{s.container()}
	return spec
}

func (s *Server) container() corev1.Container {
	resources := quantities(s.CPU, s.Memory)
	if s.GPUs > 0 {
		resources[corev1.ResourceName(s.GPUResource)] = *resource.NewQuantity(int64(s.GPUs), resource.DecimalSI)
	}
	c := corev1.Container{Name: ServerContainer, Image: s.Image, Command: s.command(), Env: s.env(), WorkingDir: "/tmp",
		Ports:           []corev1.ContainerPort{{Name: httpPort, ContainerPort: int32(s.Port), Protocol: corev1.ProtocolTCP}},
		Resources:       corev1.ResourceRequirements{Requests: resources, Limits: resources},
		SecurityContext: restrictedContainer(), VolumeMounts: []corev1.VolumeMount{{Name: "cache", MountPath: CacheDir},
			{Name: "tmp", MountPath: "/tmp"}, {Name: "shm", MountPath: "/dev/shm"}}}
	// No liveness probe: a restart during a measurement would hide the failure.
	c.StartupProbe = s.probe(startupPeriod, (seconds(s.Startup)+startupPeriod-1)/startupPeriod)
	every := max(1, seconds(s.Probe))
	c.ReadinessProbe = s.probe(every, max(1, seconds(s.Silence)/every))
	return c
}

func (s *Server) probe(every, failures int32) *corev1.Probe {
	return &corev1.Probe{PeriodSeconds: every, FailureThreshold: failures, TimeoutSeconds: probeTimeout,
		ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: s.HealthPath,
			Port: intstr.FromString(httpPort), Scheme: corev1.URISchemeHTTP}}}
}

// command returns the command of the container. Commands before the server need a shell.
func (s *Server) command() []string {
	line := s.Command
	if len(s.PreStart) > 0 {
		script := "set -e\n" + strings.Join(s.PreStart, "\n") + "\nexec \"$@\"\n"
		line = append([]string{"/bin/sh", "-c", anyShell, script}, line...)
	}
	escaped := make([]string, len(line))
	for i, word := range line {
		escaped[i] = escape(word)
	}
	if s.KeyVariable != "" { // the node replaces the reference, so that the Deployment does not contain the key
		escaped = append(escaped, "--api-key", "$("+s.KeyVariable+")")
	}
	return escaped
}

// anyShell runs the script in $0 with bash, or with sh in an image without it, as `mlperf-go server up` does.
const anyShell = `exec "$(command -v bash || command -v sh)" -c "$0" pre_start "$@"`

// escape protects a text from the cluster, which replaces $(NAME).
func escape(text string) string { return strings.ReplaceAll(text, "$", "$$") }

// env returns the variables of the container, sorted by name. The user is not in the image's list of users, so
// variables must contain its name and home.
func (s *Server) env() []corev1.EnvVar {
	all := map[string]string{"HOME": "/tmp", "USER": "mlperf-go", "HF_HOME": CacheDir + "/huggingface"}
	maps.Copy(all, s.Env)
	list := []corev1.EnvVar{{Name: "POD_NAME", ValueFrom: &corev1.EnvVarSource{
		FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.name"}}}}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if _, isSecret := s.SecretEnv[name]; !isSecret {
			list = append(list, corev1.EnvVar{Name: name, Value: escape(all[name])})
		}
	}
	return append(list, secretVariables(s.SecretEnv)...)
}
