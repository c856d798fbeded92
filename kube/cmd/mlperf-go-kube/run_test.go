package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/urfave/cli/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mlperf-go/mlperf-go/kube/kubetest"
	"github.com/mlperf-go/mlperf-go/kube/launch"
	"github.com/mlperf-go/mlperf-go/kube/objects"
	"github.com/mlperf-go/mlperf-go/kube/snapshot"
	"github.com/mlperf-go/mlperf-go/kube/target"
	"github.com/mlperf-go/mlperf-go/kube/testcluster"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/workload/bench"
	"github.com/mlperf-go/mlperf-go/workload/contract"
	"github.com/mlperf-go/mlperf-go/workload/shard"
)

func TestMain(m *testing.M) { testcluster.Main(m) }

const own = `schema: mlperf-go/profile/1
name: own
api: {kind: completions}
data: {kind: random, input: {kind: fixed, mean: 20}, output: {kind: fixed, mean: 4}}
load: {stages: [{arrival: constant, rate: 20, requests: 20}]}
`

// kube runs a command line.
func kube(args ...string) (code int, stdout, stderr string) {
	var out, failed bytes.Buffer
	code = mainCode(append([]string{"mlperf-go-kube"}, args...), &out, &failed)
	return code, out.String(), failed.String()
}

func dry(args ...string) (code int, stdout, stderr string) {
	return kube(append([]string{"run", "--dry-run", "--image", "i", "--id", "x"}, args...)...)
}

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestForgottenValue(t *testing.T) {
	code, _, stderr := dry("--workload", "--endpoint-url", "http://server:8000")
	require.Equal(t, exit.StatusUsage, code)
	require.Contains(t, stderr, "--workload requires a value, but --endpoint-url follows it")
}

// Commands of flags alone reject other words, and so do those below another command.
func TestStrayWords(t *testing.T) {
	for _, args := range [][]string{{"rights", "me"}, {"server", "down", "vllm"}} {
		code, _, stderr := kube(args...)
		require.Equal(t, exit.StatusUsage, code, args)
		require.Contains(t, stderr, "unexpected argument")
	}
}

// TestContract checks that every setting of a cluster is a flag, with the contract's short name, variables and default.
func TestContract(t *testing.T) {
	flags := map[string]cli.Flag{}
	for _, f := range (runCommand{&program{}}).command().Flags {
		flags[f.Names()[0]] = f
	}
	for _, s := range contract.Settings() {
		if s.Flag == "" || s.Place == contract.Ignored {
			continue
		}
		f, there := flags[s.Flag]
		require.True(t, there, "--%s", s.Flag)
		if s.Short != "" {
			require.Contains(t, f.Names(), s.Short)
		}
		if f, ok := f.(*cli.BoolFlag); ok && s.Place == contract.Cluster {
			require.Equal(t, s.Variables, f.EnvVars)
		}
		if f, ok := f.(*cli.StringFlag); ok && s.Place == contract.Cluster {
			require.Equal(t, s.Variables, f.EnvVars)
			if s.Flag != "pvc" { // results need no claim here
				require.Equal(t, s.Default, f.Value, "--%s", s.Flag)
			}
		}
	}
}

