package objects

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/mlperf-go/mlperf-go/workload/stack"
)

// Paths inside the pods of a launch. The contract of the shell launcher has the first two
// (docs/reference/kube.md#inside-a-pod).
const (
	DefaultResultsDir = "/requests"
	profilesDir       = "/workspace/profiles"
	controlDir        = "/control"
	// ControlSocket is where a shard waits for its start instant.
	ControlSocket = controlDir + "/shard.sock"
	// PageSocket is where a campaign serves its live page.
	PageSocket = controlDir + "/page.sock"
	// Container is the name of the container that measures.
	Container = "harness"
)

// Program is the program in the image.
const Program = "/usr/local/bin/mlperf-go"

// Launch is one experiment: one or several pods that run a command of mlperf-go at the same time.
type Launch struct {
	ID             string // of the experiment; unique in the namespace
	Namespace      string
	Harness        string // whose profile it is
	Image          string
	PullSecrets    []string
	ServiceAccount string
	Profiles       map[string]string // file name to content
	Args           []string          // of mlperf-go; a pod expands $(RESULTS), $(JOB_COMPLETION_INDEX) and $(POD_NAME)
	Pods           int               // number of pods that run together
	CPU, Memory    resource.Quantity // requests and limits
	Storage        Storage
	Env            map[string]string    // plain variables
	SecretEnv      map[string]SecretKey // variables whose values stay in a Secret
	Placement
	Deadline time.Duration // after which the cluster ends the pods; 0: none
	Hold     time.Duration // how long a pod stays after its command, for the collection of its results
	Control  bool          // the pods wait for a start instant
	Attempts int           // number of successors of a killed pod, which continue in its folder
	FSGroup  int64         // group that owns the volumes; 0: the cluster's choice
	Idle     bool          // the pods run no command; they stay for Hold
	Expire   time.Duration // after which the cluster deletes an ended job; 0: never
	Target   string        // description of the server in one line, recorded with the objects; empty: not recorded
	Stack    Stack         // that is measured
}

// Stack is a model and how it was deployed, for the names that llm-d-benchmark derives from them.
type Stack struct {
	Model     string // empty: unknown, so there are no such names
	Method    string
	Namespace string
	URL       string // empty: unknown
}

// Storage is where results are kept.
type Storage struct {
	Claim      string // name of the PersistentVolumeClaim; empty: the pod's own temporary volume
	Existing   bool   // the claim exists, and is not applied
	Size       resource.Quantity
	Class      string // storage class; empty: the cluster's default
	ResultsDir string // mount point
}

// SecretKey is a key of a Secret in the namespace of the launch.
type SecretKey struct{ Secret, Key string }

// Labels of every object of a launch.
const (
	LabelRun     = "mlperf-go/run"
	LabelModel   = "mlperf-go/model" // short name of the model, as in the names of a stack's objects
	LabelStack   = "mlperf-go/stack" // name of the stack
	LabelManager = "app.kubernetes.io/managed-by"
	Manager      = "mlperf-go-kube"
)

// AnnotationTarget of the objects of a launch states what it measures.
const AnnotationTarget = "mlperf-go/target"

// Labels returns the labels of the objects of a launch. The selectors of the shell launcher find its pods too.
func (l *Launch) Labels() map[string]string {
	all := map[string]string{LabelManager: Manager, LabelRun: l.ID, "app.kubernetes.io/name": "mlperf-go",
		"app": "llmdbench-" + l.Harness + "-launcher", "function": "load_generator"}
	if s := l.Stack; s.Model != "" {
		for name, value := range map[string]string{LabelModel: stack.Label(s.Namespace, s.Model),
			LabelStack: stack.Name(s.Method, s.Model)} {
			if len(validation.IsValidLabelValue(value)) == 0 { // such as a method with a slash
				all[name] = value
			}
		}
	}
	return all
}

// Selector selects the objects of a launch.
func (l *Launch) Selector() string { return LabelRun + "=" + l.ID }

func (l *Launch) meta(name string) metav1.ObjectMeta {
	m := metav1.ObjectMeta{Name: name, Namespace: l.Namespace, Labels: l.Labels()}
	if l.Target != "" {
		m.Annotations = map[string]string{AnnotationTarget: l.Target}
	}
	return m
}

// ProfilesName is the name of the ConfigMap with the profiles. It owns the job: deleting it deletes the launch.
func (l *Launch) ProfilesName() string { return l.Harness + "-profiles-" + l.ID }

