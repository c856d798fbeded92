package main

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/yaml"

	"github.com/mlperf-go/mlperf-go/kube/objects"
)

// option is a choice on a command line: the flags of each alternative, separated by spaces.
type option []string

// product calls f with every combination of the alternatives.
func product(options []option, f func(args []string)) {
	if len(options) == 0 {
		f(nil)
		return
	}
	product(options[1:], func(args []string) {
		for _, flags := range options[0] {
			f(append(strings.Fields(flags), args...))
		}
	})
}

// secretValues are in the environment of the launcher, and must not be in any object.
var secretValues = map[string]string{"HF_TOKEN": "hf_launchersowntoken", "MLPERF_GO_API_KEY": "launchersownkey",
	"VLLM_API_KEY": "launchersownvllmkey"}

// placing are placement options of the pods of every command.
var placing = []option{{"", "--secret-env HF_TOKEN=hf:token --secret-env MLPERF_GO_API_KEY=server:key"},
	{"", "--node-selector pool=x --toleration gpu --toleration a=b:NoExecute --pull-secret registry"},
	{"", "--fs-group 0"}}

// TestEveryCombination prints the objects of every combination of the options that change them. The API server would
// accept each object without a warning, and each pod passes the cluster's own checks of the restricted Pod Security
// Standard. testdata/combinations-*.txt have a digest of the objects of each combination, so that no change goes
// unnoticed; -update writes them anew.
func TestEveryCombination(t *testing.T) {
	for name, value := range secretValues {
		t.Setenv(name, value)
	}
	profile := write(t, own)
	treatments := write(t, "treatments:\n- {name: slow, load.stages.0.rate: 5}\n- {name: fast, load.stages.0.rate: 9}\n")
	for name, c := range map[string]struct {
		command string
		options []option
		at      int // number of combinations
	}{
		"run": {"run -p stack,bench --id x --image example/mlperf-go:1 -w " + profile, append([]option{
			{"", "-k claim", "-k claim --storage-class fast --pvc-size 3Gi --results-dir /results"},
			{"", "--env A=b --cpu 500m --memory 1Gi --serviceaccount sa"}, {"", "-j 4",
				"--shards 8 --metrics --metrics-interval 2s --metrics-url http://gw/metrics --live :0 --live-control", "-d"},
			{"-U http://server:8000", "-t vllm -e " + treatments, "-t vllm -m org/a,org/b"}}, placing...), 576},
		"submission": {"submission -p stack,bench --id x --image example/mlperf-go:1 -k claim --model llama3.1-8b",
			append([]option{{"", "--restarts 0 --run-only --live :0"}, {"", "-t vllm", "--endpoint http://server:8000"},
				{"", "--storage-class fast --results-dir /results"}, {"", "--file " + profile + " --system " + profile}},
				placing...), 192},
		"server": {"server up -p stack,bench --image example/engine:1", append([]option{
			{"--server-config ../../../configs/backends/vllm.yaml", "--server-config ../../../configs/backends/sglang.yaml"},
			{"", "--gpu-resource amd.com/gpu"},
			{"", "--replicas 3 --name other --health-path /up --cpu 8 --memory 64Gi --serviceaccount sa"},
			{"", "--cache-claim weights --model /cache/m --run-as-user 0"}}, placing...), 128},
		"nop": {"nop -p stack,bench --image example/engine:1 --server-config ../../../configs/backends/vllm.yaml",
			append([]option{{"", "--load-format safetensors", "--load-format tensorizer", "--load-format runai_streamer",
				"--load-format fastsafetensors"}, {"", "--preprocess x.sh"}}, placing...), 80},
	} {
		t.Run(name, func(t *testing.T) {
			n, digests := 0, digestsOf(t, name)
			product(c.options, func(args []string) {
				n++
				// Flags come first: a campaign's own follow those of the launcher.
				line := append(strings.Fields(c.command), append(args, "--dry-run")...)
				code, out, errs := kube(line...)
				require.Zero(t, code, "%v: %s", line, errs)
				checkObjects(t, strings.Join(line, " "), out)
				digests.check(t, line, out)
			})
			require.Equal(t, c.at, n)
			digests.end(t)
		})
	}
}