// TestProfiles prints the objects of command lines and checks the commands of their pods.
func TestProfiles(t *testing.T) {
	treatments := write(t, "treatments:\n- {name: slow, load.stages.0.rate: 0.5}\n- {name: fast, load.stages.0.rate: 9}\n")
	own := write(t, own)
	predefined := []string{"-l", "inference-perf", "-w", "sanity-random", "-U", "http://h:1"}
	for name, c := range map[string]struct {
		args []string
		env  map[string]string
		want []string
		jobs int
	}{
		"tolerations": {append(predefined, "--toleration", "gpu", "--toleration", "pool=bench:NoExecute"), nil,
			[]string{"- key: gpu\n        operator: Exists\n",
				"- effect: NoExecute\n        key: pool\n        operator: Equal\n        value: bench\n"}, 1},
		"file": {[]string{"-w", own, "-U", "http://h:1"}, nil, []string{"name: own", "- http://h:1"}, 1},
		"name": {predefined, nil, []string{"name: sanity_random", "arrival: scattered",
			"serviceAccountName: inference-perf-runner"}, 1},
		"overrides":  {append(predefined, "-o", "total_count=77"), nil, []string{"rows: 77"}, 1},
		"models":     {append(predefined, "-m", "a/b,c"), nil, []string{"- a/b", "- c\n", "inference-perf-x-2"}, 2},
		"treatments": {append(predefined, "-e", treatments), nil, []string{"rate: 0.5", "rate: 9"}, 2},
		"variables": {[]string{"-U", "http://h:1"}, map[string]string{"LLMDBENCH_HARNESS": "inference-perf",
			"LLMDBENCH_WORKLOAD": "sanity_random", "LLMDBENCH_NAMESPACE": "stack,harness",
			"LLMDBENCH_HARNESS_NAMESPACE": "other", "LLMDBENCH_HARNESS_CPU_NR": "3",
			"LLMDBENCH_HARNESS_SERVICE_ACCOUNT": "runner", "LLMDBENCH_HARNESS_PVC_NAME": "claim",
			"LLMDBENCH_HARNESS_CPU_MEM": "7Gi", "LLMDBENCH_HARNESS_PVC_SIZE": "9Gi", "LLMDBENCH_RUN_EXPERIMENT_ID": "y",
			"LLMDBENCH_RUN_EXPERIMENT_RESULTS_DIR_PREFIX": "/results"},
			[]string{"name: sanity_random", "namespace: harness", `cpu: "3"`, "serviceAccountName: runner",
				"claimName: claim", "memory: 7Gi", "storage: 9Gi", "value: /results/x_", "mountPath: /results\n"}, 1},
		"caches": {append(predefined, "--reset-cache", "require"), nil, []string{"- --reset-cache\n        - require\n"}, 1},
		"caches of pods that start at different times": {append(predefined, "-j", "2"), nil,
			[]string{"- --reset-cache\n        - \"off\"\n"}, 1},
		"any server": {[]string{"-w", own, "-p", "serving,bench", "-t", "vllm"}, nil, []string{"- http://mock:1234",
			"mlperf-go/target: 'mock/vllm in the namespace serving", "namespace: bench\n"}, 1},
		"servers": {[]string{"-w", own, "-m", "a,b", "-t", "standalone, service/vllm:8000"}, nil,
			[]string{"target: 'mock/standalone in", "target: 'mock/service/vllm:8000 in", "inference-perf-x-4"}, 4},
		"servers of the environment": {[]string{"-w", own}, map[string]string{"LLMDBENCH_DEPLOY_METHODS": "a,b"},
			[]string{"target: 'mock/a in", "target: 'mock/b in"}, 2},
		"one selector": {[]string{"-w", own, "-t", "app=vllm,role=decode"}, nil,
			[]string{"target: 'mock/app=vllm,role=decode in"}, 1},
		"list beside a URL": {[]string{"-w", own, "-t", "a,b", "-U", "http://h:1"}, nil, []string{"- http://h:1"}, 1},

		"two servers": {[]string{"-w", own, "-U", "http://h:1,http://h:2"}, nil, []string{"- http://h:1", "- http://h:2"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			for k, v := range c.env {
				t.Setenv(k, v)
			}
			code, out, errs := dry(c.args...)
			require.Zero(t, code, errs)
			for _, want := range c.want {
				require.Contains(t, out, want)
			}
			require.Equal(t, c.jobs, strings.Count(out, "\nkind: Job\n"))
		})
	}
}