// JobName is the name of the job.
func (l *Launch) JobName() string { return l.Harness + "-" + l.ID }

// Folder is the folder of the results of pod i inside the pods.
func (l *Launch) Folder(i int) string { return fmt.Sprintf("%s/%s_%d", l.resultsDir(), l.ID, i) }

func (l *Launch) resultsDir() string {
	if l.Storage.ResultsDir == "" {
		return DefaultResultsDir
	}
	return l.Storage.ResultsDir
}

// Shared returns the objects that stay when the launch ends: others of the namespace use them too.
func (l *Launch) Shared() []runtime.Object {
	all := home(l.Namespace, l.ServiceAccount)
	if l.Storage.Claim != "" && !l.Storage.Existing {
		all = append(all, l.claim())
	}
	return all
}

// Owner returns the ConfigMap of the profiles, which owns the others. A launch without profiles has none.
func (l *Launch) Owner() *corev1.ConfigMap {
	return &corev1.ConfigMap{TypeMeta: kind("v1", "ConfigMap"), ObjectMeta: l.meta(l.ProfilesName()), Data: l.Profiles}
}

// Objects returns everything in the order in which it is applied.
func (l *Launch) Objects() []runtime.Object { return append(l.Shared(), l.Own()...) }

// Own returns the objects that are deleted when the launch ends.
func (l *Launch) Own() []runtime.Object {
	if len(l.Profiles) == 0 {
		return []runtime.Object{l.Job(nil)}
	}
	return []runtime.Object{l.Owner(), l.Job(nil)}
}

func (l *Launch) claim() *corev1.PersistentVolumeClaim {
	c := &corev1.PersistentVolumeClaim{TypeMeta: kind("v1", "PersistentVolumeClaim"),
		ObjectMeta: metav1.ObjectMeta{Name: l.Storage.Claim, Namespace: l.Namespace,
			Labels: map[string]string{LabelManager: Manager}}}
	c.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}
	c.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: l.Storage.Size}
	if l.Storage.Class != "" {
		c.Spec.StorageClassName = &l.Storage.Class
	}
	return c
}

// Job returns the job with its owner; nil: none. A job without further attempts keeps its failed pods, whose results
// are collected.
func (l *Launch) Job(owner *metav1.OwnerReference) *batchv1.Job {
	pods, attempts, mode := int32(l.Pods), int32(l.Attempts), batchv1.IndexedCompletion
	j := &batchv1.Job{TypeMeta: kind("batch/v1", "Job"), ObjectMeta: l.meta(l.JobName())}
	j.Spec = batchv1.JobSpec{Completions: &pods, Parallelism: &pods, CompletionMode: &mode, BackoffLimit: &attempts,
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: l.Labels()}, Spec: l.pod()}}
	if l.Deadline > 0 {
		seconds := int64((l.Deadline + time.Second - 1) / time.Second)
		j.Spec.ActiveDeadlineSeconds = &seconds
	}
	if l.Expire > 0 {
		seconds := int32(l.Expire / time.Second)
		j.Spec.TTLSecondsAfterFinished = &seconds
	}
	if l.Attempts > 0 {
		j.Spec.PodFailurePolicy = failurePolicy()
	}
	if owner != nil {
		j.OwnerReferences = []metav1.OwnerReference{*owner}
	}
	return j
}

func (l *Launch) pod() corev1.PodSpec {
	spec := restricted(l.ServiceAccount, l.PullSecrets, l.Placement, l.FSGroup)
	spec.RestartPolicy = corev1.RestartPolicyNever
	spec.Volumes, spec.Containers = l.volumes(), []corev1.Container{l.container()}
	return spec
}

func (l *Launch) volumes() []corev1.Volume {
	results := corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}
	if l.Storage.Claim != "" {
		results = corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{
			ClaimName: l.Storage.Claim}}
	}
	memory := corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}
	all := []corev1.Volume{{Name: "results", VolumeSource: results}, {Name: "control", VolumeSource: memory},
		{Name: "tmp", VolumeSource: memory}}
	if len(l.Profiles) == 0 {
		return all
	}
	return append(all, corev1.Volume{Name: "profiles", VolumeSource: corev1.VolumeSource{
		ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{
			Name: l.ProfilesName()}}}})
}

func (l *Launch) mounts() []corev1.VolumeMount {
	all := []corev1.VolumeMount{{Name: "results", MountPath: l.resultsDir()}, {Name: "control", MountPath: controlDir},
		{Name: "tmp", MountPath: "/tmp"}}
	if len(l.Profiles) == 0 {
		return all
	}
	return append(all, corev1.VolumeMount{Name: "profiles", MountPath: profilesDir + "/" + l.Harness, ReadOnly: true})
}