var update = flag.Bool("update", false, "write the digests of all combinations anew")

// digests are those of one command's combinations, in their order.
type digests struct {
	path      string
	want, got []string
}

func digestsOf(t *testing.T, command string) *digests {
	d := &digests{path: "testdata/combinations-" + command + ".txt"}
	if !*update {
		text, err := os.ReadFile(d.path)
		require.NoError(t, err)
		d.want = strings.Fields(string(text))
	}
	return d
}

// check compares the objects of the next combination.
func (d *digests) check(t *testing.T, line []string, objects string) {
	t.Helper()
	digest := fmt.Sprintf("%x", sha256.Sum256([]byte(objects)))[:12]
	if d.got = append(d.got, digest); *update {
		return
	}
	require.Greater(t, len(d.want), len(d.got)-1, "-update writes the file anew")
	if want := d.want[len(d.got)-1]; want != digest {
		t.Fatalf("the objects of this command line have changed; if they are right, -update writes the digests anew:\n%s\n%s",
			strings.Join(line, " "), objects)
	}
}

func (d *digests) end(t *testing.T) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(d.path, []byte(strings.Join(d.got, "\n")+"\n"), 0o644))
		return
	}
	require.Len(t, d.got, len(d.want))
}

// checkObjects decodes the objects of a dry run, and checks each of them and the references between them.
func checkObjects(t *testing.T, line, text string) {
	t.Helper()
	for _, value := range secretValues {
		require.NotContains(t, text, value, line)
	}
	seen := map[string]bool{} // kind/name of the objects so far: objects are applied before those that refer to them
	jobs := 0
	for _, document := range strings.Split(text, "\n---\n") {
		var kind metav1.PartialObjectMetadata
		require.NoError(t, yaml.Unmarshal([]byte(document), &kind), line)
		o, known := decoders[kind.Kind]
		require.True(t, known, "%s: %s", line, kind.Kind)
		object := o()
		require.NoError(t, yaml.UnmarshalStrict([]byte(document), object), line)
		require.Empty(t, validation.IsDNS1123Label(kind.Name), "%s: %s", line, kind.Name)
		require.Equal(t, kind.Kind == "Namespace", kind.Namespace == "", line)
		if object, ok := object.(*batchv1.Job); ok {
			jobs++
			checkJob(t, line, object, seen)
		}
		if object, ok := object.(*appsv1.Deployment); ok {
			checkPod(t, line, &object.Spec.Template, seen)
			require.Subset(t, object.Spec.Template.Labels, object.Spec.Selector.MatchLabels, line)
		}
		if object, ok := object.(*corev1.Service); ok {
			require.True(t, seen["Deployment/"+object.Name], line)
			require.Equal(t, map[string]string{objects.LabelServer: object.Name}, object.Spec.Selector, line)
		}
		require.False(t, seen[kind.Kind+"/"+kind.Name], "%s: %s twice", line, kind.Name)
		seen[kind.Kind+"/"+kind.Name] = true
	}
	wanted := 1
	if (strings.Contains(line, " -e ") || strings.Contains(line, " -m ")) && !strings.Contains(line, " -d") {
		wanted = 2
	}
	if jobs > 0 {
		require.Equal(t, wanted, jobs, line)
	}
}

var decoders = map[string]func() runtime.Object{
	"Namespace":             func() runtime.Object { return &corev1.Namespace{} },
	"ServiceAccount":        func() runtime.Object { return &corev1.ServiceAccount{} },
	"PersistentVolumeClaim": func() runtime.Object { return &corev1.PersistentVolumeClaim{} },
	"ConfigMap":             func() runtime.Object { return &corev1.ConfigMap{} },
	"Job":                   func() runtime.Object { return &batchv1.Job{} },
	"Deployment":            func() runtime.Object { return &appsv1.Deployment{} },
	"Service":               func() runtime.Object { return &corev1.Service{} },
}