// TestScenarioFile sets flags of the cluster by a scenario file: they precede variables, and the command line precedes
// them.
func TestScenarioFile(t *testing.T) {
	file := write(t, `export LLMDBENCH_VLLM_COMMON_NAMESPACE=stack
export LLMDBENCH_HARNESS_NAMESPACE="${LLMDBENCH_VLLM_COMMON_NAMESPACE}-bench"
export LLMDBENCH_HARNESS_PVC_NAME=claim
export LLMDBENCH_HARNESS_CPU_NR=3
export LLMDBENCH_DEPLOY_METHODS=standalone
export LLMDBENCH_HARNESS_NAME=inference-perf
export LLMDBENCH_HARNESS_EXPERIMENT_PROFILE=sanity_random
export LLMDBENCH_CONTROL_DRY_RUN=1
`)
	t.Setenv("LLMDBENCH_NAMESPACE", "of-the-environment")
	t.Setenv("LLMDBENCH_HARNESS_CPU_MEM", "7Gi")
	for flags, want := range map[string][]string{
		"": {"namespace: stack-bench\n", "mock/standalone in the namespace stack:", "claimName: claim", `cpu: "3"`,
			"memory: 7Gi"},
		"-p a,b --cpu 5 -k=other -t vllm": {"namespace: b\n", "mock/vllm in the namespace a:", "claimName: other", `cpu: "5"`,
			"memory: 7Gi"},
	} {
		line := append(strings.Fields("run --image i --id x "+flags), "-c", file)
		code, out, errs := kube(line...)
		require.Zero(t, code, "%v: %s", line, errs)
		for _, text := range want {
			require.Contains(t, out, text)
		}
		require.NotContains(t, out, "of-the-environment")
	}
	code, _, errs := kube("run", "--image", "i", "-c", write(t, "LLMDBENCH_HARNESS_SKIP_RUN=perhaps\n"))
	require.Equal(t, exit.StatusUsage, code, errs)
	require.Contains(t, errs, "the variable of --skip")
}

// TestRightsOfTwoNamespaces prints the rights in the namespace of run's pods, and those for finding servers in the
// other namespace.
func TestRightsOfTwoNamespaces(t *testing.T) {
	code, out, errs := kube("rights", "-p", "stack,harness")
	require.Zero(t, code, errs)
	require.Equal(t, 2, strings.Count(out, "name: mlperf-go-launcher\n  namespace: harness\n"))
	require.Equal(t, 2, strings.Count(out, "name: mlperf-go-discovery\n  namespace: stack\n"))
}

func TestBadCommandLines(t *testing.T) {
	for want, args := range map[string][]string{
		"no workload is given": {"-U", "http://h:1"},
		"did you mean sanity":  {"-l", "inference-perf", "-w", "sanity_randon", "-U", "http://h:1"},
		"cannot be combined with": {"-l", "inference-perf", "-w", "sanity_random", "-U", "http://h:1", "-j", "2",
			"--shards", "2"},
		"expected KEY[=VALUE][:EFFECT]": {"-l", "inference-perf", "-w", "sanity_random", "-U", "http://h:1", "--toleration",
			"a:Never"},
		"--env HF_TOKEN would be readable in the Job": {"-l", "inference-perf", "-w", "sanity_random", "-U", "http://h:1",
			"--env", "HF_TOKEN=hf_abcdefghijklmnop"},
		"--live shows": {"-l", "inference-perf", "-w", "sanity_random", "-U", "http://h:1", "--live", ":0"},
		`--reset-cache "sometimes" is not one of auto, off, require`: {"-l", "inference-perf", "-w", "sanity_random", "-U",
			"http://h:1", "--reset-cache", "sometimes"},
		`-t "a,,b" has an empty name, or one twice`: {"-l", "inference-perf", "-w", "sanity_random", "-t", "a,,b"},
		`-t "a,b,a" has`:     {"-l", "inference-perf", "-w", "sanity_random", "-t", "a,b,a"},
		"is not absolute":    {"-l", "inference-perf", "-w", "sanity_random", "--results-dir", "x"},
		"expected KEY=VALUE": {"-l", "inference-perf", "-w", "sanity_random", "-U", "http://h:1", "-o", "min"},
		`unexpected argument "seed=3" of run`: {"-l", "inference-perf", "-w", "sanity_random", "-U", "http://h:1", "-o",
			"min=2", "seed=3", "--shards", "2"},
		"cannot read the treat": {"-l", "inference-perf", "-w", "sanity_random", "-U", "http://h:1", "-e", "absent.yaml"},
	} {
		code, out, errs := dry(args...)
		require.Equal(t, 2, code, errs)
		require.Empty(t, out)
		require.Contains(t, errs, want)
	}
}

