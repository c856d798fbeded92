package objects

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/resource"
)

// serverExamples are one example of each kind, named after its golden file.
var serverExamples = map[string]Server{
	"server-gpus": {Name: "vllm", Namespace: "serving", Image: "vllm/vllm-openai:v0.11.0", ServiceAccount: "sa",
		PullSecrets: []string{"registry"}, Replicas: 2, Port: 8000, HealthPath: "/health", GPUs: 4,
		Command:  []string{"python3", "-m", "vllm.entrypoints.openai.api_server", "--model", "m", "--x", "$(HOME)"},
		PreStart: []string{"export A=$(nproc)"}, Env: map[string]string{"VLLM_LOGGING_LEVEL": "DEBUG", "HOME": "/cache/home",
			"HF_TOKEN": "replaced"},
		SecretEnv: map[string]SecretKey{"HF_TOKEN": {"hf", "token"}}, GPUResource: "nvidia.com/gpu",
		CPU: resource.MustParse("32"), Memory: resource.MustParse("256Gi"), CacheClaim: "weights",
		FSGroup: 65532, User: 65532,
		Placement: Placement{NodeSelector: map[string]string{"gpu": "h100"}}, Startup: time.Hour,
		Stop: 30 * time.Second, Probe: 5 * time.Second,
		Silence: 30 * time.Second},
	"server-plain": {Name: "sim", Namespace: "serving", Image: "example/mlperf-go:1", ServiceAccount: "sa", Replicas: 1,
		Command: []string{"mlperf-go", "sim"}, Port: 9000, HealthPath: "/v1/models", Startup: 12 * time.Second,
		Stop: time.Second, Probe: time.Second},
}

// TestGoldenServers compares the objects of a server with a reviewed version; -update writes it anew.
func TestGoldenServers(t *testing.T) {
	for name, s := range serverExamples {
		t.Run(name, func(t *testing.T) {
			text, err := YAML(s.Objects())
			require.NoError(t, err)
			golden(t, name, text)
			require.NotContains(t, string(text), "replaced", "the Secret's variable precedes")
		})
	}
}

// TestServerVersions checks that the pods of two versions of a server have different labels.
func TestServerVersions(t *testing.T) {
	s := serverExamples["server-plain"]
	label := func() string { return s.Deployment().Spec.Template.Labels[LabelTemplate] }
	first := label()
	require.Equal(t, first, label())
	s.Command = append(s.Command, "--ttft", "1ms")
	require.NotEqual(t, first, label())
	require.NotContains(t, strings.Join(s.command(), " "), "pre_start")
}