func checkJob(t *testing.T, line string, j *batchv1.Job, seen map[string]bool) {
	t.Helper()
	checkPod(t, line, &j.Spec.Template, seen)
	pods := int32(1)
	for flag, n := range map[string]int32{" -j 4": 4, " --shards 8": 8} {
		if strings.Contains(line, flag) {
			pods = n
		}
	}
	require.Equal(t, []int32{pods, pods}, []int32{*j.Spec.Completions, *j.Spec.Parallelism}, line)
	require.Equal(t, batchv1.IndexedCompletion, *j.Spec.CompletionMode, line)
	require.Equal(t, j.Labels, j.Spec.Template.Labels, line)
	harness := strings.TrimSuffix(strings.TrimPrefix(j.Labels["app"], "llmdbench-"), "-launcher")
	require.Equal(t, harness+"-"+j.Labels[objects.LabelRun], j.Name, line)
	require.Equal(t, strings.Contains(line, "-t vllm"), j.Annotations[objects.AnnotationTarget] != "", line)
	require.Equal(t, strings.Contains(line, "--shards 8") && !strings.Contains(line, " -d"),
		slices.Contains(j.Spec.Template.Spec.Containers[0].Args, "$(JOB_COMPLETION_INDEX)/8"), line)
}

// checkPod checks a pod, and that every object it refers to was applied before or belongs to the user.
func checkPod(t *testing.T, line string, p *corev1.PodTemplateSpec, seen map[string]bool) {
	t.Helper()
	for _, r := range restrictedStandard.EvaluatePod(api.LevelVersion{Level: api.LevelRestricted,
		Version: api.LatestVersion()}, &p.ObjectMeta, &p.Spec) {
		require.True(t, r.Allowed, "%s: %s: %s", line, r.ForbiddenReason, r.ForbiddenDetail)
	}
	require.False(t, *p.Spec.AutomountServiceAccountToken, line)
	require.True(t, seen["ServiceAccount/"+p.Spec.ServiceAccountName], line)
	volumes := map[string]bool{}
	for _, v := range p.Spec.Volumes {
		volumes[v.Name] = true
		require.Nil(t, v.Secret, line)
		if v.ConfigMap != nil {
			require.True(t, seen["ConfigMap/"+v.ConfigMap.Name], line)
		}
		if c := v.PersistentVolumeClaim; c != nil {
			require.True(t, seen["PersistentVolumeClaim/"+c.ClaimName] || c.ClaimName == "weights", line)
		}
	}
	require.Equal(t, strings.Contains(line, "--node-selector"), p.Spec.NodeSelector["pool"] == "x", line)
	require.Equal(t, strings.Contains(line, "--node-selector"), len(p.Spec.ImagePullSecrets) == 1, line)
	require.Equal(t, strings.Contains(line, "--toleration"), slices.Contains(p.Spec.Tolerations,
		corev1.Toleration{Key: "a", Operator: corev1.TolerationOpEqual, Value: "b",
			Effect: corev1.TaintEffectNoExecute}), line)
	require.Equal(t, strings.Contains(line, "--fs-group 0"), p.Spec.SecurityContext.FSGroup == nil, line)
	require.Len(t, p.Spec.Containers, 1, line)
	c := &p.Spec.Containers[0]
	mounted := map[string]bool{}
	for _, m := range c.VolumeMounts {
		mounted[m.Name] = true
	}
	require.Equal(t, volumes, mounted, line)
	checkVariables(t, line, c)
}

// checkVariables checks that variables have different names, and that secrets are references.
func checkVariables(t *testing.T, line string, c *corev1.Container) {
	t.Helper()
	variables := map[string]string{}
	for _, e := range c.Env {
		require.NotContains(t, variables, e.Name, line)
		variables[e.Name] = e.Value
		if from := e.ValueFrom; from != nil && from.SecretKeyRef != nil {
			variables[e.Name] = fmt.Sprintf("%s:%s", from.SecretKeyRef.Name, from.SecretKeyRef.Key)
		}
	}
	for name, want := range map[string]string{"HF_TOKEN": "hf:token", "MLPERF_GO_API_KEY": "server:key"} {
		if !strings.Contains(line, "--secret-env") {
			want = ""
		}
		require.Equal(t, want, variables[name], line)
	}
}

// restrictedStandard are the checks of the API server's admission.
var restrictedStandard = func() policy.Evaluator {
	e, err := policy.NewEvaluator(policy.DefaultChecks())
	if err != nil {
		panic(err)
	}
	return e
}()