// TestLargeProfile rejects a profile that a ConfigMap cannot hold.
func TestLargeProfile(t *testing.T) {
	path := write(t, own+"description: "+strings.Repeat("x", maxProfile)+"\n")
	code, out, errs := dry("-w", path, "-U", "http://h:1")
	require.Equal(t, 2, code, errs)
	require.Empty(t, out)
	require.Contains(t, errs, "has more than 921600 bytes")
	require.Contains(t, errs, "Put large data on the volume")
}

// TestShardsThatCannotDivide rejects workloads that cannot be divided into shards before any object is created.
func TestShardsThatCannotDivide(t *testing.T) {
	const stage, data = "stages: [{arrival: constant, rate: 20, requests: 20}]", "kind: random, "
	for want, change := range map[string][2]string{
		"stage 0: 3 shards cannot divide 2 conversations": {data,
			"kind: conversations, turns: {conversations: 2, count: {kind: fixed, mean: 2}}, "},
		"stage 0: 3 shards cannot divide 2": {stage, "stages: [{arrival: closed, concurrency: 2, requests: 20}]"},
		"a sweep cannot": {stage,
			"sweep: {kind: linear, stages: 2, arrival: constant, stage_duration: 1s}"},
	} {
		code, out, errs := dry("-w", write(t, strings.Replace(own, change[0], change[1], 1)), "-U", "http://h:1",
			"--shards", "3")
		require.Equal(t, 2, code, errs)
		require.Empty(t, out)
		require.Contains(t, errs, "--shards 3: "+want)
	}
}

// TestTreatments runs two treatments of a predefined profile in pods, in sequence.
func TestTreatments(t *testing.T) {
	t.Parallel()
	tc := kubetest.Cluster(t)
	url := kubetest.Simulator(t, "--ttft", "2ms", "--tpot", "1ms")
	treatments := write(t, "treatments:\n- {name: few, load.stages.0.duration: 1s}\n"+
		"- {name: more, load.stages.0.duration: 2s}\n")
	output := t.TempDir()
	code, _, errs := kube("run", "--kubeconfig", tc.UserKubeconfig(true), "-p", kubetest.Namespace(t, tc),
		"--image", kubetest.ImageName, "--cpu", "1", "--memory", "1Gi", "-r", output, "-l", "inference-perf",
		"-w", "sanity-random", "-e", treatments, "-o", "load.stages.0.rate=20", "-U", url, "--id", "both")
	require.LessOrEqual(t, code, 1, errs) // a busy machine makes a run INVALID
	for folder, requests := range map[string]int{"sanity_random-few": 20, "sanity_random-more": 40} {
		found, err := filepath.Glob(filepath.Join(output, folder, "both-*_0", "run"))
		require.NoError(t, err)
		require.Len(t, found, 1, errs)
		r, err := bench.Read(found[0])
		require.NoError(t, err)
		require.EqualValues(t, requests, r.Measured.Total.Requests.OK)
	}
}

// TestAttempts tries a treatment again whose server does not answer. Each attempt has an id and a folder of its own.
func TestAttempts(t *testing.T) {
	t.Parallel()
	tc := kubetest.Cluster(t)
	output := filepath.Join(t.TempDir(), "results")
	treatments := write(t, "treatment_max_attempts: 2\ntreatments:\n- {name: slow, load.stages.0.rate: 5}\n")
	code, _, errs := kube("run", "--kubeconfig", tc.UserKubeconfig(true), "-p", kubetest.Namespace(t, tc), "--image",
		kubetest.ImageName, "--cpu", "1", "--memory", "1Gi", "-r", output, "-w", write(t, own), "-e", treatments, "-U",
		"http://127.0.0.1:1", "--id", "twice")
	require.NotZero(t, code, errs)
	require.Contains(t, errs, "attempt 2 of 2: twice-attempt-2")
	require.NotContains(t, errs, "attempt 3")
	for _, folder := range []string{"results/twice_0", "results-attempt-2/twice-attempt-2_0"} {
		require.FileExists(t, filepath.Join(filepath.Dir(output), folder, "worker.json"))
	}
}

