package servers

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/secret"
)

// A record contains the variables that affect engines, and the names of those that the file sets. It contains no value
// that may be a secret.
func TestTheEnvironmentOfRecords(t *testing.T) {
	long := strings.Repeat("x", 2000)
	r := redactor{&secret.Redactor{}}
	set := map[string]string{"DB_DSN": "", "license": "", "NUMBER": "", "PIN": "", "EMPTY": ""}
	require.Equal(t, map[string]string{
		"PATH": "/bin", "HF_TOKEN": "***", "vllm_api_key": "***", "VLLM_INDEX": "http://***@host/a@b",
		"VLLM_LONG": long[:longestValue] + "...", "VLLM_BYTES": "a\ufffd", "VLLM_LATE": "2",
		"DB_DSN": "***", "license": "***", "NUMBER": "17", "PIN": "***", "EMPTY": "", "HF_HUB_DISABLE_TELEMETRY": "1",
	}, r.inherited([]string{
		"PATH=/bin", "HF_TOKEN=hf_abc", "vllm_api_key=k", "VLLM_INDEX=http://me:word@host/a@b", "VLLM_LONG=" + long,
		"VLLM_BYTES=a\xff", "VLLM_LATE=1", "VLLM_LATE=2", "no variable",
		"DB_PASSWORD=p=q", "SOMETHING=that nobody knows", "HTTPS_PROXY=http://me:word@proxy", "DB_DSN=host=x", "license=abc",
		"NUMBER=17", "PIN=1234567", "EMPTY=", "HF_HUB_DISABLE_TELEMETRY=1",
	}, set))
}

func TestGaps(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	var r ReplicaState
	for i := range maxGaps + 2 {
		r.beginGap(at(2*i), errDeadline)
		require.Equal(t, Unhealthy, r.Health)
		before := r.Gaps
		r.endGap(at(2*i + 1))
		require.Equal(t, Ready, r.Health)
		if i < maxGaps {
			require.Nil(t, before[i].Until, "who has the old list keeps it")
		}
	}
	require.Len(t, r.Gaps, maxGaps)
	require.Equal(t, maxGaps+2, r.Unhealthy)
	until := at(20)
	for _, c := range []struct {
		from, to int
		want     bool
	}{{0, 10, false}, {0, 11, true}, {12, 13, true}, {19, 30, true}, {20, 30, false}} {
		require.Equal(t, c.want, Gap{From: at(10), Until: &until}.within(at(c.from), at(c.to)), c)
	}
	require.True(t, Gap{From: at(10)}.within(at(90), at(99)))
}

func TestAModelFolderInAVirtualEnvironment(t *testing.T) {
	venv := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(venv, "bin"), 0o755))
	python := filepath.Join(venv, "bin", "python")
	require.NoError(t, os.WriteFile(python, nil, 0o755))
	model := t.TempDir()

	c := Defaults(model)
	require.NoError(t, c.SetModel(model))
	require.NoError(t, c.SetBackend("sglang"))
	require.NoError(t, c.SetPython(venv))
	p, err := NewPlan(c, Options{Replicas: 2, GPUsPerReplica: 1, GPUs: eight(), Environ: []string{"PATH=/bin"}})
	require.NoError(t, err)
	require.Equal(t, []string{python, "-m", "sglang.launch_server", "--model-path", model, "--host", "127.0.0.1", "--port",
		"8001"}, p.Replicas[1].Command)
	require.Equal(t, []string{"PATH=/bin", "VIRTUAL_ENV=" + venv, "PATH=" + venv + "/bin:/bin"}, p.environ)
	require.Equal(t, "1", p.Replicas[1].Env["CUDA_VISIBLE_DEVICES"])
	require.NoError(t, c.SetPython(python))
	require.Equal(t, python, c.Binary)

	require.ErrorContains(t, c.SetModel(python), "is not a folder")
	require.ErrorContains(t, c.SetModel(model+"x"), "no such file")
	require.ErrorContains(t, c.SetBackend("openai"), "sglang and vllm start without one")
	require.ErrorContains(t, c.SetPython(model), "has no bin/python")
	require.ErrorContains(t, c.SetPython(model+"x"), "cannot use the servers' Python")
	c.LaunchCommand = []string{"serve"}
	require.ErrorContains(t, c.SetPython(venv), "launch_command has its own program")
}

// The environment of a replica in the record contains the variables of its plan and those that its pre_start commands
// export later.
func TestTheEnvironmentOfAReplica(t *testing.T) {
	s := &State{Plan: &Plan{Replicas: []Replica{{Env: map[string]string{"A": "1", "B": "1"}}}},
		Replicas: []ReplicaState{{Exported: map[string]string{"B": "2", "C": "2"}}}}
	require.Equal(t, map[string]string{"A": "1", "B": "2", "C": "2"},
		s.Facts(time.Time{}, time.Now()).Replicas[0].Environment)
}
