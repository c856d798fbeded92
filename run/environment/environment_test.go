package environment

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/internal/secret"
	"github.com/mlperf-go/mlperf-go/run/record"
)

// environmentOf writes the environment of a test whose endpoints show these answers.
func environmentOf(t *testing.T, answers ...string) (folder, text string) {
	t.Helper()
	secrets := new(secret.Redactor)
	secrets.Add("correcthorse")
	facts := &Facts{Access: atomicfile.Private, Secrets: secrets,
		Environ: []string{"PATH=/bin", "HF_TOKEN=of-the-user", "PYTHONPATH=/x/correcthorse"}}
	for _, a := range answers {
		facts.Servers = append(facts.Servers, &backends.Probe{URL: "http://127.0.0.1:1", Server: "vllm", Version: "0.9",
			Info: json.RawMessage(a)})
	}
	folder = t.TempDir()
	require.NoError(t, Write(folder, facts))
	servers, err := os.ReadFile(filepath.Join(folder, record.ServersName))
	require.NoError(t, err)
	return folder, string(servers)
}

func TestEnvironmentHidesSecrets(t *testing.T) {
	folder, servers := environmentOf(t, `{"vllm_config":"VllmConfig(x, api_key='abcdef')","vllm_env":{"VLLM_API_KEY":"k1",
		"VLLM_PORT":8000},"system_env":{"pip_packages":"torch==2.9.1\r\n numpy==2.0 \n\nx @ https://me:pw9@host/x.whl"}}`)
	var list []serverFacts
	require.NoError(t, json.Unmarshal([]byte(servers), &list))
	require.Equal(t, []string{"torch==2.9.1", "numpy==2.0", "x @ https://***@host/x.whl"}, list[0].Packages)
	require.Equal(t, "0.9", list[0].Version)
	require.Contains(t, servers, `"VLLM_PORT": 8000`)
	for _, s := range []string{"abcdef", `"k1"`, "pw9"} {
		require.NotContains(t, servers, s)
	}
	machine, err := os.ReadFile(filepath.Join(folder, record.MachineName))
	require.NoError(t, err)
	require.Contains(t, string(machine), `"PATH": "/bin"`)
	require.Contains(t, string(machine), `"kernel_build"`)
	for _, s := range []string{"correcthorse", "of-the-user", "HF_TOKEN"} {
		require.NotContains(t, string(machine), s)
	}
	info, err := os.Stat(filepath.Join(folder, record.ServersName))
	require.NoError(t, err)
	require.Zero(t, info.Mode().Perm()&0o077)
}

func TestEnvironmentOfServersThatShowLittle(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 500) + `{"pip_packages":"x==1"}` + strings.Repeat("}", 500)
	_, servers := environmentOf(t, "", "null", "[1]", `{"pip_packages":7}`, "{", deep)
	var list []serverFacts
	require.NoError(t, json.Unmarshal([]byte(servers), &list))
	require.Len(t, list, 6)
	for _, s := range list {
		require.Equal(t, []string{}, s.Packages)
	}
}

func TestEnvironmentFollowsNoLink(t *testing.T) {
	folder, elsewhere := t.TempDir(), t.TempDir()
	require.NoError(t, os.Symlink(elsewhere, filepath.Join(folder, record.EnvironmentFolder)))
	err := Write(folder, &Facts{Access: atomicfile.Private, Secrets: new(secret.Redactor)})
	require.ErrorContains(t, err, "is not a folder of this user")
	left, err := os.ReadDir(elsewhere)
	require.NoError(t, err)
	require.Empty(t, left)
}

func FuzzFactsOf(f *testing.F) {
	f.Add([]byte(`{"system_env":{"pip_packages":"a==1\nb==2"}}`))
	f.Add([]byte(`{"a":{"pip_packages":[]}}`))
	f.Fuzz(func(t *testing.T, info []byte) {
		facts := factsOf(&backends.Probe{Info: info})
		require.NotNil(t, facts.Packages)
		for _, line := range facts.Packages {
			require.NotContains(t, line, "\n")
		}
		_, err := json.Marshal(facts)
		require.NoError(t, err)
	})
}