// TestTryAgain lists what is worth another attempt: a lost pod or a failed command, but not a pod that cannot start.
func TestTryAgain(t *testing.T) {
	broken := &corev1.Pod{}
	broken.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{
		Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull"}}}}
	lost := &corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted"}}
	for name, c := range map[string]struct {
		exits []int // of the command in each attempt
		err   error // of each attempt
		want  int   // attempts
	}{
		"a success":               {exits: []int{0}, want: 1},
		"a failure at first":      {exits: []int{1, 0}, want: 2},
		"failures only":           {exits: []int{1, 1, 1}, want: 3},
		"a lost pod":              {exits: []int{0, 0, 0}, err: launch.Judge(lost, time.Now()).AsError(), want: 3},
		"a pod that cannot start": {exits: []int{0}, err: launch.Judge(broken, time.Now()).AsError(), want: 1},
		"another error":           {exits: []int{0}, err: errors.New("the disk is full"), want: 1},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := runCommand{&program{stderr: io.Discard}}
			var folders []string
			err := cmd.tryAgain(3, &watcher{stop: t.Context()}, launch.Options{Output: "out"}, func(o launch.Options) error {
				cmd.exit = c.exits[len(folders)]
				folders = append(folders, o.Output)
				return c.err
			})
			require.Equal(t, c.err, err)
			require.Equal(t, []string{"out", "out-attempt-2", "out-attempt-3"}[:c.want], folders)
			require.Equal(t, c.exits[c.want-1], cmd.exit)
		})
	}
}

// TestFoundServer measures a server in a pod that is found by its name.
func TestFoundServer(t *testing.T) {
	t.Parallel()
	tc := kubetest.Cluster(t)
	kubeconfig := tc.UserKubeconfig(true)
	stack, bed := kubetest.Namespace(t, tc), kubetest.Namespace(t, tc)
	port := startServer(t, tc, stack, "vllm-0")
	output := t.TempDir()
	args := []string{"run", "--kubeconfig", kubeconfig, "--image", kubetest.ImageName, "--cpu", "1", "--memory", "1Gi",
		"-r", output, "-w", write(t, own), "--id", "found"}
	code, _, errs := kube(append(args, "-p", stack+","+bed, "-t", "vllm")...)
	require.LessOrEqual(t, code, 1, errs)
	url := fmt.Sprintf("http://127.0.0.1:%d", port)
	require.Contains(t, errs, "the server is pod/vllm-0 in the namespace "+stack+": "+url)
	text, err := os.ReadFile(filepath.Join(output, "target.json"))
	require.NoError(t, err)
	require.Contains(t, string(text), url)
	r, err := bench.Read(filepath.Join(output, "found_0", "run"))
	require.NoError(t, err)
	require.EqualValues(t, 20, r.Measured.Total.Requests.OK)
	require.Equal(t, record.CacheEmptied, r.Endpoints[0].PrefixCache)
	text, err = os.ReadFile(filepath.Join(output, "found_0", "run", bench.MarkerName))
	require.NoError(t, err)
	require.Contains(t, string(text), `experiment_id: "found"`)
	logs, err := filepath.Glob(filepath.Join(output, "logs", "inference-perf-found-*.log"))
	require.NoError(t, err)
	require.Len(t, logs, 1)
	text, err = os.ReadFile(logs[0])
	require.NoError(t, err)
	require.Contains(t, string(text), `LLMDBENCH_EVENT_V1 traffic_complete experiment_id="found" final_stage_id=0`)
	text, err = os.ReadFile(filepath.Join(output, snapshot.LogsFolder, "vllm-0_server.log"))
	require.NoError(t, err)
	require.Contains(t, string(text), url)
	text, err = os.ReadFile(filepath.Join(output, snapshot.StateFolder, "pod.yaml"))
	require.NoError(t, err)
	require.Contains(t, string(text), "name: vllm-0\n")
	require.Contains(t, string(text), "phase: Running")
	require.NotContains(t, string(text), serverToken)
	require.FileExists(t, filepath.Join(output, snapshot.StateFolder, "node.yaml"))

	code, _, errs = kube(append(args, "-p", bed+","+bed)...)
	require.Equal(t, 2, code, errs)
	require.Contains(t, errs, `nothing in the namespace "`+bed+`" is a server named "modelservice"`)
}