func (l *Launch) container() corev1.Container {
	resources := quantities(l.CPU, l.Memory)
	return corev1.Container{Name: Container, Image: l.Image, Command: []string{Program}, Args: l.args(), Env: l.env(),
		WorkingDir: "/tmp", Resources: corev1.ResourceRequirements{Requests: resources, Limits: resources},
		SecurityContext: restrictedContainer(), VolumeMounts: l.mounts()}
}

// args wraps the command into `worker run`, which keeps its results. An idle pod leaves nothing on the volume.
func (l *Launch) args() []string {
	if l.Idle {
		return []string{"worker", "run", "--results", "/tmp/idle", "--hold", l.Hold.String(), "--", "version"}
	}
	args := []string{"worker", "run", "--results", "$(RESULTS)"}
	if l.Hold > 0 {
		args = append(args, "--hold", l.Hold.String())
	}
	return append(append(args, "--"), l.Args...)
}

// ProfilePath is the path of a profile inside the pods.
func (l *Launch) ProfilePath(name string) string { return profilesDir + "/" + l.Harness + "/" + name }

// env returns the variables of the container, sorted by name after those that others refer to.
func (l *Launch) env() []corev1.EnvVar {
	field := func(name, path string) corev1.EnvVar {
		return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{
			FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}}
	}
	const index = "metadata.annotations['batch.kubernetes.io/job-completion-index']"
	all := []corev1.EnvVar{field("POD_NAME", "metadata.name"), field("POD_UID", "metadata.uid"),
		field("JOB_COMPLETION_INDEX", index),
		{Name: "RESULTS", Value: l.resultsDir() + "/" + l.ID + "_$(JOB_COMPLETION_INDEX)"}}
	plain := l.variables()
	for _, name := range slices.Sorted(maps.Keys(plain)) {
		if _, isSecret := l.SecretEnv[name]; !isSecret {
			all = append(all, corev1.EnvVar{Name: name, Value: plain[name]})
		}
	}
	return append(all, secretVariables(l.SecretEnv)...)
}

// variables returns those of the contract with the shell launcher, and the user's, which take precedence.
func (l *Launch) variables() map[string]string {
	all := map[string]string{"TZ": "UTC", "HOME": "/tmp", "LLMDBENCH_RUN_EXPERIMENT_LAUNCHER": "1",
		"LLMDBENCH_HARNESS_NAME": l.Harness, "LLMDBENCH_HARNESS_NAMESPACE": l.Namespace,
		"LLMDBENCH_RUN_EXPERIMENT_ID": l.ID, "LLMDBENCH_RUN_EXPERIMENT_RESULTS_DIR_PREFIX": l.resultsDir(),
		"LLMDBENCH_RUN_WORKSPACE_DIR": strings.TrimSuffix(profilesDir, "/profiles")}
	maps.Copy(all, stack.Variables(l.Stack.Method, l.Stack.Namespace, l.Stack.Model))
	if l.Stack.URL != "" {
		all["LLMDBENCH_HARNESS_STACK_ENDPOINT_URL"] = l.Stack.URL
	}
	maps.Copy(all, l.Env)
	return all
}

func kind(version, name string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: version, Kind: name}
}

func yes() *bool { v := true; return &v }
func no() *bool  { v := false; return &v }

// Described returns what the specification of a pod records about its launch: image, account, storage, nodes.
func Described(spec *corev1.PodSpec) Launch {
	l := Launch{ServiceAccount: spec.ServiceAccountName, Placement: Placement{spec.NodeSelector, spec.Tolerations},
		Storage: Storage{ResultsDir: DefaultResultsDir}}
	if c := spec.SecurityContext; c != nil && c.FSGroup != nil {
		l.FSGroup = *c.FSGroup
	}
	for _, s := range spec.ImagePullSecrets {
		l.PullSecrets = append(l.PullSecrets, s.Name)
	}
	for _, v := range spec.Volumes {
		if v.Name == "results" && v.PersistentVolumeClaim != nil {
			l.Storage.Claim = v.PersistentVolumeClaim.ClaimName
		}
	}
	for _, c := range spec.Containers {
		l.Image = c.Image
		for _, m := range c.VolumeMounts {
			if m.Name == "results" {
				l.Storage.ResultsDir = m.MountPath
			}
		}
	}
	return l
}
