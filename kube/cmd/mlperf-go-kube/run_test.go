package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/kube/kubetest"
	"github.com/mlperf-go/mlperf-go/kube/testcluster"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/workload/bench"
	"github.com/mlperf-go/mlperf-go/workload/contract"
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

// TestContract checks every setting of a cluster: it is a flag here, with the contract's short name, variables and
// default, or it is listed with the reason.
func TestContract(t *testing.T) {
	missing := map[string]string{
		"methods": "endpoints are not discovered yet",
		"skip":    "kube collect ID does it",
		"debug":   "no pod sleeps yet",
	}
	flags := map[string]cli.Flag{}
	for _, f := range (runCommand{&program{}}).command().Flags {
		flags[f.Names()[0]] = f
	}
	for _, s := range contract.Settings() {
		if s.Flag == "" || s.Place == contract.Ignored {
			continue
		}
		f, there := flags[s.Flag]
		require.Equal(t, missing[s.Flag] == "", there, "--%s", s.Flag)
		if !there {
			continue
		}
		if s.Short != "" {
			require.Contains(t, f.Names(), s.Short)
		}
		if f, ok := f.(*cli.StringFlag); ok && s.Place == contract.Cluster {
			require.Equal(t, s.Variables, f.EnvVars)
			if s.Flag != "pvc" { // results need no claim here
				require.Equal(t, s.Default, f.Value, "--%s", s.Flag)
			}
		}
	}
}

// TestProfiles prints the objects of command lines and looks at what the pods would run.
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
		"file":       {[]string{"-w", own, "-U", "http://h:1"}, nil, []string{"name: own", "- http://h:1"}, 1},
		"name":       {predefined, nil, []string{"name: sanity_random", "arrival: scattered"}, 1},
		"overrides":  {append(predefined, "-o", "total_count=77"), nil, []string{"rows: 77"}, 1},
		"models":     {append(predefined, "-m", "a/b,c"), nil, []string{"- a/b", "- c\n", "inference-perf-x-2"}, 2},
		"treatments": {append(predefined, "-e", treatments), nil, []string{"rate: 0.5", "rate: 9"}, 2},
		"variables": {[]string{"-U", "http://h:1"}, map[string]string{"LLMDBENCH_HARNESS": "inference-perf",
			"LLMDBENCH_WORKLOAD": "sanity_random", "LLMDBENCH_NAMESPACE": "stack,harness",
			"LLMDBENCH_HARNESS_NAMESPACE": "other", "LLMDBENCH_HARNESS_CPU_NR": "3",
			"LLMDBENCH_HARNESS_SERVICE_ACCOUNT": "runner", "LLMDBENCH_HARNESS_PVC_NAME": "claim"},
			[]string{"name: sanity_random", "namespace: harness", `cpu: "3"`, "serviceAccountName: runner",
				"claimName: claim"}, 1},
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

// TestRightsOfTwoNamespaces prints the rights in the namespace in which run creates its pods.
func TestRightsOfTwoNamespaces(t *testing.T) {
	code, out, errs := kube("rights", "-p", "stack,harness")
	require.Zero(t, code, errs)
	require.Contains(t, out, "namespace: harness\n")
	require.NotContains(t, out, "stack")
}

func TestBadCommandLines(t *testing.T) {
	for want, args := range map[string][]string{
		"no workload is given": {"-U", "http://h:1"},
		"did you mean sanity":  {"-l", "inference-perf", "-w", "sanity_randon", "-U", "http://h:1"},
		"names a server":       {"-w", write(t, own)},
		"do not fit together": {"-l", "inference-perf", "-w", "sanity_random", "-U", "http://h:1", "-j", "2",
			"--shards", "2"},
		"expected KEY=VALUE":    {"-l", "inference-perf", "-w", "sanity_random", "-U", "http://h:1", "-o", "min"},
		"cannot read the treat": {"-l", "inference-perf", "-w", "sanity_random", "-U", "http://h:1", "-e", "absent.yaml"},
	} {
		code, out, errs := dry(args...)
		require.Equal(t, 2, code, errs)
		require.Empty(t, out)
		require.Contains(t, errs, want)
	}
}

// TestTreatments runs two treatments of a predefined profile in pods, one after the other.
func TestTreatments(t *testing.T) {
	tc := testcluster.Start(t)
	tc.Node("node-1", kubetest.Image(t))
	url := kubetest.Simulator(t, "--ttft", "2ms", "--tpot", "1ms")
	treatments := write(t, "treatments:\n- {name: few, load.stages.0.duration: 1s}\n"+
		"- {name: more, load.stages.0.duration: 2s}\n")
	output := t.TempDir()
	code, _, errs := kube("run", "--kubeconfig", tc.UserKubeconfig(true), "-p", "bench", "--image", kubetest.ImageName,
		"--cpu", "1", "--memory", "1Gi", "-r", output, "-l", "inference-perf", "-w", "sanity-random", "-e", treatments,
		"-o", "load.stages.0.rate=20", "-U", url, "--id", "both")
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