// TestSeveralServers measures each server of --methods in turn, with a folder and an id of its own.
func TestSeveralServers(t *testing.T) {
	t.Parallel()
	tc := kubetest.Cluster(t)
	namespace, output := kubetest.Namespace(t, tc), t.TempDir()
	names := []string{"one", "two"}
	var ports []int32
	for _, name := range names {
		ports = append(ports, startServer(t, tc, namespace, name))
	}
	code, _, errs := kube("run", "--kubeconfig", tc.UserKubeconfig(true), "-p", namespace, "--image", kubetest.ImageName,
		"--cpu", "1", "--memory", "1Gi", "-r", output, "-w", write(t, own), "--id", "x", "-t", strings.Join(names, ","))
	require.LessOrEqual(t, code, 1, errs) // a busy machine makes a run INVALID
	for i, name := range names {
		folder := filepath.Join(output, name+"-own")
		text, err := os.ReadFile(filepath.Join(folder, "target.json"))
		require.NoError(t, err, errs)
		url := fmt.Sprintf("http://127.0.0.1:%d", ports[i])
		require.Contains(t, string(text), url)
		r, err := bench.Read(filepath.Join(folder, fmt.Sprintf("x-%d_0", i+1), "run"))
		require.NoError(t, err, errs)
		require.EqualValues(t, 20, r.Measured.Total.Requests.OK)
		require.Equal(t, url, r.Endpoints[0].URL)
	}
}

// serverToken is a secret of the server that startServer runs.
const serverToken = "hf_abcdefghijklmnopqrstuv"

// startServer runs a simulated server in a pod of a namespace, and returns its port once it is found.
func startServer(t *testing.T, tc *testcluster.Cluster, namespace, name string) int32 {
	t.Helper()
	port := tc.Port()
	access := kubetest.Connect(t, tc.Admin())
	shared := objects.Launch{Namespace: namespace, ServiceAccount: "default"}
	server := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}}
	server.Spec.Containers = []corev1.Container{{Name: "server", Image: kubetest.ImageName,
		Command: []string{objects.Program}, Args: []string{"sim", "--listen", fmt.Sprintf("127.0.0.1:%d", port)},
		Env:   []corev1.EnvVar{{Name: "HF_TOKEN", Value: serverToken}},
		Ports: []corev1.ContainerPort{{ContainerPort: port}}}}
	for _, o := range append(shared.Shared(), server) {
		_, err := access.Apply(t.Context(), o)
		require.NoError(t, err)
	}
	tc.Eventually(time.Minute, "the server is ready", func(ctx context.Context) error {
		_, err := target.Find(ctx, access, target.Query{Namespace: namespace, Name: name})
		return err
	})
	return port
}

