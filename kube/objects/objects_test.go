package objects

import (
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var update = flag.Bool("update", false, "write the golden files")

// launches are one example of each kind, named after its golden file.
var launches = map[string]Launch{
	"temporary": {ID: "id", Namespace: "bench", Harness: "inference-perf", Image: "example/mlperf-go:1",
		ServiceAccount: "sa",
		Profiles:       map[string]string{"chat.yaml": "name: chat\n"}, Args: []string{"bench", "run"}, Pods: 1,
		CPU: resource.MustParse("16"), Memory: resource.MustParse("32Gi"), Hold: 24 * time.Hour, FSGroup: 65532},
	"claim": {ID: "id", Namespace: "bench", Harness: "guidellm", Image: "example/mlperf-go:1", ServiceAccount: "sa",
		Profiles: map[string]string{"chat.yaml": "name: chat\n"}, Args: []string{"bench", "run"}, Pods: 8, Attempts: 2,
		Storage:     Storage{Claim: "workload-pvc", Size: resource.MustParse("20Gi"), Class: "fast", ResultsDir: "/results"},
		PullSecrets: []string{"registry"}, Env: map[string]string{"TZ": "CET"}, Deadline: 90 * time.Second,
		SecretEnv: map[string]SecretKey{"HF_TOKEN": {"hf", "token"}},
		Placement: Placement{NodeSelector: map[string]string{"pool": "clients"},
			Tolerations: []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpExists}}}},
}

func init() {
	idle := launches["temporary"]
	idle.Idle, idle.Profiles, idle.Hold, idle.Expire = true, nil, time.Hour, time.Minute
	idle.Storage = Storage{Claim: "workload-pvc", Existing: true}
	claim := launches["claim"]
	claim.Stack = Stack{Model: "meta-llama/Llama-3.1-8B-Instruct", Method: "modelservice", Namespace: "serving",
		URL: "http://10.1.2.3:80"}
	launches["claim"] = claim
	idle.Stack = Stack{Model: "gpt2", Method: "service/vllm", Namespace: "serving"} // no valid label for the stack
	idle.Target = "service/vllm in the namespace serving: http://vllm.serving.svc:80"
	launches["idle"] = idle
}

// golden compares objects with testdata/NAME.yaml; -update writes it anew.
func golden(t *testing.T, name string, text []byte) {
	t.Helper()
	path := "testdata/" + name + ".yaml"
	if *update {
		require.NoError(t, os.WriteFile(path, text, 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), string(text), name)
}

// TestGoldenYAML compares all objects of a launch with a reviewed version; -update writes it anew.
func TestGoldenYAML(t *testing.T) {
	for name, l := range launches {
		text, err := YAML(l.Objects())
		require.NoError(t, err)
		golden(t, name, text)
		owner := metav1.OwnerReference{Kind: "ConfigMap", Name: l.ProfilesName(), UID: "u"}
		require.Equal(t, []metav1.OwnerReference{owner}, l.Job(&owner).OwnerReferences)
		spec := l.Job(nil).Spec.Template.Spec
		described := Described(&spec)
		require.Equal(t, l.resultsDir(), described.Storage.ResultsDir)
		require.Equal(t, l.Storage.Claim, described.Storage.Claim)
		require.Equal(t, []any{l.Image, l.ServiceAccount, l.PullSecrets, l.FSGroup, l.Placement},
			[]any{described.Image, described.ServiceAccount, described.PullSecrets, described.FSGroup,
				described.Placement})
	}
}

// TestNoSecretValues checks that an object refers to a Secret, and does not contain its value.
func TestNoSecretValues(t *testing.T) {
	text, err := YAML(launchesWithSecret().Objects())
	require.NoError(t, err)
	require.Contains(t, string(text), "secretKeyRef")
	require.Equal(t, 1, strings.Count(string(text), "name: HF_TOKEN"))
	require.NotContains(t, string(text), "kind: Secret\n")
}

func launchesWithSecret() *Launch { l := launches["claim"]; return &l }