// TestClaim leaves results on a claim, removes the job with its pods, and collects the results in three ways: by id
// from the claim, all of the claim with -z, and by id while the job exists. No object stays in the cluster.
func TestClaim(t *testing.T) {
	t.Parallel()
	tc := kubetest.Cluster(t)
	url, ns := kubetest.Simulator(t), kubetest.Namespace(t, tc)
	at := []string{"--kubeconfig", tc.UserKubeconfig(true), "-p", "serving," + ns, "--image", kubetest.ImageName,
		"-k", "workload-pvc"}
	run := func(more ...string) (int, string, string) {
		return kube(append(append([]string{"run", "--cpu", "1", "--memory", "1Gi", "--pvc-size", "1Gi", "-w", write(t, own),
			"-U", url}, at...), more...)...)
	}
	jobs := tc.Client().BatchV1().Jobs(ns)
	for _, id := range []string{"one", "two"} {
		code, _, errs := run("-r", t.TempDir(), "--id", id, "--keep")
		require.LessOrEqual(t, code, 1, errs)
	}
	background := metav1.DeletePropagationBackground
	require.NoError(t, jobs.Delete(t.Context(), "inference-perf-one",
		metav1.DeleteOptions{PropagationPolicy: &background}))
	tc.Eventually(time.Minute, "the pods of two have ended", func(ctx context.Context) error {
		j, err := jobs.Get(ctx, "inference-perf-two", metav1.GetOptions{})
		if err == nil && j.Status.Succeeded+j.Status.Failed == 0 {
			err = fmt.Errorf("%+v", j.Status)
		}
		return err
	})
	for name, c := range map[string]struct {
		args, want []string
	}{
		"by id":  {append(append([]string{"collect"}, at...), "one"), []string{"one_0"}},
		"all":    {append([]string{"run", "-z"}, at...), []string{"one_0", "two_0"}},
		"by job": {[]string{"collect", "-p", "x," + ns, "--kubeconfig", at[1], "--keep", "two"}, []string{"two_0"}},
	} {
		out := t.TempDir()
		code, _, errs := kube(append([]string{c.args[0], "-r", out}, c.args[1:]...)...)
		require.LessOrEqual(t, code, 1, "%s: %s", name, errs)
		for _, folder := range c.want {
			r, err := bench.Read(filepath.Join(out, folder, "run"))
			require.NoError(t, err, name)
			require.EqualValues(t, 20, r.Measured.Total.Requests.OK)
		}
		entries, err := os.ReadDir(out)
		require.NoError(t, err)
		require.Len(t, entries, len(c.want), name)
	}
	left, err := jobs.List(t.Context(), metav1.ListOptions{LabelSelector: "mlperf-go/run!=two"})
	require.NoError(t, err)
	require.Empty(t, left.Items, "the helper pods are gone")
	for want, args := range map[string][]string{
		`no results of the experiment "never"`:      append(append([]string{"collect"}, at...), "never"),
		"looking for the claim none":                append(append([]string{"run", "-z"}, at...), "-k", "none"),
		"Give --id with an experiment, or --pvc":    {"run", "-z", "--image", "i", "--kubeconfig", at[1]},
		"give --pvc and --image to collect from a ": {"collect", "-p", ns, "--kubeconfig", at[1], "never"},
	} {
		code, _, errs := kube(args...)
		require.NotZero(t, code)
		require.Contains(t, errs, want)
	}
}

// TestDebug starts a pod that runs no command, and runs the printed command in it.
func TestDebug(t *testing.T) {
	t.Parallel()
	tc := kubetest.Cluster(t)
	url, ns := kubetest.Simulator(t), kubetest.Namespace(t, tc)
	code, out, errs := kube("run", "-d", "--kubeconfig", tc.UserKubeconfig(true), "-p", ns, "--image",
		kubetest.ImageName, "--cpu", "1", "--memory", "1Gi", "-w", write(t, own), "-U", url, "--id", "look")
	require.Zero(t, code, errs)
	require.Contains(t, errs, "remove them with `kubectl -n "+ns+" delete job,configmap -l mlperf-go/run=look`")
	before, command, ok := strings.Cut(strings.TrimSpace(out), " -- ")
	require.True(t, ok, out)
	words := strings.Fields(before)
	var printed bytes.Buffer
	err := kubetest.Connect(t, tc.Admin()).Exec(t.Context(), ns, words[len(words)-1], objects.Container,
		strings.Fields(command), nil, &printed)
	if err != nil {
		require.ErrorContains(t, err, "exit code 1") // a busy machine makes a run INVALID
	}
	require.Contains(t, printed.String(), "20")
}

// The progress of shards is one line every five seconds, starting at once.
func TestProgressOfShards(t *testing.T) {
	var stderr bytes.Buffer
	show := (&watcher{program: &program{stderr: &stderr}}).Progress
	for sent := range int64(3) {
		show(shard.Progress{Stage: 1, Sent: 120 + sent, Ended: 112, Failed: 2, Output: 1500})
	}
	require.Equal(t, "stage 1: 120 sent, 110 answered, 2 failed, 1500 output tokens\n", stderr.String())
}
